#!/usr/bin/env bash
# seconds: 300
# What several processes do together, profiled: rank 0's trace, the others' work as ever.
. "$(dirname "$0")/../cli/lib.sh.inc"
STEPS=3
. tests/mpi/mpi.sh.inc
tools=${TOOLS:-$PWD/build/release/tests/tools} schema=$PWD/tests/golden/trace.schema.json
cd "$TMPDIR" || exit 1
for i in $(seq 60); do echo "Once there was a fox who had $i apples."; done >fox.txt
step=(train finetune data=fox.txt epochs=0 steps=3 sequence_length=16 micro_batch_size=1 global_batch_size=4
    gradient_blocks=2 eval_every=2 --model "$MODEL" --seed 3)
weights() { find "$1" -name '*.safetensors' | sort | xargs sha256sum | cut -d ' ' -f 1; }
check() { "$tools/schema_check" "$schema" "$1" && "$tools/trace_check" "$1"; }
traced() {
    is "$1: the weights are the same" "$(weights plain)" "$(weights "$3")"
    has "  the trace is whole" "command: train finetune" "$(check "$2")"
    has "  with the training's phases" "forward, loss pass, backward, embedding, layer," "$(check "$2" | grep '^thread 0')"
    has "  and its steps" "step, next batch, optimizer step, evaluation, checkpoint," "$(check "$2" | grep '^caller')"
    has "  of one rank, which is said" "of rank 0, of 2 ranks; $2 has " "$(tail -n 1 "$4")"
    is "  once" 1 "$(grep -c ' spans: ' "$4")"
    has "  what goes between processes is a category" " exchange," "$(check "$2" | grep '^caller')"
    has "  of the table too" $'\nexchange ' "$(cat "$4")"
}
"$PRATTLE" "${step[@]}" folder=plain >/dev/null 2>&1
# A rank that would wait for one that has gone: it is ended then.
EXEC="timeout 60" ranks 2 profile mpirun.json "${step[@]}" folder=by-mpirun >/dev/null 2>err
is "under mpirun" 0 $?
traced "under mpirun" mpirun.json by-mpirun err
"$PRATTLE" profile own.json "${step[@]}" replicas=2 folder=launched >/dev/null 2>err
is "launched" 0 $?
traced "launched" own.json launched err

# lanes NAME LAYOUT...: which of the caller and thread 0 exchange.
lanes() {
    "$PRATTLE" profile "$1.json" "${step[@]}" "${@:2}" folder="$1" >/dev/null 2>"$1.err"
    check "$1.json" | sed -n 's/ 0:.* exchange,.*//p; s/^\(caller\):.* exchange,.*/\1/p' | paste -sd ' '
}
is "one process exchanges nothing" "" "$(lanes one)"
hasnt() { is "$1" 0 "$(grep -c "$2" "$3")"; }
hasnt "  which is no row of its table" "^exchange " one.err
is "stages do, between jobs" caller "$(lanes stages layers_per_device=[1,1] gradient_blocks=1)"
is "replicas of a state in parts, between layers too" "caller thread" "$(lanes parts replicas=2 zero=2)"
is "shards, within layers" "caller thread" "$(lanes shards tensor_parallel=2 gradient_blocks=1)"

# Before anything runs, on all ranks.
sum=$(sha256sum <own.json)
is "an old trace stays" "own.json exists already; --force overwrites it" \
    "$("$PRATTLE" profile own.json "${step[@]}" replicas=2 folder=none 2>&1)"
has "  under mpirun" "own.json exists already; --force overwrites it" \
    "$(EXEC="timeout 60" ranks 2 profile own.json "${step[@]}" folder=none 2>&1)"
is "  as it was, and no run begins" "$sum no" "$(sha256sum <own.json) $([ -e none ] && echo yes || echo no)"
"$PRATTLE" profile own.json "${step[@]}" replicas=2 folder=forced --force >/dev/null 2>&1
is "  unless forced" "0 other" "$? $([ "$sum" == "$(sha256sum <own.json)" ] && echo same || echo other)"
has "an evaluation of several" "of rank 0, of 2 ranks; eval.json has" \
    "$(EXEC="timeout 60" ranks 2 profile eval.json eval fox.txt --model "$MODEL" 2>&1 >/dev/null)"
has "what rank 0 does alone" "1 thread; model.json has" \
    "$(EXEC="timeout 60" ranks 2 profile model.json model --model "$MODEL" 2>&1 >/dev/null)"
has "a command that is none" "profile: there is no command trian; did you mean \`train\`?" \
    "$(EXEC="timeout 60" ranks 2 profile x.json trian 2>&1)"
# A rank that is lost ends the others at once.
set -m
"$PRATTLE" profile lost.json "${step[@]}" steps=1000000 save_every=20 replicas=2 folder=lost >/dev/null 2>err &
launcher=$!
until_newer lost "" && find_processes && kill -9 "${ranks[1]}"
wait $launcher
has "a rank is lost" "rank 1 (" "$(cat err)"
is "nothing else is left" "" "$(ls | grep -E "x.json|lost.json|tmp\$")"
finish
