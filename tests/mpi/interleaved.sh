#!/usr/bin/env bash
# suite: long
# seconds: 600
# A pipeline whose processes have several chunks of layers leaves what one process leaves, to the last bit.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
MODEL=$MODEL,n_layer=8
cd "$TMPDIR" || exit 1

for precision in float32 float16; do
    one whole micro_batch_size=2 precision=$precision >/dev/null
    want=$(digest whole)
    got= wants=
    # Processes, layers of each stage, chunks, windows of a micro-batch, ZeRO, recomputed layers.
    while read -r n_ranks layers chunks micro zero recompute; do
        many "$n_ranks" some micro_batch_size="$micro" zero="$zero" precision=$precision layers_per_device="$layers" \
            virtual_stages="$chunks" recompute="$recompute" </dev/null >log 2>err
        got+="$layers $chunks $(digest some) " wants+="$layers $chunks $want "
    done <<'LAYOUTS'
2 [4,4] 2 1 0 none
2 [3,5] 3 4 0 1,5
3 [0,4,4] 4 2 0 all
4 [2,2,2,2] 2 1 0 2
4 [4,4] 4 1 1 none
4 [4,4] 4 1 2 none
4 [5,3] 3 4 2 2
4 [3,5] 2 2 0 all
LAYOUTS
    is "$precision: 2, 3 and 4 processes of 2, 3 and 4 chunks, 1 and 2 replicas, micro-batches of 1, 2 and 4, zero=0, 1 and 2" \
        "$wants" "$got"
done
# A step whose number of micro-batches is no multiple of the processes.
for accumulation in 1 3 5; do
    more="gradient_blocks=1 global_batch_size=$((2 * accumulation)) micro_batch_size=2"
    one whole $more >/dev/null
    many 2 some $more layers_per_device=[4,4] virtual_stages=2 >log 2>err
    is "$accumulation micro-batches" "$(digest whole)" "$(digest some)"
done
more="eval_every=10 optimizer=lamb log_grads_every=10 log_activations_every=10 sample_every=10 sample_tokens=4 save_every=6"
one whole micro_batch_size=2 $more >log
many 4 some micro_batch_size=2 layers_per_device=[4,4] virtual_stages=2 $more >log2 2>err
is "with LAMB, validation, samples and checkpoints too" "$(digest whole)" "$(digest some)"
figures() { grep -oE '"(step|loss|accuracy|tokens|h\.[0-9][a-z_.]*|wte[a-z.]*|mean|std)":[0-9.e-]*' "$1/metrics.jsonl"; }
is "the lines of metrics, with those of all layers" "$(figures whole)" "$(figures some)"
is "nothing on standard error" "" "$(cat err)"
one muon micro_batch_size=2 optimizer=muon >/dev/null
many 2 stages micro_batch_size=1 layers_per_device=[4,4] virtual_stages=4 optimizer=muon save_every=6 >/dev/null 2>err
is "with Muon, four chunks" "$(digest muon)" "$(digest stages)"
rm -rf muon stages
one whole micro_batch_size=2 optimizer=muon matmul_precision=bfloat16 >/dev/null
many 2 some micro_batch_size=1 layers_per_device=[3,5] virtual_stages=3 optimizer=muon matmul_precision=bfloat16 >/dev/null 2>err
is "and with factors in bfloat16" "$(digest whole)" "$(digest some)"
# devices: the rows of a table, without bytes.
devices() { grep -E '^  [0-9] ' | tr -s ' ' | sed -E 's/ [0-9.]+ MiB$//'; }
is "a table says who has what" " 0 $(hostname) 0-1, 4-5 embedding and head
 1 $(hostname) 2-3, 6-7
 2 $(hostname) 0-1, 4-5 embedding and head
 3 $(hostname) 2-3, 6-7" "$(devices <log2)"
plan() { "$PRATTLE" $(words planned "$@") --plan; }
is "and the plan too" " 0 none embedding and head
 1 0-1, 4-5
 2 2-3, 6-7" "$(plan layers_per_device=[0,4,4] virtual_stages=2 | devices)"
# bubble: the shares of a step.
bubble() { grep -oE 'idle for [0-9]+ % of a step( \(virtual_stages=1: [0-9]+ %\))?' | grep -oE '[0-9]+ %'; }
wide() { MODEL=$MODEL,n_embd=512 plan gradient_blocks=1 global_batch_size=32 layers_per_device=[4,4] "$@" | bubble | xargs; }
is "the plan says how long processes are idle" "14 %" "$(wide)"
is "  which is shorter with chunks" "3 % 14 %" "$(wide virtual_stages=4)"

# Another layout goes on.
rm -rf some
STEPS=5 one some micro_batch_size=2 >/dev/null
go_on() { local n=$1 steps=$2; shift 2; ranks "$n" train resume some steps="$steps" --threads 1 "$@" >/dev/null 2>err; }
go_on 2 10 layers_per_device=[4,4] virtual_stages=4
go_on 4 15 layers_per_device=[2,2,2,2] virtual_stages=2
go_on 2 16 layers_per_device=[4,4] virtual_stages=1
go_on 4 17 layers_per_device=[5,3] virtual_stages=3 zero=1
"$PRATTLE" train resume some steps=20 layers_per_device=none virtual_stages=1 replicas=1 --threads 1 >/dev/null
one whole micro_batch_size=2 steps=5 >/dev/null # the length is part of the schedule
for steps in 10 15 16 17 20; do "$PRATTLE" train resume whole steps=$steps --threads 1 >/dev/null; done
is "4, 2, 1 and 3 chunks go on with what the others began, and one process behind them" "$(digest whole)" "$(digest some)"

# What is refused, with what would do.
refused() { local n=$1; shift; many "$n" refused "$@" 2>&1 </dev/null; }
has "no pipeline" "virtual_stages is 2, but layers_per_device makes no pipeline: virtual_stages=1" "$(refused 2 virtual_stages=2)"
has "  or more chunks than layers" "virtual_stages is 4, but device 1 of layers_per_device has 3 layers: virtual_stages=3" \
    "$(refused 2 layers_per_device=[5,3] virtual_stages=4)"
has "  or all layers on one" "one device of layers_per_device has all layers: virtual_stages=1" \
    "$(refused 2 layers_per_device=[0,8] virtual_stages=2)"

# Started by prattle, stopped, and killed.
one whole micro_batch_size=2 >/dev/null
one some micro_batch_size=2 layers_per_device=[4,4] virtual_pipeline_model_parallel_size=2 replicas=2 >log 2>err
is "layers_per_device and replicas start as many processes" "$(digest whole)" "$(digest some)"
ALONE="layers_per_device=none virtual_stages=1" stop_and_kill 2 layers_per_device=[2,3,3] virtual_stages=2
finish
