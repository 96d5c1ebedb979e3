#!/usr/bin/env bash
# suite: check
# seconds: 600
# Several processes of the program that AddressSanitizer and UndefinedBehaviorSanitizer watch: nothing is found, and
# they leave what the release's leave. Leaks are not looked for, since MPI's own libraries leave much behind.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
MODEL=$MODEL,n_head=4,n_layer=4,vocab_size=700
watched=${PRATTLE%/release/prattle}/asan/prattle
cd "$TMPDIR" || exit 1
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
STEPS=2

# Each kind in one of both precisions; more_layouts.sh has them in both.
while IFS='|' read -r precision n_ranks layout; do
    more="micro_batch_size=2 precision=$precision eval_every=1 save_every=1"
    one whole $more >/dev/null
    PRATTLE=$watched many "$n_ranks" some $more $layout </dev/null >log 2>err
    is "$precision, $layout" "0 $(digest whole) " "$? $(digest some) $(head -n 3 err)"
done <<'LAYOUTS'
float16|2|replicas=2 zero=1
float16|4|layers_per_device=[2,2] zero=2
float32|4|tensor_parallel=2 zero=2
float32|2|layers_per_device=[2,2] virtual_stages=2 recompute=all
float16|4|tensor_parallel=2 layers_per_device=[2,2] recompute=all rts_activations=on
LAYOUTS
text="a fox
the sea"
is "prompts are answered as by one process" "$("$PRATTLE" $MODEL --seed 3 --temperature 0 -n 8 <<<"$text")" \
    "$(PRATTLE=$watched ranks 2 $MODEL --seed 3 --temperature 0 -n 8 <<<"$text" 2>&1)"
finish
