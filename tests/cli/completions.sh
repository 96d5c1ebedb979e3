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
has "--plan counts what is learned" "the loss counts completions: $((all - prompts)) of an epoch's tokens" \
    "$("$PRATTLE" train init=$MODEL data=pairs.jsonl validation_fraction=0 --plan 2>&1)"
is "data info counts both" 1 "$((prompts > 0 && prompts < all))"

one whole micro_batch_size=2 eval_every=10 >log 2>err
has "a run says what counts" "the loss counts completions alone: " "$(cat err)"
has "  and how to count all" "of prompts (completion_only_loss=off counts these too)" "$(cat err)"
is "tokens are those that are read" '"tokens":10240' "$(tail -n 1 whole/metrics.jsonl | grep -o '"tokens":[0-9]*')"
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
# Windows of prompts alone: they are no figures, and no measure of what is a spike.
for i in $(seq 30); do
    echo "{\"prompt\": \"$(printf 'the fox %.0s' $(seq 40))$i\", \"completion\": \" yes\"}"
done >wide.jsonl
TEXT=wide.jsonl one some steps=120 global_batch_size=1 gradient_blocks=1 micro_batch_size=1 spike_z=2 log_every=1 >/dev/null 2>err
is "steps without targets make no spikes of the others" '"skipped":0.0' \
    "$(tail -n 1 some/metrics.jsonl | grep -o '"skipped":[0-9.]*')"
is "  and have no loss" 1 "$(($(grep -c '"loss"' some/metrics.jsonl) < 30))"
ranks 2 eval text pairs.jsonl --model $MODEL --seq-length 32 --last-n 32 --json >shared 2>err
is "an evaluation by two processes counts the same" "$(measure pairs.jsonl | targets)" "$(targets <shared; cat err)"
has "an evaluation without any says so" "there is no completion in the 1 window of wide.jsonl" \
    "$("$PRATTLE" eval text wide.jsonl --model $MODEL --seq-length 32 --limit 1 2>&1)"
echo '{"prompt": "a", "completion": "b"}' >a.jsonl
has "a prompt of one token" "1 token, which training reads" "$("$PRATTLE" data info a.jsonl --model $MODEL)"

# What data sets for other programs have is refused with the settings, or the command, that make pairs of it.
fields() { # LINE PROMPT COMPLETION
    echo "$1" >other.jsonl
    has "a pair is read of $1" "; settings data_prompt_template=\"$2\" data_completion_template=\" $3\" make prompts and completions" \
        "$(one other data=other.jsonl 2>&1)"
}
fields '{"question": "a", "answer": "b"}' '{question}' '{answer}'
fields '{"instruction": "a", "output": "b"}' '{instruction}' '{output}'
fields '{"instruction": "a", "input": "", "output": "b"}' '{instruction}\n{input}' '{output}'
fields '{"prompt": "a", "chosen": "b", "rejected": "c"}' '{prompt}' '{chosen}'
pairs() { # LINE PROMPT COMPLETION, as jq has them
    echo "$1" >other.jsonl
    has "a pair is made of $1" "; jq -c '{prompt: $2, completion: (\" \" + $3)}' FILE > NEW.jsonl makes prompts and completions" \
        "$(one other data=other.jsonl 2>&1)"
}
pairs '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}' '.messages[-2].content' '.messages[-1].content'
pairs '{"prompt": [{"role": "user", "content": "a"}], "completion": [{"role": "assistant", "content": "b"}]}' \
    '.prompt[-1].content' '.completion[0].content'
pairs '{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}' '.conversations[-2].value' '.conversations[-1].value'
echo '{"question": "a", "reply": "b"}' >other.jsonl
has "what is neither is refused" "line 1: expected an object whose field text is a string, it has question, reply; the setting data_field=NAME takes one" \
    "$(one other data=other.jsonl 2>&1)"
has "data prepare takes none, and says who does" "it has prompt, completion; training and evaluations read such prompts and completions as they are" \
    "$("$PRATTLE" data prepare pairs.jsonl none --model $MODEL 2>&1)"
finish
