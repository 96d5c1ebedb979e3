#!/usr/bin/env bash
# seconds: 300
# Training larger than memory: weights, gradients, moments and the inputs of layers are in working
# files, and weights and state are those of a run in memory, bit for bit, also where the run was
# stopped, killed, or went on the other way, and whatever stays in memory.
. "$(dirname "$0")/lib.sh.inc"
STEPS=20
. tests/cli/train.sh.inc
cd "$TMPDIR" || exit 1
ordered() {
    train "$1" sequence_length=37 micro_batch_size=3 gradient_accumulation=2 dropout=0.1 matrices=own \
        schedule=constant warmup=0 save_every=9 eval_every=0 "${@:2}"
}
working() { find "$TMPDIR" "$XDG_CACHE_HOME" -name '.nameless-*' 2>/dev/null; }
for kind in float32 float16; do
    ordered run precision=$kind >log 2>&1
    want=$(remains run)
    same() { is "$kind, $1" "$want" "$(remains run)"; rm -rf run; }
    rm -rf run
    ordered run precision=$kind phased=on --threads 1 >log 2>&1
    same "all on disk, one thread"
    ordered run precision=$kind phased=on memory=0.25 --phased on --threads 3 >log 2>&1
    same "some of it, and the model in use on disk"
    ordered run precision=$kind phased=on micro_batch_size=1 gradient_accumulation=6 --threads 2 >log 2>&1
    same "micro-batches of 1"
    ordered run precision=$kind steps=9 phased=on >log 2>&1
    "$PRATTLE" train resume run steps=$STEPS phased=off >log 2>&1
    same "nine steps on disk, the rest in memory"
    ordered run precision=$kind steps=9 >log 2>&1
    "$PRATTLE" train resume run steps=$STEPS phased=on --phased on >log 2>&1
    same "the other way round"
done
ordered run precision=float32 >log 2>&1
want=$(remains run)
rm -rf run
# SIGINT stops within a step; what goes on from the newest checkpoint has the same bits.
EXEC=exec ordered run precision=float32 phased=on --phased on >log 2>&1 &
pid=$!
until_saved run
kill -INT $pid
wait $pid
is "a pause leaves no working file" "" "$(working)"
"$PRATTLE" train resume run phased=on >log 2>&1
is "and goes on to the same weights" "$want" "$(remains run)"
rm -rf run
is "three kills" 3 "$(STEPS=60 kill_run run 3 phased=on)"
is "leave no working file" "" "$(working)"
rm -rf run
# No room on the disk: one sentence, and nothing that was there is lost.
ordered run precision=float32 steps=9 >log 2>&1
before=$(remains run 9)
full=$(ulimit -f 16; "$PRATTLE" train resume run steps=$STEPS phased=on 2>&1)
has "a full disk is said" "cannot keep the training weights on disk: no room for " "$full"
is "what was saved stays" "$before" "$(remains run 9)"
"$PRATTLE" train resume run steps=$STEPS phased=on >log 2>&1
is "and serves" "$want" "$(remains run)"
# Memory is what was planned, also while the model for prompts gets the step's weights.
large=(finetune data=$TEXT model.init=random:gpt2 sequence_length=32 micro_batch_size=1 gradient_accumulation=1
    steps=1 epochs=0 save_every=0 eval_every=0 phased=on memory=1.2 folder=large)
planned=$("$PRATTLE" train "${large[@]}" --plan | awk '/^  total / { print $2 }')
peak=$("$PRATTLE" train "${large[@]}" | sed -n 's/.*peak memory \([0-9.]*\) GiB.*/\1/p')
is "a run takes the memory of its plan" "yes" \
    "$(awk -v p="$planned" -v m="$peak" 'BEGIN { print(m > 0.5 && m < 1.1 * p ? "yes" : m " of " p) }')"
rm -rf large
# The memory that a refusal asks for suffices.
for width in 96 112 128 144; do
    little=(finetune data=$TEXT model.init=$MODEL,n_head=4,n_layer=8,n_embd=$width sequence_length=64 micro_batch_size=2
        gradient_accumulation=4 eval_every=0 phased=on folder=little)
    need=$("$PRATTLE" train "${little[@]}" memory=0.01 --plan 2>&1 | sed -n 's/.*one layer at a time needs \([0-9.]*\) GB$/\1/p')
    is "  of $need GB" 0 "$("$PRATTLE" train "${little[@]}" memory="${need:-0.01}" --plan >/dev/null 2>&1; echo $?)"
done
finish
