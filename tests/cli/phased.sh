#!/usr/bin/env bash
# A model whose layers are read from disk says what it says from memory, whatever it is asked.
. "$(dirname "$0")/lib.sh.inc"
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache XDG_DATA_HOME=$work/data XDG_CONFIG_HOME=$work/config
printf '%s\n' "Once upon a time" "My name is" "The dog" "A girl went to the" "It was" >"$work/prompts"
# Of words to both: the answer from memory and from disk, without the note.
both() { # NAME WORDS...
    for phased in off on; do
        "$PRATTLE" bundled --phased $phased --seed 5 -n 24 "${@:2}" <"${input:-$work/prompts}" >"$work/$phased" 2>"$work/$phased.err"
        # What fails, or says nothing, is not the same as anything.
        [ $? -eq 0 ] && grep -q '[a-z]' "$work/$phased" || echo "--phased $phased: failed: $(cat "$work/$phased.err")" >>"$work/$phased"
    done
    is "$1" "$(cat "$work/off")" "$(cat "$work/on")"
}
both "a batch of prompts"
layers=$("$PRATTLE" model bundled | sed -n 's/^ *shape *\([0-9]*\) layers.*/\1/p')
is "what is read is said first" "bundled: $layers of $layers layers stay on disk; 0.0X GB a token from disk" \
    "$(sed -n '1s/^prattle: //; 1s/0\.0[1-9] GB/0.0X GB/p' "$work/on.err")"
is "and nothing of a model in memory" "" "$(cat "$work/off.err")"
both "one text at a time, one thread" --batch-size 1 --threads 1
both "greedy, three threads" --greedy --threads 3
both "without the device loop" --device-loop off
both "beams" --num-beams 4 --num-return-sequences 2
both "contrastive search" --penalty-alpha 0.6 --top-k 5
both "several answers" --num-return-sequences 3
both "drafts from the text" --speculate lookup --greedy
both "fp32" --dtype fp32
both "q8" --dtype q8
sed 's/.*/{"prompt": "&"}/' "$work/prompts" >"$work/prompts.jsonl"
input=$work/prompts.jsonl both "log-probabilities" --jsonl --top-logprobs 3
both "a text that slides" --on-full slide -n 300 --prompt "Once upon a time"
for phased in off on; do
    "$PRATTLE" eval text "$work/prompts" --model bundled --phased $phased --json 2>/dev/null |
        sed 's/"date": "[^"]*"//; s/"seconds": [0-9.]*//' >"$work/$phased"
done
is "an evaluation, with the fingerprint of the weights" "$(cat "$work/off")" "$(cat "$work/on")"
has "which has numbers" '"perplexity"' "$(cat "$work/on")"
panels() { find "$work/cache/prattle/panels" -type f | wc -l; }
is "nothing is left behind" 0 "$(panels)"

# The folder's weights are kept from one start to the next, the same for both.
"$PRATTLE" convert bundled "$work/model" >/dev/null 2>&1
sleep 0.2
run() { "$PRATTLE" "$work/model" --phased "$1" --seed 5 -n 12 -p "Once upon a time" 2>/dev/null; }
first=$(run on)
is "a folder's model says something" "0 some words" "$? $(sed -n '1s/.*[a-z].*/some words/p' <<<"$first")"
is "an entry of the cache" 1 "$(panels)"
is "again from it" "$first" "$(run on)"
is "and in memory" "$first" "$(run off)"

# What does not go is said in a sentence.
refused() { has "$1" "$2" "$("$PRATTLE" "${@:3}" 2>&1)"; }
# 12 C x C of fp16 are a layer; three of them, with room for the rest.
width=$("$PRATTLE" model bundled | sed -n 's/.* width \([0-9]*\),.*/\1/p')
refused "memory that holds no layer" "there is memory for 0 MB of weights, but 3 layers of $(((24 * width * width + 500000) / 1000000)) MB at a time and what is outside them need " \
    bundled --memory 0.001 -p x
least=$("$PRATTLE" bundled --memory 0.001 -p x 2>&1 | sed -n 's/.*; with all else: memory=//p')
is "  and what it takes does" "some words" "$("$PRATTLE" bundled --memory "$least" --seed 5 -n 4 -p "Once upon a time" 2>/dev/null | sed 's/.*[a-z].*/some words/')"
refused "training" "needs all weights in memory, and some layers are read from disk at each pass; phased=off loads all of them" \
    train finetune data="$work/prompts" steps=1 sequence_length=8 folder="$work/run" --model "$work/model" --phased on
(ulimit -f 1000; run on) >"$work/out" 2>&1
is "an entry that is there needs no room" "$first" "$(cat "$work/out")"
rm -rf "$work/cache"
full=$(ulimit -f 1000; "$PRATTLE" "$work/model" --phased on -p x 2>&1)
has "a full disk" "cannot prepare the weights of model on disk: cannot write " "$full"
is "leaves nothing" 0 "$(panels)"
# In training, all that a step needs.
plan() {
    "$PRATTLE" train finetune data=README.md model.init=random:gpt2 sequence_length=32 "$@" --plan 2>/dev/null |
        grep -E "^memory|moment| total |disk|files|a step  |bytes a" | sed 's/ of .* in this .*//'
}
has "in memory" "second moment" "$(plan)"
is "the plan of a run on disk" "memory
  layers in memory    437.9 MiB  weights, gradients, moments, inputs; the rest is on disk
disk
  working files         2.1 GiB  weights, gradients, moments, inputs of layers
  a step                2.5 GiB  read, 1.6 GiB written" "$(plan phased=on | grep -v " total ")"
is "of which as much stays as there is memory for" "memory
  layers in memory    800.6 MiB  weights, gradients, moments, inputs; the rest is on disk
disk
  working files         1.6 GiB  weights, gradients, moments, inputs of layers
  a step                1.5 GiB  read, 1.2 GiB written" "$(plan phased=on memory=1.2 | grep -v " total ")"
has "all of it, too" "a step                    0 B  read, 0 B written" "$(plan phased=on memory=3)"
is "with an adapter its moments" "memory, 4 bytes a parameter
  moments in memory     1.1 MiB  of those on disk
disk
  moments               1.1 MiB  both, read and written at each step" "$(plan phased=on lora.rank=4 | grep -v " total ")"
has "memory for less than a layer" "memory is 0.3 GB, but a step with one layer at a time needs 0.82 GB" \
    "$("$PRATTLE" train finetune data=README.md model.init=random:gpt2 sequence_length=32 phased=on memory=0.3 --plan 2>&1)"
finish
