#!/usr/bin/env bash
# Where a command's time went: a trace that is whole, and the command's own results, unchanged.
. "$(dirname "$0")/lib.sh.inc"
tools=${TOOLS:-$PWD/build/release/tests/tools} schema=$PWD/tests/golden/trace.schema.json
work=$(mktemp -d "$TMPDIR/profile.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
for i in $(seq 60); do echo "Once there was a fox who had $i apples."; done >fox.txt
# check FILE: what the trace has.
check() { "$tools/schema_check" "$schema" "$1" && "$tools/trace_check" "$1"; }
ours() { "$PRATTLE" "$@" --model "$MODEL" --seed 3; }
answer=(generate abc -n 12 --ignore-eos)
step=(data=fox.txt epochs=0 steps=3 sequence_length=16 eval_every=2)
# tokens FILE: the losses of a run, which are of its weights.
losses() { sed -E 's/.*"step":([0-9]+).*"loss":([0-9.]+).*/\1 \2/' "$1/metrics.jsonl" | grep -E '^[0-9]+ [0-9.]+$'; }
weights() { find "$1" -name '*.safetensors' | sort | xargs sha256sum | cut -d ' ' -f 1; }

plain=$(ours "${answer[@]}" 2>/dev/null | sha256sum)
ours train finetune "${step[@]}" folder=plain >/dev/null 2>&1
for threads in 1 2; do
    is "an answer is the same, profiled, $threads threads" "$plain" \
        "$(ours profile a$threads.json "${answer[@]}" --threads $threads 2>table | sha256sum)"
    has "its trace is whole" "command: generate abc, $threads threads, 0 dropped" "$(check a$threads.json)"
    has "with what the threads did" "matrices, head, attention, LayerNorm, sampling, files," \
        "$(check a$threads.json | grep '^thread 0')"
    has "in stages" "pass, sample, embedding, layer," "$(check a$threads.json | grep '^thread 0')"
    has "and the rates" "counters: GFLOP/s GB/s" "$(check a$threads.json)"
    is "each thread has a line" $threads "$(check a$threads.json | grep -c '^thread ')"
    has "a table shows where the time went" "of limit" "$(head -n 1 table)"
    has "and the file" "a$threads.json has " "$(tail -n 1 table)"
    ours profile t$threads.json train finetune "${step[@]}" folder=run$threads --threads $threads >/dev/null 2>&1
    is "weights are the same, profiled, $threads threads" "$(weights plain)" "$(weights run$threads)"
    is "and losses" "$(losses plain)" "$(losses run$threads)"
    has "training has its phases" "forward, loss pass, backward, embedding, layer," \
        "$(check t$threads.json | grep '^thread 0')"
    has "its kernels" "matrices, head, attention, LayerNorm, activation, loss, optimizer," \
        "$(check t$threads.json | grep '^thread 0')"
    has "what is between them" "step, next batch, optimizer step, evaluation, checkpoint, publish weights," \
        "$(check t$threads.json | grep '^caller')"
    has "and its loader" "prepare batch," "$(check t$threads.json | grep '^data loader')"
done
has "threads wait for each other" " waits," "$(check t2.json | grep '^thread')"
figures() { ours "$@" 2>/dev/null | grep ' ± '; }
is "an evaluation is the same" "$(figures eval fox.txt)" "$(figures profile e.json eval fox.txt)"
has "and is a stage" "evaluation," "$(check e.json | grep '^caller')"

# The schema says what a trace is, and refuses each that is none; so does its check of schemas.
broken() { # NAME SED SAYS
    sed -E "$2" a1.json >broken.json
    has "refused: $1" "$3" "$("$tools/schema_check" "$schema" broken.json)"
}
broken "an event without its time" '/"ph":"X"/s/"ts":[0-9.]+,//' ': oneOf: {"ph": "X"'
broken "a phase that is none" 's/"ph":"X"/"ph":"B"/' ': oneOf: {"ph": "B"'
broken "an unknown category" 's/"name":"matrices"/"name":"matrixes"/' '"name": "matrixes"'
broken "an unknown stage" 's/"name":"layer 0"/"name":"layer"/' '"name": "layer"'
broken "a duration below 0" 's/"dur":/&-/' '"dur": -'
broken "an unknown counter" '/"ph":"C"/s/GFLOP/TFLOP/g' '"name": "TFLOP/s"'
broken "another member" 's/"displayTimeUnit"/"samples":[],&/' "/samples: additionalProperties: []"
broken "a sum that is missing" 's/"waits":[0-9.]+\}/"rests":0}/' "/otherData/team_s: required:"
sed 's/"minimum"/"maximum"/' "$schema" >other.json
is "a keyword that is not known is not passed over" "the schema has an unknown keyword maximum" \
    "$("$tools/schema_check" other.json a1.json)"

# What runs in other processes is not in the trace, which is said.
printf 'machine:\n  data: {threads: {regexp: "threads +([0-9]+)"}}\n  repeats: %s\n  cmd: prattle devices --threads 1\n' 2 >two.yaml
sed 's/repeats: 2/repeats: 1/' two.yaml >one.yaml
last() { ours profile b.json bench "$@" --force 2>&1 >/dev/null | tr -s ' \n' ' ' | sed 's/.*opens it //'; }
has "the programs of a benchmark are no part of it" "2 programs that it ran are not in the trace; \`prattle profile FILE COMMAND\` on what one of them does shows where its time goes" "$(last ./two.yaml)"
has "  one" "1 program that it ran is not in the trace;" "$(last ./one.yaml)"
said=$(ours profile b.json eval fox.txt --force 2>&1)
has "  and where there are none" "b.json has" "$said"
is "    nothing is said" "" "$(grep 'in the trace' <<<"$said")"
rm b.json

# Nothing is written over or left behind.
sum=$(sha256sum <a1.json)
refuses() { is "$1" "$2" "$(ours profile "${@:3}" 2>&1)"; }
refuses "a file that is there stays" "a1.json exists already; --force overwrites it" a1.json "${answer[@]}"
is "as it was" "$sum" "$(sha256sum <a1.json)"
ours profile a1.json "${answer[@]}" --force >/dev/null 2>&1
is "force is for the file" no "$([ "$sum" = "$(sha256sum <a1.json)" ] && echo yes || echo no)"
has "which is whole" "0 dropped" "$(check a1.json)"
refuses "a folder" "profile: plain is a folder; name a file" plain "${answer[@]}"
refuses "a folder that is none" "cannot write none/x.json: No such file or directory" none/x.json "${answer[@]}"
refuses "no command" "usage: prattle profile FILE COMMAND; \`prattle help profile\` explains" x.json
refuses "an unknown command" "profile: there is no command evall; did you mean \`eval\`?" x.json evall
refuses "a profile of a profile" "profile cannot profile itself" x.json profile y.json model
refuses "a command of the prompt" "profile: undo works only at the prompt" x.json undo
has "a command that fails says so" "there is no evaluation and no file nothing" \
    "$(ours profile x.json eval nothing 2>&1)"
is "an option that it lacks" "generate does not take --strict" \
    "$(ours profile x.json "${answer[@]}" --strict 2>&1)"
# Refused once the model is there: the same line, corrected, works.
echo "Once" >short.txt
printf '\x01\x00\xff\xff' >odd.bin
for data in nothing short.txt odd.bin; do
    is "training that is refused is not profiled: $data" "1 " \
        "$(ours profile x.json train finetune data=$data >/dev/null 2>&1; echo "$? $(ls -d x.json runs 2>/dev/null)")"
done
ours profile half.json train finetune "${step[@]}" steps=30 learning_rate=1000 max_bad_steps=1 folder=half >/dev/null 2>&1
is "a run that fails later" 1 $?
has "  keeps its trace" "step, next batch," "$(check half.json | grep '^caller')"
has "opening data is a stage of it" "open data," "$(check half.json | grep '^caller')"
is "and nothing is left" "" "$(ls | grep -E 'x.json|y.json|tmp')"

# Stopped: what ran until then is there. Long on any machine.
"$PRATTLE" profile long.json generate abc -n 1000000 --ignore-eos --on-full slide --model "$MODEL" >out 2>table &
pid=$!
for i in $(seq 600); do ls long.json.*.tmp >/dev/null 2>&1 && break; sleep 0.1; done
sleep 1
kill -TERM $pid
wait $pid
is "a signal ends it" 143 $?
has "with the trace so far" "command: generate abc," "$(check long.json)"
has "and its table" "long.json has " "$(cat table)"
finish
