#!/usr/bin/env bash
# seconds: 600
# A checkpoint of several processes is written by all of them, is one model to everyone else, and is whole or
# not there.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
MODEL=$MODEL,n_head=4,n_layer=4,vocab_size=700
cd "$TMPDIR" || exit 1
here=$(hostname)
# tensors FILE: names and lengths in bytes of a safetensors file's tensors.
tensors() {
    local n
    n=$(od -A n -t u8 -N 8 "$1")
    tail -c +9 "$1" | head -c $n | grep -oE '"[^"]*":\{"dtype"[^}]*' |
        sed -E 's/^"([^"]*)".*\[([0-9]+),([0-9]+)\]$/\1 \2 \3/' | while read -r name from to; do echo "$name $((to - from))"; done
}
files() { ls "$1" | grep -E '^(model|training)' | xargs; }

# By pipelines, heads and columns, and replicas with their own moments.
STEPS=3
one whole micro_batch_size=2 >/dev/null
want=$(digest whole)
many 3 heads micro_batch_size=2 tensor_parallel=3 >/dev/null 2>err
at=heads/step-000003
is "files of three processes" "model-00001-of-00003.safetensors model-00002-of-00003.safetensors model-00003-of-00003.safetensors model.safetensors.index.json training-00001-of-00003.safetensors training-00002-of-00003.safetensors training-00003-of-00003.safetensors" "$(files $at)"
is "  all of which the manifest has" "$(ls $at | grep -v manifest)" \
    "$(grep -oE '^ *"[^"]*": \{' $at/manifest.json | cut -d '"' -f 2 | grep -v '^files$' | sort)"
is "  with the SHA-256 of each" "$(cd $at && sha256sum model-* training-* | cut -d ' ' -f 1 | sort)" \
    "$(grep -A 3 -E '"(model|training)-' $at/manifest.json | grep -oE '[0-9a-f]{64}' | sort)"
for file in $at/model-*; do tensors $file | sed "s|\$| $(basename $file)|"; done | sort >there
is "the index says which file has which tensor" "$(cut -d ' ' -f 1,3 there)" \
    "$(sed -n 's/^    "\(.*\)": "\(model-.*\)",*$/\1 \2/p' $at/model.safetensors.index.json | sort)"
is "  of all tensors, each once" "$(tensors whole/step-000003/model.safetensors | sort)" "$(cut -d ' ' -f 1,2 there)"
is "  and how many bytes they have" "$(awk '{n += $2} END {print n}' there)" \
    "$(grep -oE '"total_size": [0-9]+' $at/model.safetensors.index.json | cut -d ' ' -f 2)"
is "one process opens it" "$("$PRATTLE" whole/step-000003 -p fox -n 40 --temperature 0)" "$("$PRATTLE" heads -p fox -n 40 --temperature 0 2>/dev/null)"
is "it is what one process leaves" "$want" "$(digest heads)"
many 4 some micro_batch_size=2 zero=1 layers_per_device=[2,2] >/dev/null 2>err
is "files of a pipeline of two, with their own moments" "model-00001-of-00002.safetensors model-00002-of-00002.safetensors model.safetensors.index.json training-00001-of-00004.safetensors training-00002-of-00004.safetensors training-00003-of-00004.safetensors training-00004-of-00004.safetensors $want" \
    "$(files some/step-000003) $(digest some)"
many 2 some micro_batch_size=2 zero=2 precision=float16 >/dev/null 2>err
one half micro_batch_size=2 precision=float16 >/dev/null
is "  of replicas with their own moments" "model.safetensors training-00001-of-00002.safetensors training-00002-of-00002.safetensors $(digest half)" \
    "$(files some/step-000003) $(digest some)"

# Replicas that have the same weights divide the writing of them, of which a small model has too few.
shared=(micro_batch_size=1 min_part_mb=0)
many 3 shared zero=2 "${shared[@]}" >/dev/null 2>err
is "replicas write a share each" "model-00001-of-00003.safetensors model-00002-of-00003.safetensors model-00003-of-00003.safetensors model.safetensors.index.json training-00001-of-00003.safetensors training-00002-of-00003.safetensors training-00003-of-00003.safetensors $want" \
    "$(files shared/step-000003) $(digest shared)"
at=shared/step-000003
for file in $at/model-*; do tensors $file | sed "s|\$| $(basename $file)|"; done | sort >there
is "  the index says which file has which tensor" "$(cut -d ' ' -f 1,3 there)" \
    "$(sed -n 's/^    "\(.*\)": "\(model-.*\)",*$/\1 \2/p' $at/model.safetensors.index.json | sort)"
is "  of all tensors, each once" "$(tensors whole/step-000003/model.safetensors | sort)" "$(cut -d ' ' -f 1,2 there)"
is "  and the manifest the SHA-256 of each" "$(cd $at && sha256sum model-* training-* | cut -d ' ' -f 1 | sort)" \
    "$(grep -A 3 -E '"(model|training)-' $at/manifest.json | grep -oE '[0-9a-f]{64}' | sort)"
bytes=$(stat -c %s whole/step-000003/model.safetensors)
many 3 two zero=1 micro_batch_size=1 min_part_mb=$(awk -v b=$bytes 'BEGIN {print b / 2.5e6}') >/dev/null 2>err
is "  no more of them than are large enough" "model-00001-of-00002.safetensors model-00002-of-00002.safetensors model.safetensors.index.json $want" \
    "$(files two/step-000003 | sed 's/ training.*//') $(digest two)"
many 2 two zero=0 "${shared[@]}" >/dev/null 2>err
is "  none where one process has the moments too" "model.safetensors training.safetensors $want" "$(files two/step-000003) $(digest two)"
STEPS=5
"$PRATTLE" train resume whole steps=5 >/dev/null
more=$(digest whole)
for layout in "1 replicas=1 zero=0" "2 zero=1" "3 tensor_parallel=3 zero=0"; do
    rm -rf other && cp -r shared other
    ranks ${layout%% *} train resume other steps=5 ${layout#* } >/dev/null 2>err
    is "  with which any layout goes on: $layout" "$more" "$(digest other)"
done
STEPS=3

# Each in a folder of its own, as hosts without a common disk: process 0 writes what all have.
apart() {
    rm -rf own && mkdir -p own/{0,1,2}
    each 3 "cd '$TMPDIR/own/'\$OMPI_COMM_WORLD_RANK && exec '$PRATTLE' $(words run "$@")" >log 2>err
}
for layout in tensor_parallel=3 layers_per_device=[1,1,2] zero=1; do
    apart micro_batch_size=2 min_part_mb=0 $layout
    is "without a common folder, $layout" "model.safetensors training.safetensors $want, others: " \
        "$(files own/0/run/step-000003) $(digest own/0/run), others: $(ls own/1/run own/2/run 2>/dev/null | xargs)"
done

# A damaged part, and one that is gone.
rm -rf other && cp -r heads other
printf x | dd of=other/step-000003/training-00002-of-00003.safetensors bs=1 seek=900 conv=notrunc 2>/dev/null
has "a part is damaged" "training-00002-of-00003.safetensors is not what was written: its SHA-256 differs" \
    "$("$PRATTLE" train resume other steps=4 tensor_parallel=1 2>&1)"
rm -rf other && cp -r heads other && rm other/step-000003/model-00003-of-00003.safetensors
has "a part is gone" "model-00003-of-00003.safetensors is missing" "$("$PRATTLE" train resume other steps=4 tensor_parallel=1 2>&1)"

# A process that can write no more, at a limit that its part passes: as on a full disk, and killed within the file.
# start PROGRAM: a run by three under mpirun, in the background.
start() {
    rm -rf run
    PRATTLE=$1 EXEC=exec STEPS=1000000 many 3 run micro_batch_size=2 save_every=20 log_every=100000 min_part_mb=0 $layout >log 2>err &
    launcher=$!
}
# limit RANK: of the run that goes on, after its first checkpoint; then it ends.
limit() {
    local pid
    until_saved run
    for pid in $(pgrep -P $launcher); do
        { tr '\0' '\n' </proc/$pid/environ; } 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1" && prlimit --pid $pid --fsize=20000
    done
    wait $launcher
}
step_of() { echo $((10#$(newest run | cut -d - -f 2))); }
resume() { "$PRATTLE" train resume run steps=$(($(step_of) + 1)) tensor_parallel=1 replicas=1 2>&1 | tail -n 3; }
cc -shared -fPIC -o signalled.so "$OLDPWD/tests/mpi/data/signalled.c" -ldl || { echo "not ok 1 - cc makes signalled.so"; exit 1; }
printf '#!/bin/bash\nLD_PRELOAD="%s" exec "%s" "$@"\n' "$TMPDIR/signalled.so" "$PRATTLE" >signalled && chmod +x signalled
for layout in tensor_parallel=3 zero=1; do
    [ $layout = zero=1 ] && rank=2 || rank=0
    start "$PRATTLE"
    limit $rank
    is "$layout: process $rank has no room left: the run ends" 1 $?
    [ $rank -eq 0 ] && who= || who="rank $rank on $here: "
    has "  which is said" "cannot write the checkpoint run/step-$(printf %06d $(($(step_of) + 20))): ${who}cannot write " "$(cat err)"
    is "  and nothing else is there" "" "$(ls run | grep -vE '^(step-[0-9]*|lock|metrics.jsonl|events.*)$')"
    has "  than what was whole" "[finished at step" "$(resume)"
done
layout=tensor_parallel=3
start "$TMPDIR/signalled"
limit 1
has "a process is killed while it writes" "rank 1 ($here) was lost: " "$(cat err)"
is "  nothing is left of it but what the next one sweeps" "step-$(printf %06d $(($(step_of) + 20))).tmp" "$(ls run | grep -oE 'step-[0-9]*\.tmp')"
has "  and the newest one goes on" "[finished at step" "$(resume)"
is "  which sweeps it" "" "$(ls run | grep tmp)"
finish
