#!/usr/bin/env bash
# However the program ends, no thread of its team is there any more while its libraries are torn
# down: one that runs then may read what has been freed.
. "$(dirname "$0")/lib.sh.inc"
tools=${TOOLS:-$PWD/build/release/tests/tools} preload=$TMPDIR/threads.so
cc -shared -fPIC -o "$preload" tests/cli/data/threads.c -ldl || { echo "not ok 1 - cc makes threads.so"; exit 1; }
export THREADS=$TMPDIR/threads
# Of a library's own threads there are none.
export OPENBLAS_NUM_THREADS=1
# A leader and three that follow.
team=4
# left NAME STATUS LEAST STATUS: of a program that has started LEAST threads or more
left() {
    local started left
    read -r started left <"$THREADS"
    is "$1: it ends with $2, having started $3 threads, and is alone" "$2 yes 1" \
        "$4 $( ((started >= $3)) && echo yes || echo "$started") $left"
    rm -f "$THREADS"
}
# ends NAME STATUS LEAST ARGUMENT...
ends() {
    LD_PRELOAD=$preload timeout 60 "$PRATTLE" --threads $team "${@:4}" >"$TMPDIR/out" 2>&1 </dev/null
    left "$1" "$2" "$3" $?
}
for i in $(seq 40); do echo "Once there was a fox who had $i apples."; done >"$TMPDIR/fox.txt"
cd "$TMPDIR" || exit 1

LD_PRELOAD=$preload env -u OPENBLAS_NUM_THREADS "$PRATTLE" --threads $team $MODEL -n 4 -p abc >/dev/null 2>&1 </dev/null
is "an answer starts the team, and no library's threads" "$team 1" "$(cat "$THREADS")"
ends "one answer" 0 $team $MODEL -n 4 -p abc
ends "a batch" 0 $team batch fox.txt --model $MODEL -n 4
ends "evaluation" 0 $team eval fox.txt --model $MODEL
ends "training" 0 $team train finetune data=fox.txt epochs=0 steps=2 sequence_length=16 folder=run --model $MODEL
ends "and going on" 0 $team train resume run steps=3
ends "a run that is there" 1 0 train finetune data=fox.txt epochs=0 steps=2 sequence_length=16 folder=run --model $MODEL
ends "a prompt that is too long" 1 $team $MODEL -p "$(head -c 1000 /dev/zero | tr '\0' a)"
ends "a batch with a line that is wrong" 1 $team batch <(printf '%s\n' '{' '{"prompt": "a"}') --jsonl -n 4 --model $MODEL
ends "an error before there is a model" 1 0 /nowhere -p abc
ends "no such option" 1 0 --nosuch
ends "help" 0 0 help

rm out
LD_PRELOAD=$preload "$PRATTLE" --threads $team $MODEL -n 1000000 --on-full slide --ignore-eos -p abc >out 2>&1 &
for _ in $(seq 600); do [ -s out ] && break; sleep 0.05; done
kill -TERM $!
wait $!
left "SIGTERM" 143 $team $?

printf '%s\n' 'size 80 24' shell "> LD_PRELOAD=$preload exec \"\$PRATTLE\" $MODEL --threads $team -n 4 --seed 1" 'expect :help' \
    '> abc' 'expect 4 new' '> :quit' 'exit 0' >quit.txt
"$tools/transcript" quit.txt >/dev/null
left ":quit at the prompt" 0 $team $?
mkdir "$TMPDIR/limit"
is "a limit on the size of files is an error of writing" "1 cannot write $TMPDIR/limit/x.gguf: File too large" \
    "$(ulimit -f 20; said=$("$PRATTLE" convert $MODEL "$TMPDIR/limit/x.gguf" 2>&1); echo "$? ${said#prattle: }")"
is "  which leaves nothing" "" "$(ls "$TMPDIR/limit")"
# A standard file that is closed stays closed: no file of the program's own is opened in its place.
seq 1 200 >"$TMPDIR/closed.txt"
is "without standard output there are no answers" "1 cannot write to standard output: Bad file descriptor" \
    "$(said=$("$PRATTLE" $MODEL -n 4 -p abc 2>&1 >&-); echo "$? $said")"
is "nor prompts without standard input" "1 cannot read the prompts: Bad file descriptor" \
    "$(said=$("$PRATTLE" $MODEL -n 4 2>&1 <&-); echo "$? $said")"
"$PRATTLE" train finetune init=$MODEL data="$TMPDIR/closed.txt" steps=3 sequence_length=32 eval_every=0 folder="$TMPDIR/closed" <&- >&- 2>&-
is "a run's lock has the number of a process" "" "$(tr -d '0-9\n' <"$TMPDIR/closed/lock")"
# Stacks.
is "a small stack is no obstacle where it may grow" 0 "$(ulimit -S -s 200; "$PRATTLE" $MODEL -n 4 -p abc >/dev/null; echo $?)"
is "and said where it may not" "1 the stack may have 200 KB (\`ulimit -s\`), and the program needs 1024 KB" \
    "$(ulimit -s 200; said=$("$PRATTLE" $MODEL -n 4 -p abc 2>&1); echo "$? $said")"
finish
