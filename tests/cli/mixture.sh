#!/usr/bin/env bash
# Training on several sources whose weights change on the way: what is said of them, what is
# refused, and that a run which was stopped ends as one that was not.
. "$(dirname "$0")/lib.sh.inc"
. tests/cli/train.sh.inc
cd "$TMPDIR" || exit 1
mkdir books
for i in $(seq 40); do echo "The hen number $((i * i % 17)) sings in the rain, and the cow listens." >>books/hen.txt; done
for i in $(seq 40); do echo "A boat sails on the lake with $((i % 9)) cats and $((i % 7)) dogs aboard." >>books/boat.txt; done
for i in $(seq 60); do echo "One two three $i." >>easy.txt; done
cat >mixed.yaml <<'END'
data:
  - {path: books/, weight: 0.5, until: 0.8}
  - {path: fox.txt, weight: 0.3}
  - path: easy.txt
    weight: 1.0
    from: 0.8
training: {steps: 60, sequence_length: 48, micro_batch_size: 2, gradient_accumulation: 2, seed: 7}
schedule: {learning_rate: 3e-3}
logging: {log_every: 10, eval_every: 20, sample_every: 0}
checkpoint: {save_every: 7, keep_last: 20}
END
STEPS=60
mixed() {
    local folder=$1; shift
    ${EXEC:-} "$PRATTLE" train mixed.yaml folder="$folder" --model $MODEL --seed 3 "$@"
}
# The lines of the plan on the sources, a blank between words.
sources() { sed -n '/^sources of/,/^  time/p' | grep -v '^  time' | sed 's/  */ /g'; }
plan=$(mixed planned --plan)
has "a plan has the sources" "sources of the data
 books/ 4" "$(sources <<<"$plan")"
has "and their shares by phase" " steps 1 to 48
 books/ 62.5 %, read " "$(sources <<<"$plan")"
has "of those drawn at the time" " steps 49 to 60
 fox.txt 23.1 %, read " "$(sources <<<"$plan")"
has "and how often each is read" " easy.txt 76.9 %, read " "$(sources <<<"$plan")"
is "an epoch is as many windows as they have together" \
    "$(sed -n 's/.*tokens, *\([0-9]*\) windows, read.*/\1/p' <<<"$plan" | awk '{n += $1} END {print n}')" \
    "$(sed -n 's/.*an epoch: [0-9]* tokens, \([0-9]*\) windows.*/\1/p' <<<"$plan")"
is "the same from the command line" "$(sources <<<"$plan")" \
    "$(mixed planned data=books/:0.5:..0.8,fox.txt:0.3,easy.txt:1:0.8.. --plan | sources)"

mixed whole >log 2>err
is "a run of them ends well" "0 " "$? $(cat err)"
has "with a validation loss, of all" "validation" "$(grep '^step 20/60' log)"
last=$(tail -n 1 whole/metrics.jsonl)
is "metrics name the sources" "books/ fox.txt easy.txt" \
    "$(sed 's/.*"sources":{\([^}]*\)}.*/\1/; s/"\([^"]*\)":[^,]*/\1/g; s/,/ /g' <<<"$last")"
has "status, too" "source easy.txt: read " "$("$PRATTLE" train status whole)"
is "each as often as was planned" \
    "$(sed -n 's/^  \([a-z.\/]*\) .* tokens, .*, read \([0-9.]*\) times/\1 \2/p' <<<"$plan")" \
    "$("$PRATTLE" train status whole | sed -n 's/^  source \(.*\): read \(.*\) times/\1 \2/p')"

mixed parts micro_batch_size=1 gradient_accumulation=4 --threads 1 >/dev/null
is "other micro-batches draw the same windows" "$(grep -o '"sources":{[^}]*}' whole/metrics.jsonl)" \
    "$(grep -o '"sources":{[^}]*}' parts/metrics.jsonl)"
mixed one --threads 1 >/dev/null
is "one thread, the same bits" "$(remains whole)" "$(remains one)"
# From every checkpoint, in the middle of phases and at their ends.
cp -a whole again
for step in 49 42 14 7; do
    "$PRATTLE" train resume again/step-0000$(printf %02d $step) --threads 2 >/dev/null
    is "from step $step on the same bits" "$(remains whole)" "$(remains again)"
    is "and figures" "$(grep -oE '"(step|loss|epoch|sources)":[^,]*' whole/metrics.jsonl)" \
        "$(grep -oE '"(step|loss|epoch|sources)":[^,]*' again/metrics.jsonl)"
done
# Killed, and stopped by Ctrl-C, wherever that is.
EXEC=exec mixed killed gradient_accumulation=30 save_every=1 steps=40 keep_last=2 >/dev/null 2>&1 &
pid=$!
until_saved killed
kill -9 $pid 2>/dev/null; { wait $pid; } 2>/dev/null
"$PRATTLE" train resume killed >/dev/null
mixed unhurt gradient_accumulation=30 save_every=1 steps=40 keep_last=2 >/dev/null
is "killed and gone on with: the same bits" "$(remains unhurt 40)" "$(remains killed 40)"
set -m
EXEC=exec mixed stopped gradient_accumulation=30 save_every=1 steps=40 keep_last=2 >/dev/null 2>&1 &
pid=$!
until_saved stopped
kill -INT $pid 2>/dev/null; { wait $pid; } 2>/dev/null
set +m
"$PRATTLE" train resume stopped >/dev/null
is "Ctrl-C and gone on with: the same bits" "$(remains unhurt 40)" "$(remains stopped 40)"

mv books tales
has "sources may lie elsewhere" "step 50/60" \
    "$("$PRATTLE" train resume again/step-000049 data=tales:0.5:..0.8,fox.txt:0.3,easy.txt:1:0.8.. 2>&1)"
mv tales books
has "weights stay" "cannot become books/:0.6:..0.8,fox.txt:0.3,easy.txt:1:0.8..: paths may change" \
    "$("$PRATTLE" train resume one data=books/:0.6:..0.8,fox.txt:0.3,easy.txt:1:0.8.. 2>&1)"
has "and their phases" "the run cannot become longer or shorter: FROM..UNTIL" \
    "$("$PRATTLE" train resume one steps=90 2>&1)"
has "but for what is ahead" "step 66/66" "$("$PRATTLE" train resume whole/step-000042 steps=66 2>&1)"
echo "More." >>easy.txt
has "and what is in them" "the data has changed since the checkpoint" "$("$PRATTLE" train resume one 2>&1)"

# refused NAME SENTENCE ARGUMENTS...
refused() {
    local out
    out=$("$PRATTLE" train mixed.yaml folder=never --model $MODEL "${@:3}" 2>&1)
    is "$1" "1 $2" "$? $(tail -n 1 <<<"$out")"
}
refused "a weight below 0" "data: fox.txt:-1: weight must be 0 to 1000000000, not -1" data=fox.txt:-1,easy.txt:1
refused "one that is no number" "data: fox.txt:nan: weight must be 0 to 1000000000, not NaN" data=fox.txt:nan
refused "weights for some" "data: fox.txt has a weight and easy.txt has none: give a weight to each source or to none" data=fox.txt:1,easy.txt
refused "a gap" "no source of the data has a weight above 0 in steps 31 to 40" data=fox.txt:1:..30,easy.txt:1:40..
refused "nothing at all" "no source of the data has a weight above 0 in steps 1 to 60" data=fox.txt:0,easy.txt:0
refused "a part of no known length" "fox.txt is drawn in a fraction of the run, whose length is not known: give FROM and UNTIL in steps, or set training.steps or training.epochs" \
    data=fox.txt:1:..0.5,easy.txt:1:0.5.. steps=0 budget_hours=1
refused "a file that is not there" "cannot open none.txt: No such file or directory" data=fox.txt:1,none.txt:1
echo "Short." >short.txt
refused "a source of less than a window" "short.txt has 8 tokens for training, expected at least 49 for a window of 48: more text, or a sequence_length of at most 7" \
    data=fox.txt:1,short.txt:1 validation_fraction=0
printf 'data:\n  - path: fox.txt\n    weigth: 1\n' >bad.yaml
has "an unknown key, with its line" "bad.yaml line 3: there is no weigth in an item of the list; did you mean weight?" \
    "$("$PRATTLE" train bad.yaml --model $MODEL 2>&1)"
printf '{"data": [{"path": "fox.txt", "weight": 1},\n {"path": "easy.txt", "weight": -2}]}' >bad.json
has "a bad weight, with its line" "bad.json line 2: weight must be 0 to 1000000000, not -2" "$("$PRATTLE" train bad.json --model $MODEL 2>&1)"
printf 'steps: 40\ndata:\n  - {path: fox.txt, weight: 1, until: 0.5}\n' >bad.yaml
has "a gap, with its line" "bad.yaml line 2: no source of the data has a weight above 0 in steps 21 to 40" \
    "$("$PRATTLE" train bad.yaml sequence_length=48 folder=never --model $MODEL 2>&1)"
has "in a plan, too" "bad.yaml line 2: no source of the data has a weight above 0 in steps 21 to 40" \
    "$("$PRATTLE" train bad.yaml sequence_length=48 --plan --model $MODEL 2>&1)"
is "and no folder is left" no "$([ -e never ] && echo yes || echo no)"
has "a pattern is a source" "books/*.txt 4" "$(mixed planned "data=books/*.txt:1,fox.txt:1" --plan | sources)"
cp fox.txt fox:1
has "a file may be called as a weight is" "step 2/2" "$(mixed odd data=fox:1 steps=2 2>&1)"
finish
