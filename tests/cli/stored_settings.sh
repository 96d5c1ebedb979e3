#!/usr/bin/env bash
# Settings that come with a model never stand in the way of an answer.
. "$(dirname "$0")/lib.sh.inc"
M=$TMPDIR/stored
rm -rf "$M" && "$PRATTLE" convert "$MODEL" "$M" >/dev/null 2>&1
S="--seed 3 --max-new-tokens 5 --ignore-eos"
# answer JSON [OPTION...]: what is said, then the status
answer() { printf '%s' "$1" >"$M/generation_config.json"; shift; "$PRATTLE" "$M" $S "$@" -p abc 2>&1 >/dev/null; echo $?; }

is "one value out of range is left out, by name" \
    $'prattle: generation_config.json: top_k must be a whole number, 0 to 1e7, not -1: left out\n0' \
    "$(answer '{"do_sample": true, "top_k": -1, "top_p": 0.5}')"
is "  and the others hold" "$("$PRATTLE" "$M" $S --top-p 0.5 -p abc 2>/dev/null)" "$("$PRATTLE" "$M" $S -p abc 2>/dev/null)"
is "beams with contrastive search are beams" \
    $'prattle: generation_config.json: num_beams is 2, so there is no contrastive search: penalty_alpha is left out\n0' \
    "$(answer '{"num_beams": 2, "penalty_alpha": 0.6, "top_k": 4}')"
is "an end token -1 is none" 0 "$(answer '{"eos_token_id": [-1, 5]}')"
is "contrastive search alone" 0 "$(answer '{"penalty_alpha": 0.6, "top_k": 4}')"
has "the user's beams come before it" $'num_beams is 2 and penalty_alpha is 0.6: beam search and contrastive search exclude each other: penalty_alpha is left out\n0' \
    "$(answer '{"penalty_alpha": 0.6, "top_k": 4}' --num-beams 2)"
has "what the user gave is refused" $'exclude each other\n1' \
    "$(answer '{}' --num-beams 2 --penalty-alpha 0.6 --top-k 4)"
beams='{"num_beams": 2, "top_k": 4}'
left='generation_config.json: num_beams is 2 and penalty_alpha is 0.6: beam search and contrastive search exclude each other: num_beams is left out'
printf '%s' "$beams" >"$M/generation_config.json"
search='{"prompt": "abc", "penalty_alpha": 0.6, "top_k": 4}'
lines() { printf '%s\n' "$search" "$search" | "$PRATTLE" "$M" $S --jsonl 2>&1; }
is "a line of JSON comes before them, and says so once" "prattle: $left" "$(lines | grep -v '"text"')"
searched=$(lines | grep '"text"')
is "  and is answered as without them" "$(rm "$M/generation_config.json"; lines)" "$searched"
printf '%s' "$beams" >"$M/generation_config.json"
is "  samples too" 3 "$(echo '{"prompt": "a", "n": 3}' | "$PRATTLE" "$M" $S --jsonl 2>/dev/null | grep -o '"ids"' | wc -l)"
mkdir -p "$XDG_CONFIG_HOME/prattle" && echo 'num_beams: 2' >"$XDG_CONFIG_HOME/prattle/settings.yaml"
has "so does the command line before the user's file" "settings.yaml line 1: num_beams is 2 and penalty_alpha is 0.6: beam search and contrastive search exclude each other: num_beams is left out" \
    "$(answer '{}' --penalty-alpha 0.6 --top-k 4)"
is "  which is answered" 0 "$(answer '{}' --penalty-alpha 0.6 --top-k 4 | tail -n 1)"
rm "$XDG_CONFIG_HOME/prattle/settings.yaml"
printf 'num_beams: 2\npenalty_alpha: 0.6\ntop_k: 4\n' >"$M/prattle.yaml"
has "our own file too" $'prattle: prattle.yaml line 2: num_beams is 2 and penalty_alpha is 0.6' "$(answer '{}')"
"$PRATTLE" convert "$M" "$M.gguf" >/dev/null 2>&1
has "and a GGUF file" $'prattle: prattle.defaults: num_beams is 2 and penalty_alpha is 0.6: beam search and contrastive search exclude each other: penalty_alpha is left out' \
    "$("$PRATTLE" "$M.gguf" $S -p abc 2>&1)"
# A tokenizer that wants a token before each text.
rm -f "$M"/prattle.yaml "$M"/*generation*
prompt() { "$PRATTLE" "$1" $S --verbose -p abc 2>&1 | grep -o '[0-9]* prompt tokens' | head -n 1; }
is "no token before a text" "3 prompt tokens" "$(prompt "$M")"
echo '{"add_bos_token": true}' >"$M/tokenizer_config.json"
is "one before each" "4 prompt tokens" "$(prompt "$M")"
"$PRATTLE" convert "$M" "$M.gguf" --force >/dev/null 2>&1
is "  in a GGUF file" "4 prompt tokens" "$(prompt "$M.gguf")"
has "  which says so to others" tokenizer.ggml.add_bos_token "$(tr -d '\0' <"$M.gguf" | head -c 20000 | grep -ao 'tokenizer.ggml.add_bos[a-z_]*')"
rm -rf "$M" && "$PRATTLE" convert "$M.gguf" "$M" >/dev/null 2>&1
has "  and a folder again" '"add_bos_token": true' "$(cat "$M/tokenizer_config.json")"
is "  by its template alone" "4 prompt tokens" "$(rm "$M/tokenizer_config.json"; prompt "$M")"
echo 'begin: off' >"$M/prattle.yaml"
is "our own file has the last word" "3 prompt tokens" "$(prompt "$M")"
rm -rf "$M" "$M.gguf"
finish
