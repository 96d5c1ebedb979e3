#!/usr/bin/env bash
# seconds: 300
# One layout of each kind that make long tries in all: chunks of a pipeline, stages of shards, inputs in parts,
# sums in 16 bits. Each leaves what one process leaves, to the last bit.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
MODEL=$MODEL,n_head=4,n_layer=4,vocab_size=700
STEPS=4
cd "$TMPDIR" || exit 1

one whole micro_batch_size=2 >/dev/null
whole=$(digest whole)
one whole micro_batch_size=2 half_partials=on >/dev/null
half=$(digest whole)
is "sums in 16 bits are other sums" 1 "$([ "$half" != "$whole" ] && echo 1)"
mpicc -std=c17 -D_GNU_SOURCE -I"$OLDPWD" -Wall -Wextra -Werror -shared -fPIC -o apart.so "$OLDPWD/tests/mpi/data/apart.c" || { echo "not ok 1 - mpicc makes apart.so"; exit 1; }
one whole micro_batch_size=2 eval_every=2 validation_fraction=0.1 log_grads_every=1 >/dev/null
seen=$(digest whole)
while IFS='|' read -r what n_ranks want words; do
    [[ $what == *" of hosts" ]] && export LD_PRELOAD=$TMPDIR/apart.so || unset LD_PRELOAD
    many "$n_ranks" some micro_batch_size=1 $words </dev/null >log 2>err
    is "$what" "${!want}" "$(digest some)"
    is "  and nothing on standard error" "" "$(cat err)"
    [[ $what == *"stages, of hosts" ]] && has "  each rank on its own" host3 "$(cat log)"
done <<'LAYOUTS'
two replicas of two chunks of each stage, zero=2|4|whole|layers_per_device=[2,2] virtual_stages=2 replicas=2 zero=2
stages of shards, inputs in parts|4|whole|tensor_parallel=2 layers_per_device=[1,3] recompute=all rts_activations=on
zero=2 in 16 bits|3|half|replicas=3 zero=2 half_partials=on
zero=2 of stages of shards, in 16 bits|8|half|tensor_parallel=2 layers_per_device=[0,4] replicas=2 zero=2 half_partials=on
zero=1, evaluated, of hosts|3|seen|replicas=3 zero=1 eval_every=2 validation_fraction=0.1 log_grads_every=1
zero=2 of stages, of hosts|4|whole|layers_per_device=[2,2] replicas=2 zero=2
zero=1 of shards, of hosts|4|whole|tensor_parallel=2 replicas=2 zero=1
LAYOUTS
unset LD_PRELOAD

# Another layout goes on.
rm -rf some
STEPS=1 one some micro_batch_size=2 >/dev/null
go_on() { local n=$1 steps=$2; shift 2; ranks "$n" train resume some steps="$steps" --threads 1 "$@" >/dev/null 2>err; }
go_on 2 2 layers_per_device=[2,2] virtual_stages=2
go_on 4 3 layers_per_device=[3,1] virtual_stages=1 tensor_parallel=2
"$PRATTLE" train resume some steps=4 layers_per_device=none tensor_parallel=1 replicas=1 --threads 1 >/dev/null
one whole micro_batch_size=2 steps=1 >/dev/null # the length is part of the schedule
for steps in 2 3 4; do "$PRATTLE" train resume whole steps=$steps --threads 1 >/dev/null; done
is "a run goes on in chunks, in stages of shards, and alone" "$(digest whole)" "$(digest some)"

# What is refused, with what would do.
has "more chunks than layers" "virtual_stages is 4, but device 0 of layers_per_device has 1 layer: virtual_stages=1" \
    "$(one refused layers_per_device=[1,3] virtual_stages=4 2>&1)"
has "inputs in parts by one process" "rts_activations=off" "$(one refused rts_activations=on recompute=all 2>&1)"
has "sums in 16 bits of one block" "half_partials is on, but gradient_blocks is 1" "$(one refused half_partials=on gradient_blocks=1 2>&1)"
finish
