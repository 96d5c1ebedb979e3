#!/usr/bin/env bash
# OpenBLAS is opened when a product is to be its own, and where it is not installed all else goes on.
. "$(dirname "$0")/lib.sh.inc"
cd "$TMPDIR" || exit 1
for i in $(seq 40); do echo "Once there was a fox who had $i apples."; done >fox.txt
# What the loader finds first is no library.
mkdir none && : >none/libopenblas.so.0
without() { LD_LIBRARY_PATH=$PWD/none "$PRATTLE" "$@" 2>&1 </dev/null; }
missing="OpenBLAS is not installed (Debian and Ubuntu: apt-get install libopenblas0)"
steps=(train finetune data=fox.txt epochs=0 steps=2 sequence_length=16 log_every=1 --model $MODEL)

out=$(without $MODEL -n 4 --seed 1 -p abc)
is "a text without it" "0 some" "$? ${out:+some}"
is "  is the same" "$("$PRATTLE" $MODEL -n 4 --seed 1 -p abc 2>&1)" "$out"
out=$(without "${steps[@]}" folder=own)
is "training goes on with the program's own kernels" 0 $?
is "and its lines have the share of their products" "2 2" "$(grep -c '^step [12]/' <<<"$out") $(grep -c sgemm <<<"$out")"
"$PRATTLE" "${steps[@]}" folder=with >with.txt 2>&1
is "as where it is there" "2 2" "$(grep -c '^step [12]/' with.txt) $(grep -c sgemm with.txt)"
out=$(without "${steps[@]}" folder=asked matrices=openblas)
is "asked for by name, it is refused" "1 no" "$? $([ -e asked/step-000002 ] && echo yes || echo no)"
has "and the sentence says what to install" "matrices=openblas: $missing" "$out"
"$PRATTLE" "${steps[@]}" folder=asked matrices=openblas >asked.txt 2>&1
is "where it is there, it multiplies" 0 $?
out=$(without bench train=1x16 --model $MODEL)
is "the benchmark that compares with it is refused" 1 $?
has "and says why" "training is measured beside OpenBLAS: $missing" "$out"
finish
