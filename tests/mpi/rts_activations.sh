#!/usr/bin/env bash
# suite: long
# seconds: 300
# Inputs of recomputed layers in parts: less memory, and to the last bit what one process leaves.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
MODEL=$MODEL,n_head=4,vocab_size=700
cd "$TMPDIR" || exit 1

parts="tensor_parallel=2 rts_activations=on"
for precision in float32 float16; do
    one whole micro_batch_size=2 precision=$precision >/dev/null
    want=$(digest whole)
    got= wants=
    # Processes, those of a replica, windows of a micro-batch, recomputed layers, ZeRO.
    while read -r n_ranks of micro recompute zero; do
        many "$n_ranks" some tensor_parallel="$of" rts_activations=on micro_batch_size="$micro" precision=$precision \
            recompute="$recompute" zero="$zero" </dev/null >log 2>err
        got+="$n_ranks/$of $(digest some) " wants+="$n_ranks/$of $want "
    done <<'LAYOUTS'
2 2 1 all 0
3 3 2 all 0
3 3 1 0 0
4 2 2 1 1
LAYOUTS
    is "$precision: 2, 3 and 4 processes, any layers recomputed" "$wants" "$got"
done
is "nothing on standard error" "" "$(cat err)"

# A step goes on with inputs whole, in parts, and in other parts.
go_on() { local n=$1 steps=$2; shift 2; ranks "$n" train resume some steps="$steps" --threads 1 "$@" >/dev/null 2>err; }
rm -rf some
STEPS=5 one some micro_batch_size=2 recompute=all >/dev/null
go_on 2 9 tensor_parallel=2 rts_activations=on
go_on 3 13 tensor_parallel=3
go_on 3 16 rts_activations=off
"$PRATTLE" train resume some steps=20 tensor_parallel=1 --threads 1 >/dev/null
one whole micro_batch_size=2 steps=5 >/dev/null # the length is part of the schedule
for steps in 9 13 16 20; do "$PRATTLE" train resume whole steps=$steps --threads 1 >/dev/null; done
is "a run goes on with them on, with another number of processes, and off" "$(digest whole)" "$(digest some)"

# Ctrl-C at the prattle that started the processes.
set -m
STEPS=1000000
"$PRATTLE" $(words "$TMPDIR/int" micro_batch_size=1 save_every=20 log_every=100000 $parts recompute=all) >log 2>err &
launcher=$!
set +m
STEPS=20
until_newer int step-000019
kill -INT $launcher; wait $launcher
is "Ctrl-C ends it as one process" "130 0" "$? $(gone "$TMPDIR/int")"
is "and it is kept" "$(newest int)" "step-$(printf %06d "$(sed -n 's/.*\[step \([0-9]*\) is saved.*/\1/p' log)")"

# Of 12 layers' inputs [305,384] a process has 102, 102 or 101 rows: 3.6 MiB less, and 1.8 in float16.
planned() {
    "$PRATTLE" $(words planned tensor_parallel=3 recompute=all "$@") sequence_length=61 micro_batch_size=5 global_batch_size=20 \
        --model "${MODEL%%,*},n_layer=12,n_head=6,n_embd=384,n_inner=1536" --plan |
        sed -nE 's/^  [0-2] .* ([0-9.]+) MiB$/\1/p' | paste -sd ' '
}
# less MIB: of each of the three.
less() {
    local want=$1; shift
    echo "$(planned "$@") $(planned "$@" rts_activations=on)" |
        awk -v want="$want" '{ for (i = 1; i <= 3; i++) n += $i - $(i + 3) > want - 0.11 && $i - $(i + 3) < want + 0.11; print n }'
}
is "the plan has so much less" "3 3" "$(less 3.57) $(less 1.79 precision=float16)"

has "without tensor_parallel there is nothing to divide" "tensor_parallel is 1, and one process keeps all: tensor_parallel=2 or more, or rts_activations=off" \
    "$(one refused rts_activations=on recompute=all 2>&1)"
has "nor without recomputed layers" "recompute is none, and the inputs of recomputed layers alone are divided: recompute=all, or rts_activations=off" \
    "$(many 2 refused $parts 2>&1 </dev/null)"
finish
