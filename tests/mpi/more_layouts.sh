#!/usr/bin/env bash
# suite: long
# seconds: 1200
# What replicas.sh, pipeline.sh, tensor.sh, layouts.sh and sanitizers.sh have no time for: more layouts, in both
# precisions, and more of them that go on with what others began.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
two_layers=$MODEL heads=$MODEL,n_head=4,vocab_size=700 layers=$MODEL,n_layer=4
cd "$TMPDIR" || exit 1
# resumed NAME: what each layout on standard input, of so many processes up to a step, goes on with, behind one
# process and before one.
resumed() {
    local name=$1 n_ranks steps layout all=
    rm -rf some
    STEPS=5 one some micro_batch_size=2 >/dev/null
    while read -r n_ranks steps layout; do
        ranks "$n_ranks" train resume some steps="$steps" --threads 1 $layout </dev/null >log 2>err || sed "s/^/# $n_ranks $layout: /" err
        all+="$steps "
    done
    "$PRATTLE" train resume some steps=20 layers_per_device=none tensor_parallel=1 replicas=1 zero=0 --threads 1 >/dev/null
    one whole micro_batch_size=2 steps=5 >/dev/null # the length is part of the schedule
    for steps in $all 20; do "$PRATTLE" train resume whole steps="$steps" --threads 1 >/dev/null; done
    is "$name" "$(digest whole)" "$(digest some)"
}

for precision in float32 float16; do
    MODEL=$two_layers
    same_bits "$precision: 2, 3 and 4 replicas" precision=$precision <<'LAYOUTS'
2 micro_batch_size=1 zero=0
3 micro_batch_size=2 zero=0
4 micro_batch_size=4 zero=0
2 micro_batch_size=4 zero=1
3 micro_batch_size=1 zero=1
4 micro_batch_size=2 zero=1
2 micro_batch_size=1 zero=2
3 micro_batch_size=2 zero=2
4 micro_batch_size=4 zero=2
LAYOUTS
    MODEL=$layers
    same_bits "$precision: 2, 3 and 4 stages, 1 and 2 replicas" precision=$precision <<'LAYOUTS'
2 layers_per_device=[1,3] micro_batch_size=4 zero=1 recompute=2
3 layers_per_device=[0,2,2] micro_batch_size=2 recompute=all
4 layers_per_device=[1,1,1,1] micro_batch_size=1 recompute=none
4 layers_per_device=[2,2] micro_batch_size=2 recompute=1,2
4 layers_per_device=[2,2] micro_batch_size=1 zero=1 recompute=none
4 layers_per_device=[2,2] micro_batch_size=4 zero=2 recompute=1
4 layers_per_device=[0,4] micro_batch_size=1 zero=2 recompute=none
LAYOUTS
    MODEL=$heads
    same_bits "$precision: 2, 3, 4 and 6 processes, 1, 2 and 3 replicas of shards" precision=$precision <<'LAYOUTS'
2 tensor_parallel=2 micro_batch_size=1 recompute=none
3 tensor_parallel=3 micro_batch_size=2 recompute=all zero=1
4 tensor_parallel=4 micro_batch_size=4 recompute=0 zero=1
2 tensor_parallel=2 micro_batch_size=2 recompute=none embedding_serialization_factor=3
4 tensor_parallel=2 micro_batch_size=1 recompute=1 zero=1
4 tensor_parallel=2 micro_batch_size=2 recompute=none zero=1
4 tensor_parallel=2 micro_batch_size=1 recompute=none zero=2
6 tensor_parallel=3 micro_batch_size=4 recompute=0 embedding_serialization_factor=3 zero=2
6 tensor_parallel=2 micro_batch_size=1 recompute=all zero=1
LAYOUTS
    muon="optimizer=muon precision=$precision schedule=constant warmup=0"
    MODEL=$layers
    one muon micro_batch_size=2 $muon >/dev/null
    many 4 stages micro_batch_size=1 layers_per_device=[1,3] $muon steps=9 >/dev/null 2>err
    "$PRATTLE" train resume stages steps=$STEPS layers_per_device=none replicas=1 >/dev/null 2>err
    is "$precision: stages with Muon, and gone on by one process" "$(digest muon)" "$(digest stages)"
    rm -rf muon stages
    MODEL=$two_layers
    same_bits "$precision: replicas with Muon" optimizer=muon precision=$precision <<<"3 micro_batch_size=1"
done

MODEL=$heads,n_layer=4
same_bits "chunks of stages, and replicas of shards with inputs in parts" <<'LAYOUTS'
2 layers_per_device=[2,2] virtual_stages=2 micro_batch_size=1
4 tensor_parallel=2 replicas=2 recompute=1 rts_activations=on micro_batch_size=1
LAYOUTS
same_bits "stages of shards in 16 bits" half_partials=on <<<"4 tensor_parallel=2 layers_per_device=[0,4] micro_batch_size=1"
mpicc -std=c17 -D_GNU_SOURCE -I"$OLDPWD" -Wall -Wextra -Werror -shared -fPIC -o apart.so "$OLDPWD/tests/mpi/data/apart.c" || { echo "not ok 1 - mpicc makes apart.so"; exit 1; }
export LD_PRELOAD=$TMPDIR/apart.so
same_bits "zero=1 of hosts: replicas, of stages, of shards" <<'LAYOUTS'
3 replicas=3 zero=1 micro_batch_size=1
4 layers_per_device=[2,2] replicas=2 zero=1 micro_batch_size=1
4 tensor_parallel=2 replicas=2 zero=1 micro_batch_size=1
LAYOUTS
unset LD_PRELOAD

# Watched by the sanitizers.
watched=${PRATTLE%/release/prattle}/asan/prattle
for precision in float32 float16; do
    STEPS=4 PRATTLE=$watched ASAN_OPTIONS=detect_leaks=0 same_bits "$precision: replicas, pipelines, shards and both, watched" \
        precision=$precision eval_every=2 save_every=2 <<'LAYOUTS'
2 replicas=2 zero=2 micro_batch_size=2
2 replicas=2 zero=1 micro_batch_size=2
4 layers_per_device=[2,2] zero=2 micro_batch_size=2
4 tensor_parallel=2 zero=2 micro_batch_size=2
2 layers_per_device=[1,3] micro_batch_size=2
2 layers_per_device=[2,2] virtual_stages=2 recompute=all micro_batch_size=2
2 tensor_parallel=2 recompute=all rts_activations=on micro_batch_size=2
4 tensor_parallel=2 layers_per_device=[2,2] zero=1 micro_batch_size=2
LAYOUTS
    is "  nothing on standard error of the last one" "" "$(cat err)"
done

MODEL=$heads,tie_word_embeddings=off
same_bits "shards with a head of their own, LAMB, validation, samples and checkpoints too" eval_every=10 optimizer=lamb \
    log_grads_every=10 sample_every=10 sample_tokens=4 save_every=6 serialized_seq_len=24 <<'LAYOUTS'
3 micro_batch_size=2 tensor_parallel=3
4 micro_batch_size=1 tensor_parallel=2 zero=0
4 micro_batch_size=1 tensor_parallel=2 zero=1
4 micro_batch_size=1 tensor_parallel=2 zero=2
LAYOUTS

MODEL=$two_layers
resumed "replicas: 2, 3, 1 and 4 go on with what the others began" <<'LAYOUTS'
2 7 zero=0
3 13 zero=1
1 16 zero=0
4 19 zero=2
LAYOUTS
MODEL=$layers
resumed "stages: 2, 4, 3 and two of 2 go on with what the others began" <<'LAYOUTS'
2 10 layers_per_device=[2,2]
4 15 layers_per_device=[1,1,1,1]
3 16 layers_per_device=[1,2,1]
4 17 layers_per_device=[3,1] zero=2
LAYOUTS
MODEL=$heads
resumed "shards: 2, 3, two of 2, and 2 stages go on with what the others began" <<'LAYOUTS'
2 10 tensor_parallel=2
3 13 tensor_parallel=3
4 14 tensor_parallel=2 zero=1
4 15 tensor_parallel=2 zero=2
2 17 tensor_parallel=1 layers_per_device=[1,1] zero=0
LAYOUTS
finish
