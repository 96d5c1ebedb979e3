#!/usr/bin/env bash
# Escapes in document_separator and sample_prompt, and a separator that cuts nothing.
. "$(dirname "$0")/lib.sh.inc"
export XDG_CACHE_HOME=$TMPDIR/cache XDG_DATA_HOME=$TMPDIR/data
cd "$TMPDIR" || exit 1
for i in {1..20}; do printf 'one two\nthree\n\nfour\n\n\n\nfive\n'; done >paragraphs.txt
wrote() { "$PRATTLE" data prepare paragraphs.txt out "document_separator=$1" --force --model $MODEL 2>&1 | sed -n 's/^  wrote *//p'; }
is "data prepare: \\n\\n is an empty line" "out: 41 documents, 481 tokens" "$(wrote '\n\n')"
is "as such a line is itself" "out: 41 documents, 481 tokens" "$(wrote $'\n\n')"
is "a backslash is doubled" "out: 1 document, 561 tokens" "$(wrote '\\n\\n')"
train() { rm -rf run; "$PRATTLE" train init=$MODEL data=paragraphs.txt folder=run steps=1 sequence_length=8 "$@" 2>&1; }
is "train cuts there too" 0 "$(train 'document_separator=\n\n' | grep -c 'cuts none')"
has "and lists the setting as it was given" 'document_separator \n\n' \
    "$("$PRATTLE" train show run document_separator | tr -s ' ')"
has "a separator that is nowhere gets a note" "document_separator X cuts none of the texts: each is one document" \
    "$(train document_separator=X)"
is "the built-in one none" 0 "$(train | grep -c 'cuts none')"
is "nor has file" 0 "$(train document_separator=file | grep -c 'cuts none')"
has "a sample's prompt" $'sample: A\nB\\\\' "$(train 'sample_prompt=A\nB\\' sample_every=1 sample_tokens=1)"
finish
