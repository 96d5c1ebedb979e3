#!/usr/bin/env bash
# Settings of a run that do not do what they seem to.
. "$(dirname "$0")/lib.sh.inc"
export XDG_CACHE_HOME=$TMPDIR/cache XDG_DATA_HOME=$TMPDIR/data
meta=$PWD/tests/golden/foreign/nanogpt-char/meta.pkl
cd "$TMPDIR" || exit 1
mkdir chars && cp "$meta" chars
for i in {1..40}; do printf '\4\0\5\0'; done >ids.bin
mkdir both
for i in {1..40}; do echo 'Once upon a time there was a small model.'; done | tee both/train.txt both/val.txt >a.txt
ln a.txt other.txt
train() { rm -rf run; "$PRATTLE" train init=$MODEL folder=run steps=1 sequence_length=8 "$@" 2>&1; }

seen='validation data that is trained on too:'
has "validation data that is training data" "$seen a.txt; its loss says nothing of" "$(train data=a.txt validation=a.txt)"
has "by another path, in a mixture" "$seen other.txt; " "$(train data=a.txt:0.5,both:0.5 validation=other.txt)"
has "in a folder" "$seen both/val.txt; " "$(train data=both validation=both/val.txt)"
has "several" "$seen both/train.txt and 1 more; " "$(train data=both validation=both)"
is "not a copy" 0 "$(train data=a.txt validation=both/val.txt | grep -c "$seen")"
is "nor a part held out" 0 "$(train data=a.txt | grep -c "$seen")"

none='but with eval_every=0 there is none'
has "an evaluation without validations" "eval runs with each validation, $none" "$(train data=a.txt eval=text eval_file=a.txt eval_every=0)"
has "a first one" "eval_first is the first validation, $none" "$(train data=a.txt eval_first=on eval_every=0)"
has "of a preset it is none" "[finished at step 1;" "$(train finetune data=a.txt eval_every=0)"
has "which resumes" "[finished at step 2;" "$("$PRATTLE" train resume run steps=2 2>&1)"
has "an evaluation of a file that is not given" "eval=text needs a file: eval_file=PATH" "$(train data=a.txt eval=text)"
has "or not there" "or give eval_file=PATH or --data-dir" "$(train data=a.txt eval=wikitext)"
has "a stride over the windows" "stride 1000 is more than sequence_length 8: 992 of 1000 tokens are in no window" "$(train data=a.txt stride=1000)"
has "a decay that ends before it starts" "the decay starts at step 18 (decay_start) and ends at step 10 (decay_steps)" \
    "$(train data=a.txt steps=20 decay_steps=10 decay_start=0.9)"
is "and one that does not" 0 "$(train data=a.txt steps=20 decay_steps=19 decay_start=0.9 stride=8 | grep -c 'decay starts\|stride')"

mkfifo both/pipe
has "a pipe in a folder is left out" "left out: both/pipe is a pipe, not a regular file" "$(train data=both)"
has "and no data by itself" "both/pipe is a pipe, not a regular file" "$(train data=both/pipe)"
cp a.txt b.txt
has "a space behind a comma" "[finished at step 1;" "$(train "data=a.txt:0.7, b.txt:0.3" validation_fraction=0)"
has "without weights too" "[finished at step 1;" "$(train "data=a.txt, b.txt" validation_fraction=0)"
has "spaces around =, of a run that goes on" "a setting has no spaces around its =: steps=5" "$("$PRATTLE" train resume run steps = 5 2>&1)"
has "data in parts" "data is given more than once, and the last counts: data=a.txt,b.txt reads both" "$(train data=a.txt data=b.txt)"
is "  of other settings the last is meant" 0 "$(train data=a.txt max_steps=2 | grep -c "more than once")"
is "the same twice is no question" 0 "$(train data=a.txt data=a.txt | grep -c "more than once")"
small="init=random n_layer=1 n_head=2 n_embd=8 n_positions=16 data=a.txt"
has "a new model of bytes with GPT-2's vocabulary" "a token a byte, so 50000 of its 50257 are of no use: tokenizer=PATH" "$(train $small)"
is "  not with a byte's" 0 "$(train $small vocab_size=257 | grep -c "token a byte")"
is "  nor on tokens" 0 "$(train $small data=ids.bin validation_fraction=0 2>&1 | grep -c "token a byte")"
has "a key in capitals" "there is no file or preset LR=1; did you mean learning_rate=1?" "$(train LR=1 data=a.txt)"
has "what has no sample" "no token that begins a text: sample_prompt=TEXT gives one" \
    "$(rm -rf run; "$PRATTLE" train init=$MODEL,tokenizer=$PWD/chars data=ids.bin folder=run steps=1 sequence_length=8 validation_fraction=0 sample_every=1 2>&1)"
finish
