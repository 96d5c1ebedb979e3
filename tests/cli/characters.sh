#!/usr/bin/env bash
# nanoGPT's data of characters: train.bin and val.bin beside the meta.pkl that names them.
. "$(dirname "$0")/lib.sh.inc"
export XDG_CACHE_HOME=$TMPDIR/cache XDG_DATA_HOME=$TMPDIR/data
meta=$PWD/tests/golden/foreign/nanogpt-char/meta.pkl
cd "$TMPDIR" || exit 1
mkdir chars plain
cp "$meta" chars
for i in {1..200}; do printf '\4\0\5\0\1\0\6\0\0\0'; done | tee chars/train.bin chars/val.bin >plain/train.bin # "ab c\n"
train() { "$PRATTLE" train "$@" folder=run steps=1 n_layer=1 n_embd=16 n_head=2 sequence_length=16 validation_fraction=0 2>&1; }

said=$(train nanogpt-shakespeare data=chars/train.bin validation=chars/val.bin)
has "a new model has the characters beside its data, and says so" \
    "the tokenizer is that of the data: the characters in chars/meta.pkl" "$said"
has "it trains" "[finished at step 1;" "$said"
is "and reads texts by them" "4,5,1,6,0" "$("$PRATTLE" tokens --model run $'ab c\n' 2>/dev/null)"
is "an evaluation has no note" "0" "$("$PRATTLE" eval chars/val.bin --model run 2>&1 | grep -c 'characters of')"
rm -r run
has "of a folder, in a mixture" "the characters in chars/meta.pkl" "$(train init=random data=chars:0.5,plain:0.5 --plan)"
is "not without the file" 0 "$(train init=random data=plain/train.bin --plan | grep -c meta.pkl)"
has "meta.pkl is a tokenizer" "[finished at step 1;" "$(train init=random tokenizer=chars/meta.pkl data=plain/train.bin)"
is "as which it reads texts" "4,5,1,6,0" "$("$PRATTLE" tokens --model run $'ab c\n' 2>/dev/null)"
has "so is the data's folder" "  begins       ab c" "$("$PRATTLE" data info plain/train.bin tokenizer=chars 2>&1)"
has "it is no model" "chars/meta.pkl is not a model" "$("$PRATTLE" chars/meta.pkl -p x 2>&1)"
echo x >plain/meta.pkl
has "another meta.pkl is none" "plain/meta.pkl has no characters of nanoGPT's: its itos" \
    "$("$PRATTLE" data info plain/train.bin tokenizer=plain/meta.pkl 2>&1)"
is "and nothing beside data" 0 "$(train init=random data=plain/train.bin --plan | grep -c meta.pkl)"

other=$("$PRATTLE" eval chars/val.bin --model $MODEL 2>&1)
has "another model's tokens are noted to be others" \
    "the ids of chars/val.bin are characters of chars/meta.pkl, and not of the model's tokenizer: init=random" "$other"
finish
