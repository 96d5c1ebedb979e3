#!/usr/bin/env bash
# cache_dtype=q8: the same answers on any kernels and threads, alone and in batches, drafted, searched
# and slid, in a session file; and what it costs.
. "$(dirname "$0")/lib.sh.inc"
p() { "$PRATTLE" "$@" 2>&1 </dev/null; }
cd "$TMPDIR" || exit 1
q8=(--cache-dtype q8)
# Random weights that say more than small ones; heads of 40, which are no whole blocks.
wild() { echo '{"model_type": "gpt2", "n_layer": '"$1"', "n_head": 2, "n_embd": 80, "n_positions": 192, "vocab_size": 257, "bos_token_id": 256, "eos_token_id": 256, "initializer_range": 0.3}'; }
wild 2 >wild.json && wild 1 >smaller.json

has "devices" "fp16 weights; q8 keys and values; fp32 sums" "$(p devices --model bundled "${q8[@]}")"
has "with weights in q8" "q8 weights, keys and values; fp32 sums" "$(p devices --model bundled --dtype q8 "${q8[@]}")"
has "with weights in fp32" "fp32 weights; q8 keys and values; fp32 sums" "$(p devices --model bundled --dtype fp32 "${q8[@]}")"
has "more precise than the weights" "fp16 weights; fp32 keys and values; fp32 sums" "$(p devices --model bundled --cache-dtype fp32)"
cache() { p devices --model bundled "$@" | sed -n 's/.* of \([0-9.]*\) MB for.*/\1/p'; }
is "it takes little more than half" yes \
    "$(awk -v a="$(cache "${q8[@]}")" -v b="$(cache)" 'BEGIN {print (a < 0.56 * b && a > 0.5 * b) ? "yes" : a " of " b}')"
has "another name" "cache_dtype must be auto, fp16, fp32 or q8, not q4" "$(p devices --model bundled --cache-dtype q4)"

prompt="Once upon a time there was a little girl. She liked her red ball."
# What fails, or says nothing, is told by its words: no two of those are the same.
logits() { rm -f l.npy; "$PRATTLE" logits "$prompt" --all --out l.npy --model bundled "$@" >/dev/null 2>&1 && md5sum <l.npy || echo "none: $*"; }
said() { "$@" >said 2>/dev/null && [ -s said ] && cat said || { echo "none: $*"; return 1; }; }
want=$(logits "${q8[@]}")
is "fp16 has other logits" yes "$([ "$(logits)" != "$want" ] && echo yes)"
is "as auto has" "$(logits)" "$(logits --cache-dtype fp16)"
for kernels in portable $("$PRATTLE" devices | grep -o 'avx[25][0-9]*' | sort -u); do
    for threads in 1 2 3; do
        is "$kernels, $threads threads" "$want" \
            "$(PRATTLE_KERNELS=$kernels logits "${q8[@]}" --threads $threads)"
    done
done

printf '%s\n' "One day" "The dog" "$prompt" "a b a b a b a b a b" >lines
# What the lines get, and what each of them alone does.
answers() { said "$PRATTLE" random:wild.json "${q8[@]}" -n 48 --seed 3 "$@"; }
alone() { for i in 0 1 2 3; do sed -n "$((i + 1))p" lines | answers --draw $i "$@"; done | md5sum; }
for how in "--batch-size 1" "--batch-size 4" "--temperature 0 --num-beams 3" "--penalty-alpha 0.6 --top-k 4" \
    "--speculate lookup" "--on-full slide -n 400" "--device-loop off"; do
    # shellcheck disable=SC2086
    is "$how: a batch gives what single prompts do" "$(alone $how)" "$(answers $how <lines | md5sum)"
done
is "and it is text" yes "$([ "$(answers <lines | wc -c)" -gt 200 ] && echo yes)"
is "fp16 answers otherwise" yes \
    "$(a=$(answers <lines) && b=$(answers --cache-dtype fp16 <lines) && [ "$a" != "$b" ] && echo yes)"
is "drafts change nothing" "$(answers --speculate off <lines | md5sum)" "$(answers --speculate lookup <lines | md5sum)"
is "nor do those of a model" "$(answers --speculate off <lines | md5sum)" \
    "$(answers --speculate random:smaller.json <lines | md5sum)"
neo=random:$OLDPWD/tests/cli/data/neo.json
windows() { said "$PRATTLE" "$neo" "${q8[@]}" -n 40 --temperature 0; }
# Its context is too short for the third line.
grep -vxF "$prompt" lines >short
is "windows: a batch gives what single prompts do" \
    "$(while IFS= read -r l; do windows <<<"$l"; done <short | md5sum)" "$(windows <short | md5sum)"

"$PRATTLE" bundled --prompt "$prompt" -n 400 --seed 5 >story.txt 2>/dev/null
cost=$(p eval kl bundled story.txt --model bundled "${q8[@]}" --other-cache-dtype fp16 --json)
has "a result says it" '"dtype": "fp16 with q8 cache"' "$cost"
has "and what it was compared with" "in fp16, this in fp16 with q8 cache;" "$cost"
value() { grep -o "\"$1\": *{[^}]*" <<<"$cost" | grep -o '"value": *[-0-9.e]*' | cut -d ' ' -f 2; }
is "its cost is small, and there is one" yes \
    "$(awk -v kl="$(value kl)" -v d="$(value loss_change)" 'BEGIN {print (kl > 0 && kl < 0.001 && d < 0.002 && d > -0.002) ? "yes" : kl " " d}')"
has "the other's is as this one's" "in fp16 with q8 cache, this in fp16 with q8 cache;" \
    "$(p eval kl bundled story.txt --model bundled "${q8[@]}" --json)"
has "and then nothing differs" '"value": 0.0' "$(p eval kl bundled story.txt --model bundled "${q8[@]}" --json | grep -o '"kl": {[^}]*')"
finish
