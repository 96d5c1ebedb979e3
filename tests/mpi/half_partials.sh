#!/usr/bin/env bash
# suite: long
# seconds: 300
# half_partials=on: sums of gradient blocks in 16 bits, the same for any number of processes.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
cd "$TMPDIR" || exit 1
# adapter FOLDER: of the one in there; none is like no other.
adapter() { sha256sum <"$1/step-000020/adapter_model.safetensors" || echo "none in $1"; }
half=half_partials=on

one off micro_batch_size=2 >/dev/null
one whole micro_batch_size=2 $half >/dev/null
want=$(digest whole)
is "other bits than without" 1 "$([ "$want" != "$(digest off)" ] && echo 1)"
got=
# Processes, windows of a micro-batch, ZeRO.
for at in 2,1,0 3,2,0 4,4,0 2,4,1 3,1,1 4,2,1 2,1,2 3,2,2 4,4,2; do
    IFS=, read -r n_ranks micro zero <<<"$at"
    many $n_ranks some micro_batch_size=$micro zero=$zero $half >log 2>err
    got+="$(digest some) "
done
is "2, 3 and 4 processes, micro-batches of 1, 2 and 4, zero=0, 1 and 2" \
    "$want $want $want $want $want $want $want $want $want " "$got"
got=
for layout in layers_per_device=1,1 tensor_parallel=2 "tensor_parallel=2 zero=1" "tensor_parallel=2 zero=2" "layers_per_device=1,1 zero=2"; do
    many 4 some micro_batch_size=2 $half $layout >log 2>err
    got+="$(digest some) "
done
one some micro_batch_size=1 $half phased=on >log 2>err
is "replicas of two stages or shards, and layers on disk" "$want $want $want $want $want $want " "$got$(digest some) "
one whole micro_batch_size=2 $half lora.rank=2 >/dev/null
many 2 some micro_batch_size=1 $half lora.rank=2 >/dev/null 2>err
is "an adapter" "$(adapter whole)" "$(adapter some)"
one whole micro_batch_size=2 precision=float16 >/dev/null
one some micro_batch_size=2 precision=float16 $half >/dev/null
is "float16 has 16 bits without it" "$(digest whole)" "$(digest some)"

# The bytes that MPI moves, by its own count; what it moves at the start and at the end is in both.
export OMPI_MCA_pml_monitoring_enable=2 OMPI_MCA_pml_monitoring_enable_output=3
sent() { # ARGUMENTS...: of the two processes in 8 steps
    local first
    rm -f monitor.*
    STEPS=4 OMPI_MCA_pml_monitoring_filename=$TMPDIR/monitor many 2 some micro_batch_size=2 "$@" >/dev/null 2>err
    first=$(cat monitor.*.prof | awk '$1 == "E" { n += $4 } END { print n }')
    rm -f monitor.*
    STEPS=12 OMPI_MCA_pml_monitoring_filename=$TMPDIR/monitor many 2 some micro_batch_size=2 "$@" >/dev/null 2>err
    cat monitor.*.prof | awk -v first="$first" '$1 == "E" { n += $4 } END { print n - first }'
}
if ompi_info 2>/dev/null | grep -q 'MCA pml: monitoring'; then
    on=$(sent $half) off=$(sent)
    is "half the bytes ($on of $off)" 1 "$(awk "BEGIN { print $on < 0.51 * $off }")"
    # Weights are sent whole, as many bytes as their gradients without the setting.
    on=$(sent $half zero=1) off=$(sent zero=1)
    is "three quarters with zero=1 ($on of $off)" 1 "$(awk "BEGIN { print $on < 0.76 * $off }")"
fi
unset OMPI_MCA_pml_monitoring_enable OMPI_MCA_pml_monitoring_enable_output

# As good a model.
loss() { grep '"loss"' "$1/metrics.jsonl" | tail -n 1 | grep -o '"loss":[0-9.]*' | cut -d : -f 2; }
for at in off on; do one $at micro_batch_size=2 steps=50 half_partials=$at >/dev/null; done
is "the loss of 50 steps within 0.5 % ($(loss on), without $(loss off))" 1 \
    "$(awk "BEGIN { d = $(loss on) / $(loss off) - 1; print d * d < 0.005 ^ 2 && $(loss off) < 6 }")"

# Another number of processes goes on, the other setting does not.
one whole micro_batch_size=2 steps=7 $half >/dev/null
STEPS=7 many 2 some micro_batch_size=2 $half >/dev/null
for at in 3,13,1 4,20,2; do
    IFS=, read -r n_ranks steps zero <<<"$at"
    # One that does not begin leaves other learning rates to the next.
    ranks $n_ranks train resume some steps=$steps zero=$zero --threads 1 >log 2>&1 || sed "s/^/# $at: /" log
    "$PRATTLE" train resume whole steps=$steps --threads 1 >/dev/null
done
is "resumed by 3 and 4 processes what 2 began" "$(digest whole)" "$(digest some)"
has "not with the other setting" "execution.half_partials was on in this run and cannot become off" \
    "$("$PRATTLE" train resume whole steps=25 half_partials=off 2>&1)"
has "  nor the other way" "execution.half_partials was off in this run and cannot become on" \
    "$("$PRATTLE" train resume off steps=60 half_partials=on 2>&1)"
has "one block is added to none" "half_partials is on, but gradient_blocks is 1" \
    "$(one refused $half gradient_blocks=1 2>&1)"
finish
