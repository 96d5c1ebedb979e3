#!/usr/bin/env bash
# special=on: the special tokens of texts that are prepared, measured and trained on.
. "$(dirname "$0")/lib.sh.inc"
export XDG_CACHE_HOME=$TMPDIR/cache XDG_DATA_HOME=$TMPDIR/data
cd "$TMPDIR" || exit 1
field() { sed -n "s/^  $1 *//p" <<<"$2"; }
printf '{"text": "One <|endoftext|> two"}\n{"text": "Three<|endoftext|>"}\n' >chat.jsonl
printf 'One <|endoftext|> two' >plain.txt

for special in off on; do
    "$PRATTLE" data prepare chat.jsonl $special special=$special --model $MODEL >said 2>&1
    wrote[${#wrote[@]}]=$(sed -n 's/^  wrote *//p' said)
done
is "data prepare: as text" "off: 2 documents, 41 tokens" "${wrote[0]}"
is "as tokens, and no second one at a document's end" "on: 2 documents, 16 tokens" "${wrote[1]}"
check() { "$PRATTLE" data check "$@" --model $MODEL 2>&1; }
is "data check reads them so" "2 documents, which give the same tokens" "$(field texts "$(check on chat.jsonl special=on)")"
has "if it is asked to" "token 5 of document 1 is 256, the text gives 27" "$(check on chat.jsonl)"
# What one command has read before it failed is not what the other wants.
mkdir texts && cp chat.jsonl texts/a.jsonl && printf 'caf\351' >texts/b.txt
has "a command that fails keeps what it has read" "what was read stays" \
    "$("$PRATTLE" data prepare texts again --model $MODEL 2>&1)"
rm texts/b.txt
is "  which is not for one that reads it otherwise" "again: 2 documents, 16 tokens" \
    "$(field wrote "$("$PRATTLE" data prepare texts again special=on --model $MODEL 2>&1)")"
has "of token files it is no setting" "special is a setting of texts" \
    "$("$PRATTLE" data prepare on other special=on split=0.5,0.5 --model $MODEL 2>&1)"
is "data info" "16, 8 a document" "$(field tokens "$("$PRATTLE" data info chat.jsonl --special on --model $MODEL)")"

measured() { "$PRATTLE" eval "$@" --model $MODEL 2>/dev/null | sed -n 2p; }
has "eval: as text" "over 41 tokens in 2 documents" "$(measured chat.jsonl)"
has "as tokens, which the definition says" "over 16 tokens in 2 documents, special tokens in the text read as such" \
    "$(measured chat.jsonl --special on)"
is "and its record" 1 "$("$PRATTLE" eval chat.jsonl --special on --json --model $MODEL 2>/dev/null | grep -c '"settings": *{[^}]*"special": *true')"
is "  which has nothing of it elsewhere" 0 "$("$PRATTLE" eval chat.jsonl --json --model $MODEL 2>/dev/null | grep -c special)"
has "eval ptb" "one stream of 9 tokens as they are, special tokens in the text read as such" "$(measured ptb plain.txt --detokenize off --special on)"
has "not of each evaluation" "eval lambada does not take --special" "$("$PRATTLE" eval lambada chat.jsonl --special on --model $MODEL 2>&1)"
mkdir -p config/prattle && echo "special: on" >config/prattle/settings.yaml
recorded() { XDG_CONFIG_HOME=$TMPDIR/config "$PRATTLE" eval "$@" --json --model $MODEL 2>/dev/null; }
has "whose record has nothing of it where it is on for all" '"settings"' "$(recorded lambada chat.jsonl)"
is "  but of those that read it" "0 1" "$(recorded lambada chat.jsonl | grep -c special) $(recorded chat.jsonl | grep -c special)"

train() { "$PRATTLE" train "$@" 2>&1; }
has "train" "[finished at step 1;" "$(train init=$MODEL data=chat.jsonl special=on sequence_length=8 validation_fraction=0 steps=1 folder=run)"
has "a run's tokens stay what they are" "data.special was on in this run and cannot become off" "$(train resume run steps=2 special=off)"
has "it goes on with them" "[finished at step 2;" "$(train resume run steps=2)"
finish
