#!/usr/bin/env bash
# What bench train says, but not how much: a time is no test.
. "$(dirname "$0")/lib.sh.inc"
rows=$("$PRATTLE" bench train=2x16 --model $MODEL --format csv 2>&1); is "training is measured" 0 $?
is "its speed, its parts, and no more" \
    "what|training, 2 x 16|training, 2 x 16|matrices|attention|LayerNorm|activation|loss|optimizer|attention to optimizer|waits|rest" \
    "$(sed 's/^"*//; s/"*,[0-9m].*//; s/"$//; s/^ *//' <<<"$rows" | paste -sd'|')"
err=$("$PRATTLE" bench train=0x16 --model $MODEL 2>&1); is "a batch of none is refused" 1 $?
has "and explained" "the micro-batch is 0 sequences" "$err"
err=$("$PRATTLE" bench train=1x4096 --model $MODEL 2>&1); is "a window beyond the context is refused" 1 $?
has "with both numbers" "the sequence length is 4096" "$err"
err=$("$PRATTLE" bench traim --model $MODEL 2>&1); is "no such bench" 1 $?
has "and those there are" "start, train, train=BATCHxLENGTH" "$err"
out=$("$PRATTLE" bench limits 2>&1)
has "without a model named, the one that ships is measured" "bundled, " "$(head -n 1 <<<"$out")"
has "in the table of a document the model is named too" "bundled, " \
    "$("$PRATTLE" bench limits --format markdown 2>&1 | head -n 1)"
is "and for programs in each row" "model bundled bundled" \
    "$("$PRATTLE" bench limits --format csv 2>&1 | sed 's/.*,//' | paste -sd' ')"
finish
