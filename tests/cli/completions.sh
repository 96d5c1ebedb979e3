#!/usr/bin/env bash
# Training on prompts and completions: what counts, what is said of it, and that it is the same however it
# is computed.
. "$(dirname "$0")/lib.sh.inc"
. tests/mpi/mpi.sh.inc
cd "$TMPDIR" || exit 1
for i in $(seq 120); do
    echo "{\"prompt\": \"fox number $((i * i % 97)) likes\", \"completion\": \" the $( ((i % 3)) && echo sea || echo sun)\"}"
done >pairs.jsonl
TEXT=pairs.jsonl # words takes the last
tokens() { sed -n "s/^  $1 *\([0-9]*\).*/\1/p" <<<"$info"; }
info=$("$PRATTLE" data info pairs.jsonl --model $MODEL)
all=$(tokens tokens) prompts=$(tokens prompts)
is "data info counts both" 1 "$((prompts > 0 && prompts < all))"

one whole micro_batch_size=2 eval_every=10 >log 2>err
has "a run says what counts" "the loss counts completions alone: " "$(cat err)"
has "  and how to count all" "of prompts (completion_only_loss=off counts these too)" "$(cat err)"
want=$(digest whole)
one some micro_batch_size=4 eval_every=10 recompute=layers --threads 2 >/dev/null 2>err
is "the bits of other micro-batches and threads" "$want" "$(digest some)"
one some micro_batch_size=2 eval_every=10 phased=on >/dev/null 2>err
is "  of one that is phased" "$want" "$(digest some)"
many 2 some micro_batch_size=1 eval_every=10 >log2 2>err
is "  and of two processes" "$want" "$(digest some)"
lines() { grep -oE '"(step|loss|accuracy|tokens|validation_loss)":[0-9.]*' "$1/metrics.jsonl"; }
is "  which measure the same" "$(lines whole)" "$(lines some)"
many 2 some micro_batch_size=1 eval_every=10 layers_per_device=1,1 >log2 2>err
is "  as stages do" "$(lines whole)" "$(lines some)"
one some micro_batch_size=2 completion_only_loss=off >/dev/null 2>err
is "other bits where prompts count" 1 "$([ "$want" != "$(digest some)" ] && echo 1)"
is "  of which nothing is said" "" "$(grep counts err)"
has "a run does not change what counts" "completion_only_loss was on in this run and cannot become off" \
    "$("$PRATTLE" train resume whole steps=21 completion_only_loss=off 2>&1)"
has "but goes on" "[finished at step 21" "$("$PRATTLE" train resume whole steps=21 2>&1)"

# An evaluation counts what the loss counts: a text of completions alone is one without prompts.
measure() { "$PRATTLE" eval text "$1" --model $MODEL --seq-length 32 --last-n 32 --json; }
targets() { grep -oE '"targets": *[0-9]+' | grep -oE '[0-9]+'; }
is "an evaluation counts completions" $((all - prompts)) "$(measure pairs.jsonl | targets)"
sed -E 's/"prompt": "[^"]*"/"prompt": ""/' pairs.jsonl >bare.jsonl
sed -E 's/.*"completion": ("[^"]*").*/{"text": \1}/' pairs.jsonl >texts.jsonl
loss() { measure "$1" | grep -oE '"loss": *\{[^}]*' | head -n 1; }
is "without prompts it is that of a text" "$(loss texts.jsonl)" "$(loss bare.jsonl)"

# What data sets for other programs have is refused with the command that makes pairs of it.
pairs() { # LINE PROMPT COMPLETION
    local said
    echo "$1" >other.jsonl
    said=$(one other data=other.jsonl 2>&1)
    is "made a pair: $1" "{\"prompt\":\"$2\",\"completion\":\" $3\"}" \
        "$(eval "$(sed -n 's/.*; \(jq .*\) FILE > NEW.jsonl makes prompts and completions/\1 other.jsonl/p' <<<"$said")")"
}
pairs '{"question": "a", "answer": "b"}' a b
pairs '{"instruction": "a", "input": "", "output": "b"}' a b
pairs '{"instruction": "a", "input": "x", "output": "b"}' 'a\nx' b
pairs '{"prompt": "a", "chosen": "b", "rejected": "c"}' a b
pairs '{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}' a b
pairs '{"prompt": [{"role": "user", "content": "a"}], "completion": [{"role": "assistant", "content": "b"}]}' a b
pairs '{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}' a b
echo '{"question": "a", "reply": "b"}' >other.jsonl
has "what is neither is refused" "line 1: expected an object whose field text is a string, it has question, reply; \`prattle data prepare" \
    "$(one other data=other.jsonl 2>&1)"
has "data prepare takes none, and says who does" "it has prompt, completion; training and evaluations read such prompts and completions as they are" \
    "$("$PRATTLE" data prepare pairs.jsonl none --model $MODEL 2>&1)"
finish
