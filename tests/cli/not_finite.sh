#!/usr/bin/env bash
# A model of which inference makes no numbers in fp16: one sentence and a status, whatever is asked
# of it, and in a batch of one line alone. In fp32 its weights serve.
. "$(dirname "$0")/lib.sh.inc"
. tests/cli/spoil.sh.inc
cd "$TMPDIR" || exit 1
"$PRATTLE" convert "$MODEL" large --dtype float32 --seed 3 >/dev/null 2>&1
cp -r large odd
# Keys of 1e6: more than fp16 holds. The width is 32, and they come behind as many queries.
spoil large h.0.attn.c_attn.bias 32 32 '\x00\x24\x74\x49'
# No number at position 6: texts of up to 6 tokens have nothing to do with it.
spoil odd wpe.weight $((6 * 32)) 32 '\x00\x00\xc0\x7f'

why='the logits after 9 tokens are NaN or infinite; the weights are damaged, or too large for fp16: --dtype fp32 may help'
for words in "--temperature 0" "--temperature 1" "--num-return-sequences 2" "--num-beams 3" \
    "--penalty-alpha 0.6 --top-k 4" "--device-loop off"; do
    out=$("$PRATTLE" large -p 'Once upon' -n 5 $words 2>err); rc=$?
    is "no answer with $words" "1 " "$rc $out"
    is "but why" "large: $why" "$(tail -n 1 err)"
done
is "in fp32 there is one" 0 "$("$PRATTLE" large -p 'Once upon' -n 5 --dtype fp32 >/dev/null 2>&1; echo $?)"
has "logits" "large: the logits after 4 tokens" "$("$PRATTLE" logits --model large Once 2>&1)"
printf 'Once upon a time there was a fox, who liked the sea best.\n' >fox.txt
for words in "text fox.txt" "wikitext fox.txt" "kl large fox.txt"; do
    out=$("$PRATTLE" eval $words --model large 2>err); rc=$?
    is "no figures of eval $words" "1 " "$rc $out"
    is "but why" 1 "$(grep -cE "^large: the logits after [0-9]+ tokens? are NaN or infinite" err)"
done

out=$(printf 'one\ntwo three four\nfive\n' | "$PRATTLE" odd -n 2 --temperature 0 2>err); rc=$?
is "a batch says that a line has no answer" 1 $rc
is "and the other lines have theirs" 3 "$(grep -c . <<<"$(sed 's/^$/-/' <<<"$out")")"
is "of which the first begins" one "$(head -c 3 <<<"$out")"
is "and which it was" "prattle: line 2: odd: the logits after 14 tokens are NaN or infinite; the weights are damaged, or too large for fp16: --dtype fp32 may help" \
    "$(grep 'line 2' err)"
out=$(printf '{"prompt": "one"}\n{"prompt": "two three four"}\n{"prompt": "five"}\n' |
    "$PRATTLE" odd --jsonl -n 2 --temperature 0 2>/dev/null)
is "JSON lines have it as that line's error" 1 "$(grep -c '"error":"odd: the logits after 14 tokens' <<<"$out")"
is "and answers to the others" 2 "$(grep -c '"finish_reason":"length"' <<<"$out")"
is "with numbers" 0 "$(grep -c null <<<"$out")"
out=$(printf '{"prompt": "two three four", "max_new_tokens": 0, "echo": true}\n{"prompt": "one"}\n' |
    "$PRATTLE" odd --jsonl -n 2 --temperature 0 2>/dev/null)
has "also where the prompt alone is scored" '"error":"odd: the logits after 7 tokens' "$(head -n 1 <<<"$out")"
has "and the next line has its answer" '"finish_reason":"length"' "$(tail -n 1 <<<"$out")"
finish
