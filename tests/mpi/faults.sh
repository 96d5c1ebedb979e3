#!/usr/bin/env bash
# seconds: 600
# Processes that are lost are named, and the others go on without them where they may, to the bits of a
# run that lost none.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
. tests/mpi/faults.sh.inc
cd "$TMPDIR" || exit 1

STEPS=20000
start run elastic=on
at= times=0
for victim in rank mpirun first; do
    until_newer run "$at"
    until find_processes || ! kill -0 $launcher 2>/dev/null; do sleep 0.02; done
    case $victim in rank) pid=${ranks[1]} ;; mpirun) pid=$mpirun ;; first) pid=${ranks[0]} ;; esac
    kill -9 "$pid"
    times=$((times + 1))
    until_said $times
    at=$(newest run)
done
stop_run run
is "three are killed, one after another, and the run goes on" "130 3" "$status $(grep -c 'continues with' log)"
is "  with the bits of one that lost none" "$(alone run)" "$(bits run)"
has "  a rank is named" "[rank 1 ($here) was lost: killed by signal 9; continues with 2 processes from step " "$(told log)"
has "  mpirun too" "[mpirun was lost: killed by signal 9; continues with 2 processes from step " "$(told log)"
has "  and rank 0" "[rank 0 ($here) was lost: killed by signal 9; continues with 1 process from step " "$(told log)"
is "  nothing is left" "0 " "$(gone "$TMPDIR/run") $(left)"
has "it can be as many again" "[finished at step $((saved + 2))" \
    "$("$PRATTLE" train resume run steps=$((saved + 2)) replicas=3)"
# A replica that is less than whole regroups: as fewer stages, as fewer shards, and as one process.
is "a pipeline that loses two is two stages, and then one process" \
    "130 same continues with 2 processes, layers_per_device=1,1, from step continues with 1 process from step" \
    "$(lose layers_per_device=[0,1,1])"
is "  nothing is left" "0 " "$(gone "$TMPDIR/parts") $(left)"
# One that goes on by resume=on, and has no checkpoint since, is still told the rest of its words, and comes to its end.
STEPS=20 one again micro_batch_size=1 >/dev/null
"$PRATTLE" $(STEPS=120 words "$TMPDIR/again" resume=on micro_batch_size=1 zero=1 log_every=1 replicas=2 elastic=on) >log 2>err &
launcher=$!
until grep -q ^step log; do sleep 0.02; kill -0 $launcher || break; done
at_work 2
kill -9 "${ranks[1]}"
wait $launcher
is "a run by resume=on loses one" "0 1 " "$? $(grep -c 'continues with 1 process from step 20, the newest checkpoint' log) $(cat err)"
has "  and comes to the step that it was told" "[finished at step 120;" "$(cat log)"

# One is slow: it is stopped for most of the time, though never for long.
STEPS=40
one whole micro_batch_size=1 gradient_blocks=8 $constant >/dev/null
start slow micro_batch_size=1 gradient_blocks=8 log_every=10 save_every=0 replicas=2
at_work 2
while kill -STOP "${ranks[1]}" 2>/dev/null; do
    sleep 0.04
    kill -CONT "${ranks[1]}" 2>/dev/null
    sleep 0.02
done
wait $launcher
is "a slow one" "0 $(digest whole)" "$? $(digest slow)"
has "  lets others wait, which is shown" "rank 0 waited for " "$(grep ^step log)"
has "  and kept" '"waited_rank":0.0' "$(cat slow/metrics.jsonl)"

# Three that lose one in silence, which takes seven seconds: at once, each with files of its own. What has nothing
# to save, as an evaluation, does not go on for nothing.
STEPS=1000000
# in_own NAME: in a folder of its own, with Open MPI's.
in_own() { mkdir -p "$TMPDIR/$1" && cd "$TMPDIR/$1" && export OMPI_MCA_orte_tmpdir_base=$PWD; }
for _ in $(seq 40); do cat "$TEXT"; done >long.txt
in_own evaluation
EXEC="exec timeout 100" ranks 2 eval text ../long.txt --model $MODEL --last-n 2 >log 2>err &
evaluation=$! launcher=$!
for _ in $(seq 3000); do grep -q 'Ctrl-C stops' err || ! kill -0 $launcher 2>/dev/null && break; sleep 0.02; done
until mpirun=$(pgrep -P $launcher 'mpirun|prterun') || ! kill -0 $launcher 2>/dev/null; do sleep 0.02; done
kill -STOP "$(pgrep -P "$mpirun" | tail -n 1)"
in_own third
start stopped
until_newer "$TMPDIR/stopped" "" && find_processes
kill -STOP "${ranks[2]}"
third=$launcher
# Rank 0, which the others miss, and which goes on when mpirun ends it: it says nothing of those that ended then.
in_own zeroth
start first elastic=on
until_newer "$TMPDIR/first" "" && find_processes
kill -STOP "${ranks[0]}"
until_said 1
stop_run "$TMPDIR/first"
is "the first one is stopped, and the others go on" "130 0" "$status $(gone "$TMPDIR/first")"
has "  named as the one that was lost" \
    "[rank 0 ($here) was lost: it has not been heard of for 7 s, so it is stopped or its host is gone; continues with 2 processes from step" "$(cat log)"
is "  and nobody else is" 1 "$(cat log err | grep -c 'was lost')"
cd "$TMPDIR/third" && wait $third
is "one that is stopped ends the run" 1 $?
has "  and is named" "rank 2 ($here) was lost: it has not been heard of for 7 s, so it is stopped or its host is gone; \`prattle train resume" "$(cat err)"
has "  the newest checkpoint is whole" "[finished at step" "$("$PRATTLE" train resume "$TMPDIR/stopped" budget_hours=1e-9 replicas=1)"
cd "$TMPDIR/evaluation" && wait $evaluation
is "one of an evaluation that is stopped ends it" 1 $?
has "  and is named" "prattle: rank 1 ($here) was lost: it has not been heard of for 7 s" "$(cat err)"
cd "$TMPDIR" && export OMPI_MCA_orte_tmpdir_base=$TMPDIR
is "  nothing is left of the three" "0 0 " "$(gone "$TMPDIR/stopped") $(gone long.txt) $(left)"
EXEC=exec many 2 bare micro_batch_size=2 save_every=20 $constant elastic=on >log 2>err &
launcher=$!
until_newer bare ""
kill -9 "$(pgrep -P $launcher | tail -n 1)"
wait $launcher
has "under mpirun the others end, which is said before" "elastic is on, but mpirun has started the processes, so a lost one ends the run: with replicas=N prattle starts them" "$(cat err)"
has "  and by whom" "prattle: rank 1 ($here) was lost: its process has ended" "$(cat err)"
is "  nothing is left" "0 " "$(gone "$TMPDIR/bare") $(left)"
finish
