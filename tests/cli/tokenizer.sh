#!/usr/bin/env bash
# tokenizer train, as a user has it in the shell.
. "$(dirname "$0")/lib.sh.inc"
p() { "$PRATTLE" "$@" 2>&1; }
status() { "$PRATTLE" "$@" >/dev/null 2>&1 </dev/null; echo $?; }
CORPUS=tests/golden/bpe_train/corpus.txt D=$TMPDIR/tokenizer
rm -rf "$D" && mkdir "$D"

is "a vocabulary is learned" "400 tokens, 143 merges; wrote $D/a" "$(p tokenizer train $CORPUS "$D/a" --vocab-size 400)"
is "its files" "merges.txt tokenizer.json vocab.json" "$(ls -A "$D/a" | xargs)"
is "its merges, a line each behind the version" 144 "$(wc -l <"$D/a/merges.txt")"
is "nothing else is left" a "$(ls -A "$D")"
has "it is not overwritten" "vocab.json exists already; --force overwrites it" "$(p tokenizer train $CORPUS "$D/a" --vocab-size 300)"
is "  and is as before" 144 "$(wc -l <"$D/a/merges.txt")"
is "but with --force" "300 tokens, 43 merges; wrote $D/a" "$(p tokenizer train $CORPUS "$D/a" --vocab-size=300 --force)"
p tokenizer train $CORPUS "$D/one" --vocab-size 500 --threads 1 >/dev/null
p tokenizer train $CORPUS "$D/two" --vocab-size 500 --threads 2 >/dev/null
is "threads make no difference" "" "$(diff -r "$D/one" "$D/two")"
has "it says how many the text gives" "a vocabulary of 1448 tokens; 5000 were asked for" "$(p tokenizer train $CORPUS "$D/b" --vocab-size 5000)"
has "rare pairs may be left apart" "459 tokens, 202 merges" "$(p tokenizer train $CORPUS "$D/c" --vocab-size 5000 --min-frequency 3)"
mkdir "$D/texts" && cp $CORPUS "$D/texts/x" && cp $CORPUS "$D/texts/y"
has "a folder of texts" "600 tokens, 343 merges" "$(p tokenizer train "$D/texts" "$D/d" --vocab-size 600)"

p convert $MODEL "$D/model" >/dev/null
mkdir "$D/other" && echo kept >"$D/other/notes"
is "into a folder with other things" 0 "$(status tokenizer train $CORPUS "$D/other" --vocab-size 260)"
is "  which stay" kept "$(cat "$D/other/notes")"
before=$(cat "$D/model"/* | sha256sum)
has "a model keeps its own" "$D/model has a model, whose weights need the tokenizer that they were trained with; choose another folder" \
    "$(p tokenizer train $CORPUS "$D/model" --vocab-size 257 --force)"
is "  as it was" "$before" "$(cat "$D/model"/* | sha256sum)"
rm "$D/model/model.safetensors"
is "a configuration without weights may take one" 0 "$(status tokenizer train $CORPUS "$D/model" --vocab-size 257 --force)"

# What other files beside it say: a space before texts, added tokens.
p convert $MODEL "$D/plain" >/dev/null
cp -r "$D/plain" "$D/prefix"
sed -i 's/"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false/"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true/' "$D/prefix/tokenizer.json"
is "tokenizer.json's add_prefix_space" "$(p tokens -m "$D/plain" " H H")" "$(p tokens -m "$D/prefix" "H H")"
is "  ids need none" 0 "$(status logits -m "$D/prefix" --ids 1,2)"
p convert "$D/prefix" "$D/prefix.gguf" >/dev/null && p convert "$D/prefix.gguf" "$D/again" >/dev/null
is "  it is kept there and back" "$(p tokens -m "$D/plain" " H")" "$(p tokens -m "$D/again" H)"
is "  and said as transformers wants it" '{"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": true}' "$(cat "$D/again/tokenizer_config.json")"
cp -r "$D/plain" "$D/set" && echo '{"add_prefix_space": true}' >"$D/set/tokenizer_config.json"
is "tokenizer_config.json's" "$(p tokens -m "$D/plain" " H H")" "$(p tokens -m "$D/set" "H H")"
rm "$D/set/tokenizer.json" && sed -i 's/, "<|endoftext|>": 256//' "$D/set/vocab.json"
echo '{"added_tokens_decoder": {"256": {"content": "<end>", "special": true}}}' >"$D/set/tokenizer_config.json"
is "its added tokens" "$(p tokens -m "$D/plain" --special 'H<|endoftext|>')" "$(p tokens -m "$D/set" --special 'H<end>')"
rm -r "$D/plain" "$D/prefix" "$D/prefix.gguf" "$D/again" "$D/set"

# Ctrl-C in the middle: all or nothing.
yes "$(cat $CORPUS)" | head -c 80000000 >"$D/long"
set -m # or it would be a background job, which Ctrl-C is not for
"$PRATTLE" tokenizer train "$D/long" "$D/stopped" --vocab-size 1000 >/dev/null 2>&1 &
pid=$!
until compgen -G "$D/stopped*" >/dev/null || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
kill -INT $pid 2>/dev/null
wait $pid
is "stopped by Ctrl-C" 130 $?
set +m
is "  it leaves nothing" "" "$(compgen -G "$D/stopped*")"
rm "$D/long"

refuse() { local name=$1 part=$2; shift 2; has "$name" "$part" "$("$PRATTLE" "$@" 2>&1 </dev/null)"; is "  and its status" 1 "$(status "$@")"; }
: >"$D/empty"
refuse "an empty text" "is empty" tokenizer train "$D/empty" "$D/no"
refuse "a text that is not there" "$D/none" tokenizer train "$D/none" "$D/no"
refuse "a vocabulary without room for the bytes" "vocab_size must be a whole number, 257 to" tokenizer train $CORPUS "$D/no" --vocab-size 100
refuse "a place that is not there" "cannot write $D/no/where" tokenizer train $CORPUS "$D/no/where"
refuse "a file in the way" "is not a folder" tokenizer train $CORPUS "$D/empty"
refuse "another verb" "it can train" tokenizer learn $CORPUS "$D/no"
refuse "too few words" "usage: prattle tokenizer train TEXT OUT" tokenizer train $CORPUS
is "none of them left anything" "a b c d empty model one other texts two" "$(ls -A "$D" | xargs)"
finish
