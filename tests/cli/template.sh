#!/usr/bin/env bash
# A template around prompts: everything that reads a prompt reads what was meant, as if it had been typed.
. "$(dirname "$0")/lib.sh.inc"
cd "$TMPDIR" || exit 1
FORM='Q: {prompt}\nA:' typed=$'Q: the fox\nA:'
p() { "$PRATTLE" "$@" --model $MODEL --seed 1 --greedy -n 6 2>&1; }
want=$(p -p "$typed" --no-echo)
is "a prompt is read in its template" "$want" "$(p -p "the fox" --no-echo --template "$FORM")"
is "  by the name of other programs" "$want" "$(p -p "the fox" --no-echo --prompt-template "$FORM")"
is "  and shown in it" "$(p -p "$typed")" "$(p -p "the fox" --template "$FORM")"
is "generate reads it so" "$want" "$(p generate "the fox" --no-echo --template "$FORM")"
is "logits too" "$(p logits "$typed" --top 3)" "$(p logits "the fox" --top 3 --template "$FORM")"
is "tokens are those of the text" "$(p tokens "the fox")" "$(p tokens "the fox" --template "$FORM")"
is "token IDs are read as they are" "$(p generate --ids 5,6 --output ids)" \
    "$(p generate --ids 5,6 --output ids --template "$FORM")"
line='Q: the fox\nA:'"${want//$'\n'/\\n}"
is "so are lines, the empty one too" "$line"$'\n'"$(p --template "$FORM" <<<"")" \
    "$(printf 'the fox\n\n' | p --template "$FORM")"
is "  each has its own" 1 "$(p --template "$FORM" <<<"" | grep -c '^Q: \\nA:')"
text() { grep -oE '"(text|error)":"([^"\\]|\\.)*"'; }
line=$(echo '{"prompt": "Q: the fox\nA:"}' | p --jsonl | text)
has "a JSON line has an answer" '"text":"' "$line"
is "JSON lines may bring a template" "$line" \
    "$(echo '{"prompt": "the fox", "template": "Q: {prompt}\nA:"}' | p --jsonl | text)"
is "  or leave it out" "$(echo '{"prompt": "the fox"}' | p --jsonl | text)" \
    "$(echo '{"prompt": "the fox", "template": ""}' | p --jsonl --template "$FORM" | text)"
p -p "the fox" --template "$FORM" --save-samples samples >/dev/null
has "a sample has what was read" '"prompt":"Q: the fox\nA:"' "$(cat samples)"
has "a template without a place is refused" 'where the prompt goes, as in "Q: {prompt}\nA:", not "Q:"' \
    "$(p -p a --template Q:)"
printf 'the fox' | "$PRATTLE" --model $MODEL --template $'{prompt}\xff' >out 2>err
is "one that is not UTF-8 too" "" "$(cat out)"
has "  with its name" "template is not UTF-8" "$(cat err)"

# A model brings its own, which it keeps where it is saved, and a user's own comes first.
"$PRATTLE" convert $MODEL own --seed 1 --dtype fp32 >/dev/null 2>&1
cat >own/prattle.yaml <<'END'
template: "Q: {prompt}\nA:"
END
own() { "$PRATTLE" "$@" --seed 1 --greedy -n 6 --dtype fp32 2>&1; }
is "a model brings its own" "$(own -p "$typed" --model own --template '')" "$(own -p "the fox" --model own)"
"$PRATTLE" convert own kept >/dev/null 2>&1
is "  and keeps it" "$(own -p "the fox" --model own)" "$(own -p "the fox" --model kept)"
echo 'template: Q' >own/prattle.yaml
has "  one without a place is named" "template must have {prompt}" "$(own -p a --model own)"
has "  with its file" "prattle.yaml" "$(own -p a --model own)"
finish
