#!/usr/bin/env bash
# Benchmarks by name: run, shown in each format, kept, and compared; what fails, and Ctrl-C.
. "$(dirname "$0")/lib.sh.inc"
export XDG_STATE_HOME=$TMPDIR/state
KEPT=$XDG_STATE_HOME/prattle/benchmarks.jsonl
spec=$TMPDIR/small.yaml
cat >"$spec" <<END
common: &common
  data:
    threads: {regexp: 'threads +([0-9]+)'}
  derived:
    more: {expr: '{threads} * 2 + 0.5'}
  output:
    - [threads, threads]
    - ["", more]
machine:
  <<: *common
  description: a figure that is known
  parameters: {n: '2,1'}
  plot: n
  repeats: 3
  warmup: 1
  cmd: prattle devices --threads {n} --model {model}
tokens:
  data: {id: {regexp: '([0-9]+)', reduction_type: final}}
  repeats: 1
  cmd: prattle tokens "ab c" --model {model}
training:
  data: {step: {regexp: '^step ([0-9]+)/2', reduction_type: max}}
  repeats: 1
  cmd: prattle train finetune data=$TMPDIR/text epochs=0 steps=2 sequence_length=16 micro_batch_size=1 gradient_accumulation=1 eval_every=0 sample_every=0 log_every=1 --model {model}
cache:
  data: {bits: {regexp: '([0-9]+)[a-z ,]* keys'}}
  repeats: 1
  cmd: prattle devices --model {model}
ownq8:
  data: {bits: {regexp: '([0-9]+)[a-z ,]* keys'}}
  repeats: 1
  cmd: prattle devices --model {model} --cache-dtype q8
failing:
  data: {x: {regexp: '([0-9]+)'}}
  cmd: prattle bench traim --model {model}
missing:
  data: {x: {regexp: 'never ([0-9]+)'}}
  cmd: prattle devices --model {model}
END
seq 1 400 >"$TMPDIR/text"
# bench ARGUMENTS...: of that file.
bench() { "$PRATTLE" bench "$spec" "$@" --model $MODEL 2>&1; }
out=$(bench machine --format csv); is "a benchmark runs" 0 $?
is "all combinations, figures that are read and derived" \
    "benchmark,figure,median,unit,mean,deviation,min,max,runs
machine n=2 model=$MODEL,threads,2,threads,2,0,2,2,3
machine n=2 model=$MODEL,more,4.5,,4.5,0,4.5,4.5,3
machine n=1 model=$MODEL,threads,1,threads,1,0,1,1,3
machine n=1 model=$MODEL,more,2.5,,2.5,0,2.5,2.5,3" "$out"
is "each combination is kept" 2 "$(wc -l <"$KEPT")"
has "with all values, the machine and the day" '"figures":{"threads":{"unit":"threads","values":[2.0,2.0,2.0]}' "$(cat "$KEPT")"
out=$(bench tokens repeats=2 --format json)
has "JSON has numbers" '"median": ' "$out"
is "and as many runs as asked for, a whole number" '"runs": 2' "$(grep -o '"runs": [0-9.]*' <<<"$out" | sort -u)"
has "Markdown is a table" "| benchmark " "$(bench tokens --format markdown)"
out=$(bench training); is "training has a folder of its own" 0 $?
has "whose run is read" "training " "$out"

# A run may name programs, in its words or its file: none is started.
mkdir "$TMPDIR/bin"
for program in wandb mpirun ssh; do
    printf '#!/bin/sh\necho "$0" "$@" >>"%s"\n' "$TMPDIR/called" >"$TMPDIR/bin/$program"
done
chmod +x "$TMPDIR"/bin/*
printf 'elsewhere slots=1\n' >"$TMPDIR/hosts"
printf 'logging: {wandb: true}\nexecution: {hosts: %s, replicas: 2}\n' "$TMPDIR/hosts" >"$TMPDIR/run.yaml"
for words in "wandb=on" "hosts=$TMPDIR/hosts" "logging.wandb=on" "$TMPDIR/run.yaml replicas=1"; do
    sed "s|train finetune|& $words|" "$spec" >"$TMPDIR/programs.yaml"
    out=$(PATH=$TMPDIR/bin:$PATH "$PRATTLE" bench "$TMPDIR/programs.yaml" training --model $MODEL 2>&1)
    is "training runs: ${words//"$TMPDIR/"/}" 0 $?
    sleep 0.3
    is "  and starts no other program" "" "$(cat "$TMPDIR/called" 2>/dev/null)"
done
is "and nothing is left" "" "$(ls "$TMPDIR" | grep prattle-bench)"
out=$(bench machine repeats=1 "$TMPDIR/n.svg"); is "a plot" 0 $?
has "is written by gnuplot" "<svg" "$(cat "$TMPDIR/n.svg")"
lines=$(wc -l <"$KEPT")
is "an old picture stays" "$TMPDIR/n.svg exists already; --force overwrites it" "$(bench machine repeats=1 "$TMPDIR/n.svg")"
has "unless forced" "n.svg" "$(bench machine repeats=1 "$TMPDIR/n.svg" --force)"
is "a benchmark without a plot has no picture" "none of the benchmarks has a plot, which a file is for" \
    "$(bench tokens "$TMPDIR/m.svg")"
has "a picture that cannot be written is told" "cannot write $TMPDIR/none/m.svg: " "$(bench machine "$TMPDIR/none/m.svg")"
is "all that before anything is measured" $((lines + 2)) "$(wc -l <"$KEPT")"
sed "s/'2,1'/2/" "$spec" >"$TMPDIR/point.yaml"
err=$("$PRATTLE" bench "$TMPDIR/point.yaml" machine "$TMPDIR/m.svg" --model $MODEL 2>&1); is "a point is no curve" 1 $?
has "which is said" "no picture: fewer than 2 values of n have a result" "$err"

err=$(bench failing tokens); is "a command that fails is an error" 1 $?
has "with its own sentence" "failing: prattle bench failed: there is no benchmark or file traim" "$err"
has "the others run" "tokens" "$(grep -v failing <<<"$err")"
has "and how many failed is counted" "1 measurement failed" "$err"
err=$(bench missing); is "what is not found is an error" 1 $?
has "that names the figure" "missing: x: no number in the output matches its regexp" "$err"
err=$(bench nothing); is "no such benchmark" 1 $?
has "and those there are" "there is no benchmark nothing; the specification has machine, tokens" "$err"
err=$(bench repeats=1000000000); is "a huge count is refused" 1 $?
has "with its limits" "repeats must be a whole number, 1 to 1000, not 1000000000" "$err"
printf '0x10:\n  cmd: prattle devices --threads 1\n  data: {inf: {regexp: "threads +([0-9]+)"}}\n  repeats: 1\n' >"$TMPDIR/names.yaml"
has "names that C takes for numbers are names" '"benchmark": "0x10", "figure": "inf", "median": 1,' \
    "$("$PRATTLE" bench "$TMPDIR/names.yaml" --format json 2>&1 | tr -s ' \n' ' ')"
err=$("$PRATTLE" bench "$TMPDIR/none.yaml" 2>&1); is "a file that is not there is an error" 1 $?
has "which names those that the program has" "none.yaml; the program itself has graphcore-gpt2.yaml, languini.yaml, popxl.yaml" "$err"
is "or where the ending is missing the one that is meant" "there is no benchmark or file languini; did you mean languini.yaml?" \
    "$("$PRATTLE" bench languini --model $MODEL 2>&1)"
has "and runs from anywhere" "the specification has languini_mini," "$(cd /; "$PRATTLE" bench languini.yaml nothing 2>&1)"
printf 'a:\n  cmd: sh -c "touch %s"\n  data: {x: {regexp: x}}\n' "$TMPDIR/touched" >"$TMPDIR/evil.yaml"
err=$("$PRATTLE" bench "$TMPDIR/evil.yaml" 2>&1); is "another program is refused" 1 $?
has "in a sentence" "evil.yaml: a: cmd begins with sh; benchmarks run only prattle's own commands" "$err"
printf 'a:\n  cmd: prattle tokens "$(touch %s) `touch %s`; touch %s" --model {model}\n  data: {x: {regexp: "([0-9]+)"}}\n' \
    "$TMPDIR/touched" "$TMPDIR/touched" "$TMPDIR/touched" >"$TMPDIR/evil.yaml"
"$PRATTLE" bench "$TMPDIR/evil.yaml" repeats=1 --model $MODEL >/dev/null 2>&1; is "and no shell reads a word" 0 $?
is "nothing was touched" 0 "$(ls "$TMPDIR" | grep -c touched)"

# Ctrl-C in a run that would never end: what was measured before is shown and kept.
lines=$(wc -l <"$KEPT")
cat >"$TMPDIR/long.yaml" <<END
short:
  data: {id: {regexp: '([0-9]+)'}}
  repeats: 1
  cmd: prattle tokens ab --model {model}
long:
  data: {x: {regexp: '([0-9]+)'}}
  cmd: prattle train finetune data=$TMPDIR/text epochs=0 steps=100000000 sequence_length=16 --model {model}
END
set -m
"$PRATTLE" bench "$TMPDIR/long.yaml" --model $MODEL >"$TMPDIR/out" 2>"$TMPDIR/err" &
pid=$!
for _ in $(seq 600); do ls -d "$TMPDIR"/prattle-bench-*/run >/dev/null 2>&1 && break; sleep 0.05; done
kill -INT $pid; wait $pid
is "Ctrl-C ends it" 130 $?
has "with what there is" "short" "$(cat "$TMPDIR/out")"
is "which is kept" $((lines + 1)) "$(wc -l <"$KEPT")"
is "no run is left behind" "" "$(pgrep -f "steps=100000000 sequence_length=16 --model $MODEL")$(ls "$TMPDIR" | grep prattle-bench)"

# What keys and values are in belongs to a result.
bits() { bench "$@" --format csv | sed -n 's/^\([^,]*\),bits,\([^,]*\),.*/\1: \2/p'; }
is "the program's choice is not named" "cache model=$MODEL: 16" "$(bits cache)"
is "the session's precision of the cache is, and the benchmark has it" "cache model=$MODEL cache_dtype=q8: 8" "$(bits cache --cache-dtype q8)"
is "a command's own is nearer" "ownq8 model=$MODEL: 8" "$(bits ownq8 --cache-dtype fp32)"
is "weights have theirs" "cache model=$MODEL dtype=fp32 cache_dtype=q8: 8" "$(bits cache --dtype fp32 --cache-dtype q8)"
is "history does not compare different ones" "cache model=$MODEL: bits|cache model=$MODEL cache_dtype=q8: bits" \
    "$("$PRATTLE" bench history --format csv 2>/dev/null | sed -n 's/^\(cache [^,]*\),.*/\1/p' | grep -v ' dtype=' | paste -sd'|')"

# What the session says of the machine is the command's too, and a result's.
cat >"$TMPDIR/machine.yaml" <<END
session: &session
  data: {threads: {regexp: 'threads +([0-9]+)'}}
  repeats: 1
  cmd: prattle devices --model {model}
own: {<<: *session, cmd: 'prattle devices -t 2 --model {model}'}
parameter: {<<: *session, parameters: {n: '2'}, cmd: 'prattle devices --n-threads={n} --model {model}'}
kernels: {<<: *session, data: {kernels: {regexp: 'kernels +(portable)'}}}
END
machine() { "$PRATTLE" bench "$TMPDIR/machine.yaml" session own parameter --format csv --model $MODEL "$@" 2>&1 | sed -n "s| *model=$MODEL||; s/,threads,\([0-9]*\),.*/: \1/p"; }
is "threads of the session" "session threads=1: 1|own: 2|parameter n=2: 2" "$(machine --threads 1 | paste -sd'|')"
is "  and its other settings" "session threads=1 pin=off kernels=portable: 1" "$(machine -t 1 --pin off --kernels portable | head -n 1)"
has "  which the command has" "kernels: found portable, which is not a number" \
    "$("$PRATTLE" bench "$TMPDIR/machine.yaml" kernels --kernels portable --model $MODEL 2>&1)"

# History, of records made up: two machines, two days.
# record DAY MACHINE BENCHMARK VALUES
record() {
    echo '{"date":"'"$1"'T10:00:00Z","machine":"'"$2"'","cpu":"c","threads":2,"spec":"s.yaml","benchmark":"'"$3"'","parameters":{},"command":"prattle bench","figures":{"speed":{"unit":"tokens/s","values":['"$4"']}}}'
}
{
    record 2026-01-01 old quick 101,102,103,104,105
    record 2026-01-01 old same 10,12,14,16
    record 2026-01-01 old few 1,2
    echo 'not a record'
    record 2026-01-02 old quick 111,112,113
    record 2026-01-02 new quick 201,202,203
    record 2026-01-02 new quick 204,205
    record 2026-01-02 new same 11,13,15,17
    record 2026-01-02 new few 3,4
} >"$KEPT"
out=$("$PRATTLE" bench history old/2026-01-01 new --format csv 2>"$TMPDIR/err"); is "two sides are compared" 0 $?
is "by the test of Mann and Whitney" "benchmark,unit,old/2026-01-01,runs,new,runs ,change,p,verdict
quick: speed,tokens/s,103,5,203,5,+97.1 %,0.0079,higher
same: speed,tokens/s,13,4,14,4,+7.7 %,0.6857,noise
few: speed,tokens/s,1.5,2,3.5,2,+133.3 %,0.3333,too few runs to tell" "$out"
has "what is no record is told" "1 line of the file of results is not readable" "$(cat "$TMPDIR/err")"
has "days of one machine need not name it" "benchmark,unit,2026-01-01,runs,2026-01-02,runs " \
    "$("$PRATTLE" bench history old/2026-01-01 old/2026-01-02 --format csv 2>&1)"
has "the other way round" "-49.3 %,0.0079,lower" "$("$PRATTLE" bench history new old/2026-01-01 --format csv 2>&1)"
has "two days" "quick: speed,tokens/s,103,5,201.5,8,+95.6 %,0.0016,higher" \
    "$("$PRATTLE" bench history 2026-01-01 2026-01-02 --format csv 2>&1)"
out=$("$PRATTLE" bench history 2>/dev/null)
has "without sides, the newest and what was before it" "new/2026-01-02" "$out"
has "with what p is" "Mann-Whitney U test, two-sided" "$out"
err=$("$PRATTLE" bench history old 2>&1); is "one side is none" 1 $?
has "but usage" "history [SIDE SIDE|clear]" "$err"
err=$("$PRATTLE" bench history old nowhere 2>&1); is "a side without results" 1 $?
has "is named" "no result is of the day or machine nowhere" "$err"
out=$("$PRATTLE" bench history --last 2 --format csv 2>/dev/null)
is "the newest alone" "benchmark,unit,new/2026-01-02,runs
same: speed,tokens/s,14,4
few: speed,tokens/s,3.5,2" "$out"
err=$("$PRATTLE" bench history clear 2>&1); is "to forget them all" 1 $?
has "is confirmed" "this deletes 8 results: \`prattle bench history clear --force\` confirms" "$err"
has "and they are there" "new/2026-01-02" "$("$PRATTLE" bench history 2>/dev/null)"
is "or they are not" "[8 results discarded]" "$("$PRATTLE" bench history clear --force)"
has "no results yet" "no results yet" "$("$PRATTLE" bench history)"
is "which is an empty list for programs" "[]" "$("$PRATTLE" bench history --format json)"

for f in repl/bench/specs/*.yaml; do
    has "$(basename "$f") is valid" "the specification has" "$("$PRATTLE" bench "$f" nothing 2>&1)"
done
is "benchmarks of training have their presets' names" "" "$(awk '/_train_gen:$/ {name = $1; sub(/_train_gen:/, "", name); gsub(/_/, "-", name)}
    /^ *prattle train / && $3 != name {print name " runs " $3}' repl/bench/specs/*.yaml)"
finish
