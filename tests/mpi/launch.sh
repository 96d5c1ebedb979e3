#!/usr/bin/env bash
# seconds: 600
# Processes that prattle starts itself: the same run, stopped as one process is; and none is left
# behind, whichever is killed.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
cd "$TMPDIR" || exit 1

one whole micro_batch_size=2 >log
one some micro_batch_size=2 replicas=3 >log3 2>err
is "replicas=3 ends well" 0 $?
is "with the same result" "$(digest whole)" "$(digest some)"
timeless() { sed -E 's/[0-9.]+ tokens.*//; s/peak memory.*//; s/whole|some/run/g'; }
is "and the same words" "$(timeless <log)" "$(timeless <log3)"
is "with none on standard error, and none to steer a terminal" "" "$(cat err; grep $'\e' log3)"
STEPS=7 one some micro_batch_size=2 replicas=2 >/dev/null
"$PRATTLE" train resume some steps=20 >/dev/null 2>err
is "it goes on with as many" "execution:
replicas: 2" "$(grep -o 'execution:' some/step-000020/state.json; grep -o 'replicas: [0-9]*' some/step-000020/state.json)"
"$PRATTLE" train resume some steps=22 replicas=1 >/dev/null
is "or with one" "step-000020 step-000022" "$(cd some && echo step-*)"
is "a disk that is full under standard output is said, as by one process" "cannot write to standard output: No space left on device
1" "$(STEPS=1 one full micro_batch_size=2 replicas=2 2>&1 >/dev/full; echo $?)"
has "what is refused is refused before" "cannot open nowhere.txt: No such file or directory" \
    "$(one refused data=nowhere.txt replicas=2 2>&1)"

STEPS=1 one alone hosts="$TMPDIR/log" >/dev/null 2>err
has "hosts of one process are none" "hosts is set, but the run is one process, on this host: with replicas=N it is on those" "$(cat err)"

# Where mpirun would have ssh: hosts are asked with what it is told besides.
printf '#!/bin/sh\nprintf "%%s " "$SSH_ASKPASS_REQUIRE" "$@" >&2; exit 255\n' >agent && chmod +x agent
echo 192.0.2.1 >hosts
has "a host is asked by mpirun's agent with its words, and no window" "host 192.0.2.1 cannot be used: never -v -p 2222 192.0.2.1 test -x" \
    "$(OMPI_MCA_plm_rsh_agent="$TMPDIR/agent -v : rsh" OMPI_MCA_plm_rsh_args="-p 2222" \
        one asked replicas=2 hosts="$TMPDIR/hosts" elastic=off 2>&1)"

# What is in Open MPI's own files counts as what is in the environment.
mkdir -p home/.openmpi bin
echo "plm_rsh_agent = $TMPDIR/agent -w : rsh" >home/.openmpi/mca-params.conf
has "  of its file too" "host 192.0.2.1 cannot be used: never -w 192.0.2.1 test -x" \
    "$(HOME=$TMPDIR/home one asked replicas=2 hosts="$TMPDIR/hosts" elastic=off 2>&1)"
printf '#!/bin/sh\necho "args: $OMPI_MCA_plm_rsh_args"; exit 1\n' >bin/mpirun && chmod +x bin/mpirun
echo localhost >hosts
started() { PATH=$TMPDIR/bin:$PATH HOME=$TMPDIR/home one asked replicas=2 hosts="$TMPDIR/hosts" 2>&1 | grep args; }
is "mpirun has no words for an agent that it is told there" "args: " "$(started)"
rm home/.openmpi/mca-params.conf
is "  and how long ssh waits for a host where it is told nothing" "args: -o ServerAliveInterval=5 -o ServerAliveCountMax=3" "$(started)"

# An mpirun that stays, as at times where a process is killed that has just begun.
cat >bin/mpirun <<'END'
#!/bin/sh
trap "" TERM USR1
rule=------------------------------
echo "$rule
mpirun noticed that process rank 1 with PID 0 on node there exited on signal 9 (Killed).
$rule" >&2
exec sleep 1000
END
is "an mpirun that stays when all is over is ended" "rank 1 (there) was lost: killed by signal 9; there is no checkpoint
1" "$(PATH=$TMPDIR/bin:$PATH one asked replicas=2 2>&1; echo $?)"

# What each Ctrl-C comes to: only the third gives up what is being saved.
cat >bin/mpirun <<'END'
#!/bin/sh
trap 'echo saves >>came' USR1
trap 'echo ends >>came; exit 1' TERM
echo begun
while :; do sleep 0.05; done
END
: >came
set -m # or it would be a background job, which Ctrl-C is not for
rm -rf asked
PATH=$TMPDIR/bin:$PATH "$PRATTLE" $(words asked replicas=2) >log 2>err & launcher=$!
set +m
# until_there FILE WORDS
until_there() { for _ in $(seq 600); do [[ "$(cat "$1")" == *"$2"* ]] && break; sleep 0.05; done; }
until_there log begun
kill -INT $launcher; until_there came saves
kill -INT $launcher; until_there err again
is "a second Ctrl-C gives nothing up" "saves [it stops, and saves what is done; Ctrl-C again gives that up]" "$(cat came err | tr '\n' ' ' | sed 's/ $//')"
kill -INT $launcher; until_there came "saves
saves"
kill -INT $launcher; wait $launcher
is "  the third does, and the fourth ends it" "130 saves saves ends" "$? $(tr '\n' ' ' <came | sed 's/ $//')"

# The same where all ended well; it has half a minute, and is looked at below. What cleans up behind one
# mpirun may take the folder of all from under another that begins: so each has that time to itself.
cat >bin/mpirun <<END
#!/bin/sh
trap "" TERM USR1
$(command -v mpirun) "\$@" || exit
exec sleep 1000
END
sleep 0.6 # longer than a cleaner lives
STEPS=1 PATH=$TMPDIR/bin:$PATH one "$TMPDIR/well" replicas=2 >well.log 2>&1 & well=$!
for i in $(seq 600); do grep -q "step 1/1" well.log && break; sleep 0.05; done

# loadable FOLDER: whether its newest checkpoint is whole.
loadable() { "$PRATTLE" train resume "$1" budget_hours=1e-9 replicas=1 2>&1 | tail -n 3; }

# What mpirun ends by, which sleeps a second or two where a rank has ended by anything but 0.
cat >bin/mpirun <<END
#!/bin/bash
trap 'kill -USR1 \$child' USR1
$(command -v mpirun) "\$@" & child=\$!
while wait \$child; rc=\$?; kill -0 \$child 2>/dev/null; do :; done
echo \$rc >"$TMPDIR/status"
exit \$rc
END
PATH=$TMPDIR/bin:$PATH begin int replicas=3
kill -INT $launcher; wait $launcher
is "Ctrl-C ends it as one process" "130 0" "$? $(gone "$TMPDIR/int")"
is "  without a word of it to mpirun" 0 "$(cat status)"
saved=$(sed -n 's/.*\[step \([0-9]*\) is saved; `prattle train resume .*` continues from there\]$/\1/p' log)
is "and is kept" "step-$(printf %06d "$saved")" "$(basename "$(ls -d int/step-* | tail -n 1)")"
# An mpirun that is stopped passes nothing on: Ctrl-C lets it go on first.
begin stopped replicas=2
kill -STOP $mpirun
kill -INT $launcher; wait $launcher
is "nor does a stopped mpirun keep it" "130 0" "$? $(gone "$TMPDIR/stopped")"
is "  and is kept" "step-$(printf %06d "$(sed -n 's/.*\[step \([0-9]*\) is saved; .*/\1/p' log)")" "$(newest stopped)"
# One Ctrl-C comes to the processes one after another: what stops one does not stop the saving of the first.
got=
for pause in 0.05 0.15; do
    begin late replicas=3
    kill -USR1 "${ranks[1]}"
    sleep $pause
    kill -USR1 "${ranks[0]}" 2>/dev/null
    wait $launcher
    got+="$(grep -c 'is saved;' log)$(grep -c 'stopped while' err) "
done
is "and what comes late to the first does not stop its saving" "10 10 " "$got"
# Wherever the processes were in a step whose gradients were under way, it begins anew.
at=(zero=2 schedule=constant warmup=0 eval_every=0 sequence_length=16)
begin slices replicas=3 "${at[@]}"
sleep 0.1
kill -INT $launcher; wait $launcher
saved=$(sed -n 's/.*\[step \([0-9]*\) is saved; .*/\1/p' log)
"$PRATTLE" train resume slices steps=$((saved + 3)) replicas=2 >/dev/null 2>err
STEPS=$((saved + 3))
one whole micro_batch_size=1 log_every=100000 "${at[@]}" >/dev/null
is "zero=2, paused and resumed by another number" "$(digest whole)" "$(digest slices)"
STEPS=20
begin term replicas=2
kill -TERM $launcher; wait $launcher
is "SIGTERM too" "143 0" "$? $(gone "$TMPDIR/term")"
begin prompt replicas=2
kill -9 $launcher; { wait $launcher; } 2>/dev/null
is "the launcher is killed: nothing is left" 0 "$(gone "$TMPDIR/prompt")"
begin mpirun replicas=2
kill -9 "$mpirun"; wait $launcher
is "mpirun is killed: nothing is left" "1 0" "$? $(gone "$TMPDIR/mpirun")"
begin rank replicas=3
kill -9 "${ranks[1]}"; wait $launcher
is "a rank is killed: nothing is left" "1 0" "$? $(gone "$TMPDIR/rank")"
has "  and it is named" "rank 1 ($(hostname)) was lost: killed by signal 9; " "$(told err)"
has "  with what is left" "train resume $TMPDIR/rank\` continues from the newest checkpoint" "$(cat err)"
begin told replicas=2
kill -TERM "${ranks[1]}"; wait $launcher
is "a rank is told to end: nothing is left" "1 0" "$? $(gone "$TMPDIR/told")"
has "  and it is named" "rank 1 ($(hostname)) was lost: ended by signal 15; " "$(cat err)"
has "  with what is left" "train resume $TMPDIR/told\` continues from the newest checkpoint" "$(cat err)"
begin paused replicas=2
kill -INT "${ranks[1]}"; wait $launcher
is "a rank is interrupted: all pause as one" "130 0 " "$? $(gone "$TMPDIR/paused") $(cat err)"
is "  and are kept" "step-$(printf %06d "$(sed -n 's/.*\[step \([0-9]*\) is saved; .*/\1/p' log)")" "$(newest paused)"
for folder in prompt mpirun rank told; do
    has "  which is whole ($folder)" "[finished at step" "$(loadable $folder)"
done

wait $well
is "an mpirun that stays though all ended well is ended too" "0 0" "$? $(gone "$TMPDIR/well")"
has "  and the run has its result" "[finished at step 1;" "$(cat well.log)"

# The folder of all mpiruns, which version 5 has no more, is there for the next, which may begin while a last one
# is cleaned up after.
top=$("${MPIRUN[@]}" -np 1 sh -c 'echo $OMPI_MCA_orte_top_session_dir')
if [ -n "$top" ]; then
    ranks 2 tokens --model $MODEL word >/dev/null 2>&1
    mkdir -p "$top"
    sleep 0.6 # longer than a cleaner lives
    is "who cleans up behind mpirun leaves the next one's folder there" "$top" "$(ls -d "$top" 2>&1)"
    rmdir "$top"
fi

has "where it has no room it is not started, which would hang" "mpirun needs 16 MiB for files of its own, and /proc has 0.0 MiB; TMPDIR=DIR" \
    "$(OMPI_MCA_orte_tmpdir_base=/proc one refused replicas=2 2>&1)"

for path in relative $TEXT ""; do
    is "nor where it could not have its files" "TMPDIR of the environment must be the path of a folder from / on, where mpirun has its files, not ${path:-empty}" \
        "$(unset OMPI_MCA_orte_tmpdir_base; TMPDIR=$path "$PRATTLE" train finetune data="$TEXT" epochs=0 steps=2 gradient_blocks=2 global_batch_size=2 \
            micro_batch_size=1 sequence_length=32 folder=refused --model $MODEL replicas=2 2>&1)"
done

# Without the plugin, or without mpirun.
mkdir bare && cp "$PRATTLE" bare/prattle
alone() { (PRATTLE=$PWD/bare/prattle; "$@" 2>&1); }
if [ -e /usr/local/lib/prattle/prattle-mpi.so ] || [ -e "$PWD/lib/prattle/prattle-mpi.so" ]; then
    echo "# left out: without the plugin (one is installed)"
else
    has "without the plugin" "several processes need prattle-mpi.so, which make builds where MPI is (Debian and Ubuntu: apt-get install libopenmpi-dev openmpi-bin)" \
        "$(alone one refused replicas=2)"
    is "  nor under mpirun, which says so once" 1 \
        "$(alone many 2 refused | grep -c 'several processes need prattle-mpi.so')"
    has "  but what one began goes on" "[finished at step 24" "$(alone "$PWD/bare/prattle" train resume some steps=24)"
fi
has "without mpirun" "several processes need mpirun: install Open MPI" \
    "$(program=$(realpath "$PRATTLE"); PATH=/nonexistent; "$program" train finetune data="$TEXT" epochs=0 steps=2 gradient_blocks=2 \
        global_batch_size=2 micro_batch_size=1 sequence_length=32 folder=refused --model $MODEL replicas=2 2>&1)"
# Another MPI than that of the plugin, which leaves each process alone; MPICH's mpirun has other words.
has "another MPI has started them" \
    "prattle-mpi.so cannot be used: it was built for Open MPI, and another MPI has started these 2 processes; \`make MPICC=...\` builds it for that one" \
    "$(PMI_SIZE=2 PMI_RANK=0 one refused 2>&1)"
mkdir other && cp /bin/true other/mpiexec.hydra && ln -s mpiexec.hydra other/mpirun
has "MPICH's mpirun" "other/mpirun is MPICH's, and prattle itself can start Open MPI's alone; with MPICH: \`make MPICC=mpicc.mpich\` and \`mpiexec -n N prattle train ...\`" \
    "$(PATH=$TMPDIR/other:$PATH one refused replicas=2 2>&1)"
has "srun without PMIx" "prattle-mpi.so cannot be used: srun has not told it of the other processes: srun --mpi=pmix" \
    "$(SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0 one refused 2>&1)"
# Ctrl-C and SIGTERM that come while the processes are being started are passed on when they take them.
set -m
for sent in "INT 130" "TERM 143"; do
    for after in $([ "$sent" = "INT 130" ] && echo 0.03 0.1 0.2 || echo 0.06); do
        (STEPS=100000; exec "$PRATTLE" $(words early micro_batch_size=2 replicas=2)) >/dev/null 2>err &
        launcher=$!
        sleep $after; kill -${sent% *} $launcher
        for _ in $(seq 400); do kill -0 $launcher 2>/dev/null || break; sleep 0.05; done
        kill -KILL $launcher 2>/dev/null; wait $launcher
        is "a run that is told to stop as it starts does: ${sent% *} after $after s" "${sent#* }" $?
        rm -rf early
    done
done
set +m
phased="phased is on, but only one process trains from disk: phased=off"
# In a folder of its own: what Open MPI began above for the process alone goes a moment after it.
is "training from disk is for one process" "$phased with zero=2, or one process" \
    "$(mkdir apart; TMPDIR=$PWD/apart many 2 refused phased=on 2>&1 | head -n 1)"
is "  which a run that is still to be launched says too" "$phased with zero=2, or replicas=1" "$(one refused phased=on replicas=2 2>&1)"
is "  and its plan" "$phased with zero=2, or replicas=1" "$(one refused phased=on replicas=2 --plan 2>&1)"
is "  or of replicas that are pipelines" "$phased with zero=2, or layers_per_device=none replicas=1" \
    "$(one refused phased=on replicas=2 layers_per_device=[1,1] 2>&1)"
is "  and stages" "$phased, or layers_per_device=none" "$(one refused phased=on layers_per_device=[1,1] 2>&1)"
is "  and shards" "$phased, or tensor_parallel=1" "$(one refused phased=on tensor_parallel=2 2>&1)"
is "  before there is a folder" "" "$(ls refused 2>/dev/null)"
(STEPS=2; one disk phased=on save_every=2) >/dev/null 2>&1
has "  and who goes on" "$phased with zero=2, or replicas=1" "$("$PRATTLE" train resume disk replicas=2 steps=4 2>&1)"
has "  who does as it says" "[finished at step 4" "$("$PRATTLE" train resume disk replicas=2 steps=4 phased=off zero=2 2>&1)"
finish
