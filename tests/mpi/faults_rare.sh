#!/usr/bin/env bash
# suite: long
# seconds: 1200
# What faults.sh has no time for: other layouts that lose processes, one after another; runs that were
# resumed, and ones that are stopped as they start.
. "$(dirname "$0")/../cli/lib.sh.inc"
: "${STEPS:=600}"
. tests/mpi/mpi.sh.inc
. tests/mpi/faults.sh.inc
cd "$TMPDIR" || exit 1

is "and shards are fewer" "130 same continues with 1 process from step" \
    "$(lose tensor_parallel=2 recompute=all rts_activations=on)"
two_layers=$MODEL MODEL=$MODEL,n_layer=4
is "chunks of stages of shards are one stage of them, and then one process" \
    "130 same continues with 2 processes, tensor_parallel=2, from step continues with 1 process from step" \
    "$(lose tensor_parallel=2 layers_per_device=[2,2] virtual_stages=2 zero=1)"
is "chunks of three stages are two stages without" \
    "130 same continues with 2 processes, layers_per_device=2,2, from step continues with 1 process from step" \
    "$(lose layers_per_device=[0,2,2] virtual_stages=2)"
MODEL=$two_layers
is "  nothing is left" "0 " "$(gone "$TMPDIR/parts") $(left)"
STEPS=40 one run micro_batch_size=2 save_every=20 log_every=100000 >/dev/null
STEPS=1000000
# A run that goes on from a checkpoint, loses one, and is stopped: from what was saved since, by the one
# that is left.
at=$(newest run)
set -m
"$PRATTLE" train resume "$TMPDIR/run" steps=$STEPS replicas=2 elastic=on >log 2>err &
launcher=$!
set +m
until_newer run "$at" && until_newer run "$(newest run)" && find_processes && kill -9 "${ranks[1]}"
for _ in $(seq 3000); do grep -q 'continues with' log || ! kill -0 $launcher 2>/dev/null && break; sleep 0.02; done
from=step-$(printf %06d "$(sed -n 's/.*continues with 1 process from step \([0-9]*\),.*/\1/p' log)")
until_newer run "$from"
kill -INT $launcher; wait $launcher
is "one that was resumed goes on without a rank, and is stopped" "130 1 " "$? $([[ $from > $at ]] && echo 1) $(cat err)"
saved=$(sed -n 's/.*\[step \([0-9]*\) is saved; `prattle train resume .*` continues from there\]$/\1/p' log)
is "  which is saved" "step-$(printf %06d "$saved")" "$(newest run)"
is "  nothing is left" "0 " "$(gone "$TMPDIR/run") $(left)"
# As few as one are taken along with mpirun.
set -m
"$PRATTLE" train resume "$TMPDIR/run" steps=$STEPS replicas=2 elastic=on >log 2>err &
launcher=$!
set +m
at=$(newest run)
until_newer run "$at" && find_processes && kill -9 "${ranks[1]}"
for _ in $(seq 3000); do grep -q 'continues with' log || ! kill -0 $launcher 2>/dev/null && break; sleep 0.02; done
until_newer run "$(newest run)" && find_processes
{ kill -9 $launcher $mpirun; wait $launcher; } 2>/dev/null
is "  nor is it left behind by mpirun" "0 " "$(gone "$TMPDIR/run") $(left)"
# One that is stopped before heartbeats could tell of it.
STEPS=300 one short micro_batch_size=2 >/dev/null
for case in "off 1" "on 0"; do
    elastic=${case% *}
    rm -rf early
    "$PRATTLE" $(STEPS=300 words early micro_batch_size=2 replicas=2 elastic=$elastic) >log 2>err &
    launcher=$!
    until find_processes 2>/dev/null && [ ${#ranks[@]} -eq 2 ] || ! kill -0 $launcher 2>/dev/null; do sleep 0.01; done
    sleep 0.1
    kill -STOP "${ranks[1]}"
    wait $launcher
    is "stopped as it starts, elastic=$elastic: the run ends, or goes on" "${case#* }" $?
    has "  and it is named" "rank 1 ($here) was lost: it has not been heard of for 7 s, so it is stopped or its host is gone" "$(cat log err)"
    is "  nothing is left" "0 " "$(gone "$TMPDIR/early") $(left)"
done
is "  with the same result" "$(STEPS=300 digest short)" "$(STEPS=300 digest early)"
finish
