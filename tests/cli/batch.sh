#!/usr/bin/env bash
# Prompts piped in: the same answers as one by one, in order, in each form of output.
. "$(dirname "$0")/lib.sh.inc"
S="--seed 7 --max-new-tokens 12 --ignore-eos"
prompts=$'My name is \nThe sea\n:not a command\n\nback\\slash\n"""quoted'
escape() { /usr/bin/env perl -0777 -pe 's/\\/\\\\/g; s/\n/\\n/g'; }
single= i=0
while IFS= read -r p; do
    single+=$("$PRATTLE" $MODEL $S --draw $i --echo on -p "$p" --raw | tr -d '\0' | escape)$'\n'
    i=$((i + 1))
done <<<"$prompts"
for size in 1 3 8; do
    is "batch of $size = single runs" "${single%$'\n'}" "$("$PRATTLE" $MODEL $S --batch-size $size <<<"$prompts")"
done
is "one thread too" "${single%$'\n'}" "$("$PRATTLE" $MODEL $S --threads 1 <<<"$prompts")"
is "a last line without newline counts" "${single%$'\n'}" "$(printf %s "$prompts" | "$PRATTLE" $MODEL $S)"
is "as many lines out as in" 6 "$("$PRATTLE" $MODEL $S <<<"$prompts" | wc -l)"
is "CRLF is a line end" "$("$PRATTLE" $MODEL $S <<<"The sea")" "$(printf 'The sea\r\n' | "$PRATTLE" $MODEL $S)"
is "--no-echo leaves the prompt out" "$("$PRATTLE" $MODEL $S <<<"The sea")" \
    "The sea$("$PRATTLE" $MODEL $S --no-echo <<<"The sea")"
is "--raw ends each answer with NUL" 2 "$(printf 'a\nb\n' | "$PRATTLE" $MODEL $S --raw | tr -dc '\0' | wc -c)"
is "no input, no output" "" "$("$PRATTLE" $MODEL $S </dev/null)"

json=$(printf '%s\n' '{"prompt":"The sea","max_new_tokens":3,"temperature":0}' 'bad' \
    '{"prompt":"x","topk":3}' '{"prompt":"x","top_k":-3}' '{"ids":[1,2]}' '{"ids":[999]}' \
    | "$PRATTLE" $MODEL $S --jsonl 2>"$TMPDIR/err")
is "--jsonl: failed lines give a status" 1 $?
has "and are counted" "4 of 6 lines could not be answered" "$(cat "$TMPDIR/err")"
line() { sed -n "$1p" <<<"$json"; }
has "settings of a line" '"finish_reason":"length"' "$(line 1)"
is "three ids, three log-probabilities" 2,2 "$(line 1 | grep -o '"ids":\[[^]]*' | tr -dc , | wc -c),$(line 1 | grep -o '"logprobs":\[[^]]*' | tr -dc , | wc -c)"
has "not JSON" '{"error":"not JSON' "$(line 2)"
has "an unknown setting names the nearest" 'did you mean top_k?' "$(line 3)"
has "a value out of range" 'top_k must be a whole number, 0 to' "$(line 4)"
has "ids in place of a prompt" '"text":' "$(line 5)"
has "an id the model has not" '"error":' "$(line 6)"

for words in '"num_beams":12' '"penalty_alpha":0.6,"top_k":20'; do
    options=$(tr -d '"' <<<"$words" | sed 's/[^,]*/--&/g; s/[:,]/ /g')
    is "a line may want more texts at once than the batch: $options" \
        "$("$PRATTLE" $MODEL $S $options -p "The sea" --jsonl)" \
        "$(echo "{\"prompt\":\"The sea\",$words}" | "$PRATTLE" $MODEL $S --jsonl --batch-size 1)"
done
own=$(printf '%s\n' '{"prompt":"x"}' '{"prompt":"x","seed":9}' '{"prompt":"x","draw":2}' '{"prompt":"x","seed":0}' '{"prompt":"x","seed":0}' \
    | "$PRATTLE" $MODEL $S --jsonl --temperature 3)
is "a line's own seed is a single run's, wherever the line stands" \
    "$("$PRATTLE" $MODEL $S --jsonl --temperature 3 <<<'{"prompt":"x","seed":9}')" "$(sed -n 2p <<<"$own")"
is "and its own draw" "$("$PRATTLE" $MODEL $S --jsonl --temperature 3 --draw 2 -p x)" "$(sed -n 3p <<<"$own")"
is "a line's seed 0 is a fresh one each time" 5 "$(sort -u <<<"$own" | wc -l)"
is "a line behind one that failed keeps its draw" "$("$PRATTLE" $MODEL $S --jsonl --temperature 3 --draw 1 -p x)" \
    "$(printf 'bad\n{"prompt":"x"}\n' | "$PRATTLE" $MODEL $S --jsonl --temperature 3 2>/dev/null | sed -n 2p)"
has "a text that NUL would end" "must be a text without NUL" \
    "$("$PRATTLE" $MODEL $S --jsonl <<<'{"prompt":"x","stop":"a\u0000b"}' 2>&1)"
has "--raw and --jsonl exclude each other" "choose one" "$("$PRATTLE" $MODEL $S --raw --jsonl </dev/null 2>&1)"
has "for one prompt too" "choose one" "$("$PRATTLE" $MODEL $S --raw --jsonl -p x 2>&1)"
has "a chain that is none is refused before any line" 'chain has no stage topp' \
    "$("$PRATTLE" $MODEL $S --chain topp,temperature <<<x 2>&1)"
has "a line's too, with its place" '{"prompt":"x","error":"stop must be a text or a list of texts, none of them empty' \
    "$("$PRATTLE" $MODEL $S --jsonl <<<'{"prompt":"x","stop":["a",""]}' 2>&1)"
has "a list of texts has texts" 'stop must be a text or a list of texts' "$("$PRATTLE" $MODEL $S --jsonl <<<'{"prompt":"x","stop":[1]}' 2>&1)"
has "a name is one" 'logit_bias must not have 5:1,6 as a name' "$("$PRATTLE" $MODEL $S --jsonl <<<'{"prompt":"x","logit_bias":{"5:1,6":-2}}' 2>&1)"
has "ids end with one" 'ids: none follows the last comma' "$("$PRATTLE" generate --model $MODEL $S --ids 1,2, 2>&1)"
for same in '"greedy":true|"temperature":0' '"stop":["a,b"]|"stop":"a,b"' '"stop":null|"greedy":false' \
    '"logit_bias":{"65":50,"66":-3.5}|"logit_bias":"65:50,66:-3.5"' \
    '"logit_bias":{"65":50,"66":false}|"logit_bias":"65:50,66:-inf"' \
    '"logit_bias":[[65,50],[66,false]]|"logit_bias":"65:50,66:-inf"'; do
    is "of a line: ${same%%|*}" "$(echo "{\"prompt\":\"x\",${same#*|}}" | "$PRATTLE" $MODEL $S --jsonl)" \
        "$(echo "{\"prompt\":\"x\",${same%%|*}}" | "$PRATTLE" $MODEL $S --jsonl)"
done
has "a list where one value goes" '"error":"top_k must be a text, a number' \
    "$(echo '{"prompt":"x","top_k":[1]}' | "$PRATTLE" $MODEL $S --jsonl 2>&1)"
has "pairs where there are none" '"error":"stop must be a text' \
    "$(echo '{"prompt":"x","stop":{"a":1}}' | "$PRATTLE" $MODEL $S --jsonl 2>&1)"
is "beams say that they cannot slide" "prattle: context full: a beam search ends there, its beams cannot slide" \
    "$("$PRATTLE" $MODEL $S -n 300 --on-full slide --num-beams 2 -p x 2>&1 >/dev/null)"
for way in "" "--penalty-alpha 0.6 --top-k 4"; do
    is "what slides says so, once: $way" "prattle: context full: continuing from the newest 128 of 256 tokens" \
        "$("$PRATTLE" $MODEL $S -n 400 --on-full slide $way -p x 2>&1 >/dev/null)"
done
# Beams draw nothing and filter nothing, as :help num_beams says; what changes logits holds.
beams() { "$PRATTLE" $MODEL -n 8 --num-beams 3 -p x "$@" --raw | tr -d '\0' | od -c; }
is "beams do not use what draws and filters" "$(beams)" \
    "$(beams --temperature 3 --draw 5 --top-k 1 --top-p 0.1 --min-p 0.5 --typical-p 0.5 --mirostat 2 --xtc-probability 1)"
n=$((n + 1)) first=$(beams) other=$(beams --repetition-penalty 5 --logit-bias 65:50)
[ "$first" != "$other" ] && echo "ok $n - but what changes logits" || { bad=1; echo "not ok $n - but what changes logits"; }
# 256 tokens predict one more, behind a prompt of one. What the context ended is said once.
full="prattle: context full: an answer ended at the model's 256 tokens; set on_full to slide to continue"
for way in "" "--device-loop off" "--greedy" "--num-beams 3" "--penalty-alpha 0.6 --top-k 4"; do
    is "the last token that the context allows, once said: $way" "256 context 0 $full" \
        "$("$PRATTLE" $MODEL $S -n 300 $way -p x --jsonl 2>"$TMPDIR/err" |
            perl -ne '/"ids":\[([\d,]*)\].*"finish_reason":"(\w+)"/ and print scalar(split /,/, $1), " $2 "'
            echo "${PIPESTATUS[0]} $(cat "$TMPDIR/err")")"
done
is "of several answers too" "$full" "$("$PRATTLE" $MODEL $S -n 300 --num-return-sequences 3 -p x 2>&1 >/dev/null)"
is "and of lines" "$full" "$(printf 'x\ny\nz\n' | "$PRATTLE" $MODEL $S -n 300 2>&1 >/dev/null)"
is "a prompt as long as the context gets one token" "256 1 $full" \
    "$("$PRATTLE" generate --model $MODEL $S --ids $(seq -s, 0 255) --output ids 2>"$TMPDIR/err" | wc -w |
        sed 's/^/256 /') $(cat "$TMPDIR/err")"
has "a longer one is refused" "the prompt has 257 tokens, the context holds 256: shorten it" \
    "$("$PRATTLE" generate --model $MODEL $S --ids $(seq -s, 0 255),0 --output ids 2>&1)"
long="{\"ids\":[$(seq -s, 0 255),0],\"max_new_tokens\":2}"
is "a prompt that loses its older half says so, once" "prattle: context full: continuing from the newest 128 of 256 tokens" \
    "$(printf '%s\n%s\n' "$long" "$long" | "$PRATTLE" $MODEL $S --jsonl --on-full slide 2>&1 >/dev/null)"
has "an empty list of ids is named" '"error":"ids must not be empty' "$(echo '{"ids":[]}' | "$PRATTLE" $MODEL $S --jsonl 2>&1)"
is "nothing is said of an answer that ended by itself" "" "$("$PRATTLE" $MODEL $S -n 256 -p x 2>&1 >/dev/null)"
is "several answers of two equal lines are all draws of their own" 4 \
    "$(printf 'The sea\nThe sea\n' | "$PRATTLE" $MODEL $S --num-return-sequences 2 | sort -u | wc -l)"
is "a context that slides leaves no newline in a pipe" \
    "$(echo "The sea" | "$PRATTLE" $MODEL $S -n 300 --on-full slide --raw 2>/dev/null | md5sum)" \
    "$("$PRATTLE" $MODEL $S -n 300 --on-full slide --raw --echo on -p "The sea" 2>/dev/null | md5sum)"

err=$(printf 'a\nb\nc\nd\n' | "$PRATTLE" $MODEL $S 2>&1 >/dev/full); is "a full disk is a failure" 1 $?
has "that is explained" "cannot write the answers: No space left" "$err"
err=$( (for i in $(seq 500); do echo "line $i"; done | "$PRATTLE" $MODEL $S; echo "status $?" >&2) 2>&1 >/dev/null | cat)
is "500 lines pass" "status 0" "$err"
err=$( { for i in $(seq 500); do echo "line $i"; done | { "$PRATTLE" $MODEL $S; echo "status $?" >&2; } | head -n 1 >/dev/null; } 2>&1)
is "a closed pipe ends it quietly" "status 0" "$err"
err=$( { { "$PRATTLE" $MODEL $S -p "a prompt"; echo "status $?" >&2; } | head -c 0; } 2>&1)
is "that of one prompt's answer too" "status 0" "$err"

printf 'The sea\nMy name\n' >"$TMPDIR/in"
"$PRATTLE" batch "$TMPDIR/in" "$TMPDIR/out" --model $MODEL $S
is "batch FILE OUT = a pipe" "$("$PRATTLE" $MODEL $S <"$TMPDIR/in")" "$(cat "$TMPDIR/out")"
is "FILE and OUT may be pipes" "$(cat "$TMPDIR/out")" "$("$PRATTLE" batch --model $MODEL $S <(cat "$TMPDIR/in") >(cat) | cat)"
has "FILE is no folder" "is a folder" "$("$PRATTLE" batch --model $MODEL $S "$TMPDIR" 2>&1)"
has "OUT is not overwritten" "exists already; --force" "$("$PRATTLE" batch "$TMPDIR/in" "$TMPDIR/out" --model $MODEL $S 2>&1)"
"$PRATTLE" batch "$TMPDIR/in" "$TMPDIR/out" --model $MODEL $S --force
is "but with --force" 0 $?
is "\"-\" is standard input and output" "$(cat "$TMPDIR/out")" "$(cd "$TMPDIR" && "$PRATTLE" batch - - --model $MODEL $S <in)"
is "  and no file" "" "$(ls "$TMPDIR" | grep -x -e -)"
chmod 640 "$TMPDIR/out"
"$PRATTLE" batch "$TMPDIR/in" "$TMPDIR/out" --model $MODEL $S --force
is "OUT keeps its permissions" 640 "$(stat -c %a "$TMPDIR/out")"
long=$TMPDIR/$(printf 'n%.0s' $(seq 250)).x
"$PRATTLE" batch "$TMPDIR/in" "$long" --model $MODEL $S
is "its name may be of 252 bytes" "$(cat "$TMPDIR/out")" "$(cat "$long")"
rm "$long"
# What is not all there is takes no old file's place.
printf '\xff\n' >"$TMPDIR/bad"
echo old >"$TMPDIR/kept"
has "where nothing is answered an old OUT stays" "1 of 1 line could not be answered" \
    "$("$PRATTLE" batch "$TMPDIR/bad" "$TMPDIR/kept" --model $MODEL $S --force 2>&1)"
is "  as it was" "old" "$(cat "$TMPDIR/kept" "$TMPDIR/kept.partial" 2>/dev/null)"
rm -f "$TMPDIR/begun"
yes "The sea" | head -n 1000000 >"$TMPDIR/many"
"$PRATTLE" batch "$TMPDIR/many" "$TMPDIR/kept" --model $MODEL $S --force --save-samples "$TMPDIR/begun" 2>"$TMPDIR/err" &
until [ -s "$TMPDIR/begun" ]; do sleep 0.05; kill -0 $! || break; done
kill -TERM $!; wait $!
is "where it is interrupted too" "old" "$(cat "$TMPDIR/kept")"
has "  and it says where the answers went" "kept is as it was; the answers that there are went to $TMPDIR/kept.partial" "$(tr '\n' ' ' <"$TMPDIR/err" | sed 's/  */ /g')"
is "  which are there" "$(head -n 1 "$TMPDIR/out")" "$(head -n 1 "$TMPDIR/kept.partial")"
printf '{"promt":"x"}\n' >"$TMPDIR/bad"
"$PRATTLE" batch "$TMPDIR/bad" "$TMPDIR/kept" --jsonl --model $MODEL $S --force 2>/dev/null
has "why JSON lines failed is kept" '{"error":"' "$(cat "$TMPDIR/kept.partial-2")"
is "  beside what is there" "$(head -n 1 "$TMPDIR/out")" "$(head -n 1 "$TMPDIR/kept.partial")"
rm "$TMPDIR/begun" "$TMPDIR"/kept.partial*
echo old >"$long"
"$PRATTLE" batch "$TMPDIR/many" "$long" --model $MODEL $S --force --save-samples "$TMPDIR/begun" 2>/dev/null &
until [ -s "$TMPDIR/begun" ]; do sleep 0.05; kill -0 $! || break; done
kill -TERM $!; wait $!
is "a longest name is cut for what is kept" "$(head -n 1 "$TMPDIR/out")" "$(head -n 1 "${long:0:$((${#long} - 5))}.partial")"
rm "$TMPDIR/many" "$TMPDIR/begun" "$long" "${long:0:$((${#long} - 5))}.partial"

: >"$TMPDIR/none"
for form in "" --jsonl; do
    "$PRATTLE" batch "$TMPDIR/none" "$TMPDIR/of_none" --model $MODEL $S $form
    is "no lines, an empty OUT $form" "0 0" "$? $(wc -c <"$TMPDIR/of_none")"
    rm "$TMPDIR/of_none"
done
cp "$TMPDIR/out" "$TMPDIR/of_none"
"$PRATTLE" batch "$TMPDIR/none" "$TMPDIR/of_none" --model $MODEL $S --force
is "  in place of an old one" "0 0" "$? $(wc -c <"$TMPDIR/of_none")"
rm -f "$TMPDIR/samples"
"$PRATTLE" $MODEL $S -p "The sea" --save-samples "$TMPDIR/samples" >/dev/null
"$PRATTLE" $MODEL $S -p "The sky" --save-samples "$TMPDIR/samples" >/dev/null
has "where it cannot be written nothing is generated" "samples cannot be saved: cannot write $TMPDIR/no/samples: No such" \
    "$("$PRATTLE" $MODEL $S -n 1 --save-samples "$TMPDIR/no/samples" <"$TMPDIR/in" 2>&1)"
is "  nothing at all" "" "$("$PRATTLE" $MODEL $S -n 1 --save-samples /dev/null <"$TMPDIR/in" 2>/dev/null)"
is "--save-samples appends" 2 "$(grep -c '"prompt":"The s[ek][ay]","text":' "$TMPDIR/samples")"
# A program that waits for each answer before it asks again must get it.
coproc P { "$PRATTLE" $MODEL $S --batch-size 4; }
echo "The sea" >&"${P[1]}"; read -r -t 20 got <&"${P[0]}"; first=$got
echo "My name" >&"${P[1]}"; read -r -t 20 got <&"${P[0]}"
is "an answer does not wait for more input" "$(cat "$TMPDIR/out")" "$first"$'\n'"$got"
eval "exec ${P[1]}>&-"; wait $P_PID

# Prompts as PowerShell's > writes them.
printf 'The sea\r\n\xc3\xa9t\xc3\xa9 \xf0\x9f\xa6\x8a\r\n' >"$TMPDIR/utf8"
for big in LE BE; do
    { [ $big = LE ] && printf '\xff\xfe' || printf '\xfe\xff'; iconv -f UTF-8 -t UTF-16$big "$TMPDIR/utf8"; } >"$TMPDIR/utf16"
    is "UTF-16$big is read by its mark" "$("$PRATTLE" $MODEL $S <"$TMPDIR/utf8")" "$("$PRATTLE" $MODEL $S <"$TMPDIR/utf16")"
    is "  in pieces too" "$("$PRATTLE" $MODEL $S <"$TMPDIR/utf8")" \
        "$(perl -e 'use IO::Handle; $| = 1; while (read STDIN, $c, 3) { print $c; select undef, undef, undef, 0.01 }' <"$TMPDIR/utf16" | "$PRATTLE" $MODEL $S)"
done
{ printf '\xef\xbb\xbf'; cat "$TMPDIR/utf8"; } >"$TMPDIR/marked"
is "UTF-8's mark is no text" "$("$PRATTLE" $MODEL $S <"$TMPDIR/utf8")" "$("$PRATTLE" $MODEL $S <"$TMPDIR/marked")"
is "  nor in pieces" "$("$PRATTLE" $MODEL $S <"$TMPDIR/utf8")" \
    "$(perl -e 'use IO::Handle; $| = 1; while (read STDIN, $c, 1) { print $c; select undef, undef, undef, 0.01 }' <"$TMPDIR/marked" | "$PRATTLE" $MODEL $S)"
has "nor in JSON lines" '{"id":1,"prompt":"a",' "$(printf '\xef\xbb\xbf{"prompt": "a", "id": 1}\n' | "$PRATTLE" --jsonl $MODEL $S)"
printf '\xff\xfe{\0}\0\n\0\x3d\xd8' >"$TMPDIR/utf16"
has "half a character" "utf16 begins as UTF-16 and is none" "$("$PRATTLE" batch "$TMPDIR/utf16" --model $MODEL $S 2>&1)"
iconv -f UTF-8 -t UTF-16 <<<'{"prompt": "été", "id": 1}' >"$TMPDIR/utf16"
has "JSON lines too" '{"id":1,"prompt":"été",' "$("$PRATTLE" batch "$TMPDIR/utf16" --jsonl --model $MODEL $S)"
printf 'The sea\ncaf\xe9\n' >"$TMPDIR/latin 1"
said=$("$PRATTLE" batch "$TMPDIR/latin 1" --model $MODEL $S 2>&1 >"$TMPDIR/out")
is "Latin-1 fails by its line" "1 of 2 lines could not be answered" "$(tail -n 1 <<<"$said" | sed 's/^prattle: //')"
has "  with what converts it" "line 2: the prompt is not UTF-8: byte 3 is e9; if it is Latin-1: \`iconv -f LATIN1 -t UTF-8 '$TMPDIR/latin 1' > NEW\`" "$said"
is "  the others are answered" "$("$PRATTLE" $MODEL $S <<<"The sea")" "$(head -n 1 "$TMPDIR/out")"
has "  from a pipe" "iconv -f LATIN1 -t UTF-8 FILE > NEW" "$("$PRATTLE" $MODEL $S <"$TMPDIR/latin 1" 2>&1)"
has "  as one prompt" "the prompt is not UTF-8: byte 11 is e9" "$("$PRATTLE" generate --model $MODEL $S <"$TMPDIR/latin 1" 2>&1)"
has "  on the command line" "the prompt is not UTF-8: byte 3 is e9" "$("$PRATTLE" $MODEL $S -p $'caf\xe9' 2>&1)"
is "one prompt has no mark either" "$("$PRATTLE" generate --model $MODEL $S <"$TMPDIR/utf8")" "$("$PRATTLE" generate --model $MODEL $S <"$TMPDIR/marked")"
has "  in JSON" '{"error":"the prompt is not UTF-8: byte 15 is e9' "$(printf '{"prompt": "caf\xe9"}\n' | "$PRATTLE" $MODEL $S --jsonl)"
echo '{"prompt": "The sea"}' >"$TMPDIR/p.jsonl"
has "JSON lines without --jsonl are named" "these lines are JSON: --jsonl reads them" "$("$PRATTLE" batch "$TMPDIR/p.jsonl" --model $MODEL $S 2>&1)"
is "  and answered as text" '{"prompt": "The sea"}' "$("$PRATTLE" $MODEL $S <"$TMPDIR/p.jsonl" 2>/dev/null | head -c 21)"
is "  once, and no other text" "" "$(printf 'a\n{"prompt": "b"}\n' | "$PRATTLE" $MODEL $S 2>&1 >/dev/null)$(echo '{"text": "b"}' | "$PRATTLE" $MODEL $S 2>&1 >/dev/null)"
# Interrupted, it has only whole answers: of equal lines all are the same.
rm "$TMPDIR/out"
yes "The sea" | head -n 1000000 | exec "$PRATTLE" $MODEL $S --greedy -n 40 2>"$TMPDIR/err" >"$TMPDIR/out" &
until [ -s "$TMPDIR/out" ]; do sleep 0.05; kill -0 $! || break; done
kill -TERM $!; wait $!
ended=$?
is "an answer that was interrupted is left out" "143 $("$PRATTLE" $MODEL $S --greedy -n 40 <<<"The sea")" "$ended $(sort -u "$TMPDIR/out")"
is "  how many are whole is said" "[stopped after the answers to $(wc -l <"$TMPDIR/out") lines; those begun are left out]" "$(cat "$TMPDIR/err")"
finish
