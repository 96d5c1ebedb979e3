#!/usr/bin/env bash
# suite: long
# The whole way of a prompt under valgrind: no invalid access, no leak.
. "$(dirname "$0")/lib.sh.inc"
command -v valgrind >/dev/null || { echo "not ok 1 - valgrind is missing: apt-get install valgrind"; exit 1; }
under() { # NAME ARGUMENTS...: no errors, no definite leak
    local name=$1; shift
    valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite \
        "$PRATTLE" "$@" >"$TMPDIR/out" 2>"$TMPDIR/err"
    is "$name under valgrind" 0 "$?"
    grep '^==' "$TMPDIR/err" | head -n 20 | sed 's/^/# /'
}
model=(--model random:gpt2-test --threads 2 --seed 1)
under "one answer" "${model[@]}" -p "My name is" --max-new-tokens 16
printf 'My name is\nThe sea\n\nThe\n' >"$TMPDIR/prompts"
under "a batch" batch "$TMPDIR/prompts" "${model[@]}" --max-new-tokens 8 --batch-size 2
under "beam search" "${model[@]}" -p "My name is" --num-beams 3 --max-new-tokens 6
under "contrastive search" "${model[@]}" -p "My" --penalty-alpha 0.6 --top-k 4 --max-new-tokens 6
under "portable kernels" "${model[@]}" -p "My" --kernels portable --max-new-tokens 2
under "converting" convert random:gpt2-test "$TMPDIR/m.gguf"
under "reading GGUF" --model "$TMPDIR/m.gguf" -p "My" --max-new-tokens 2
finish
