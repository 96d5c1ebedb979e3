#!/usr/bin/env bash
# A token file of more than 1 GiB, which a run does not read as a whole when it opens it: its documents.
# suite: long
. "$(dirname "$0")/lib.sh.inc"
cd "$TMPDIR" || exit 1
field() { sed -n "s/^  $1  *//p" <<<"$2"; }
for i in $(seq 5000); do printf '%s\n' "One day $i cats sat."; done >some.txt
"$PRATTLE" data prepare some.txt some.bin format=nanogpt --model bundled >said 2>&1
times=$(((1 << 30) / $(stat -c %s some.bin) + 1))
documents=$(field wrote "$(cat said)" | sed 's/.*: \([0-9]*\) doc.*/\1/')
for ((i = 0; i < times; i++)); do cat some.bin; done >large.bin
is "data info counts them" $((documents * times)) \
    "$(field documents "$("$PRATTLE" data info large.bin --model bundled)")"
has "convert finds them" "back: $((documents * times)) documents," "$("$PRATTLE" data convert large.bin back --force --model bundled 2>&1)"
finish
