#!/usr/bin/env bash
# Settings of a run that do not do what they seem to.
. "$(dirname "$0")/lib.sh.inc"
export XDG_CACHE_HOME=$TMPDIR/cache XDG_DATA_HOME=$TMPDIR/data
cd "$TMPDIR" || exit 1
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
finish
