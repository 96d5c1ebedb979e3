#!/usr/bin/env bash
# seconds: 600
# Prompts and evaluations by several processes: the same answers in the same order, the same figures.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
own=$PWD/tests/golden/eval questions=$PWD/tests/cli/data/questions.jsonl
head -n 40 LICENSE | grep . >"$TMPDIR/prompts"
cd "$TMPDIR" || exit 1

# same NAME FILE FILE: with the same in them, and with something.
same() { is "$1" "" "$(diff -a "$2" "$3" 2>&1; [ -s "$2" ] || echo "nothing in $2")"; }
answer() { "$@" --model $MODEL --seed 5 -n 20 --ignore-eos --temperature 2; }
answer "$PRATTLE" <prompts >want 2>err
for n_ranks in 1 3; do
    answer ranks $n_ranks <prompts >got 2>err
    same "answers by $n_ranks under mpirun" want got
done
is "with nothing else to say" "" "$(cat err)"
# own_words FILE: without what mpirun's version 5 says of the status.
own_words() { sed -i '/^-----/,/^-----/d' "$1"; }
# Answers of each line as many as it says, and lines that are wrong.
i=0
while read -r line; do
    i=$((i + 1))
    case $((i % 7)) in 3) echo '{"prompt": 3}' ;; *) echo "{\"prompt\": \"line $i\", \"num_return_sequences\": $((i % 3 + 1)), \"on_full\": \"stop\"}" ;; esac
done <prompts >lines.jsonl
answer "$PRATTLE" --jsonl <lines.jsonl >want 2>err
answer ranks 3 --jsonl <lines.jsonl >got 2>err3
same "JSON lines, wrong ones among them" want got
own_words err3
same "which are counted" err err3
printf 'one\n%s\nthree\n' "$(head -c 3000 /dev/zero | tr '\0' a)" >long
answer "$PRATTLE" --on_full=stop <long >want 2>err
answer ranks 2 --on_full=stop <long >got 2>err2
same "a line that fails" want got
own_words err2
same "  says so in its place" err err2
answer ranks 2 batch prompts answers >/dev/null 2>err
answer "$PRATTLE" <prompts >want
same "a file into a file" want answers
is "no random seed of one's own" 1 "$(ranks 3 --model $MODEL -n 8 <prompts 2>/dev/null | wc -l | grep -c "^$(wc -l <prompts)$")"
answer "$PRATTLE" -p Once >want
answer ranks 2 -p Once >got 2>/dev/null
same "one prompt is answered once" want got
has "save_samples is refused" "save_samples is not for several processes" \
    "$(answer ranks 2 --save_samples x <prompts 2>&1)"
for i in $(seq 200); do cat prompts; done >many_prompts
is "a reader that leaves" 2 "$(answer ranks 2 batch "$TMPDIR/many_prompts" 2>/dev/null | head -n 2 | wc -l)"
is "  leaves nobody behind" 0 "$(gone "$TMPDIR/many")"

# One that is told to end: what the others would answer behind its lines would be for nothing.
for i in $(seq 40); do cat many_prompts; done >endless_prompts
ranks 3 --model $MODEL -n 200 --ignore-eos batch endless_prompts >some 2>err & launcher=$!
for _ in $(seq 300); do find_processes && [ -s some ] && break; sleep 0.1; done
kill -TERM "${ranks[1]}"
for _ in $(seq 300); do kill -0 $launcher 2>/dev/null || break; sleep 0.1; done
has "one that is told to end ends all" "[stopped after the answers to " "$(cat err)"
kill -KILL "$mpirun" 2>/dev/null
wait $launcher

figures() { grep -oE '"(loss|perplexity|adjusted_perplexity|bits_per_byte|accuracy|acc|acc_norm|acc_token|top_1|targets|tokens|correct)": *(\{[^}]*\}|[0-9]+)' <<<"$1"; }
for at in "2 wikitext $own/wiki.txt" "3 lambada $own/lambada.jsonl" "3 text $TEXT" "2 choice $questions"; do
    n_ranks=${at%% *} what=${at#* }
    want=$(figures "$("$PRATTLE" eval $what --json -m $MODEL)")
    got=$(ranks $n_ranks eval $what --json -m $MODEL 2>err) status=$?
    is "eval ${what%% *} by $n_ranks" "0 ${want:-no figures to compare}" "$status $(figures "$got")"
done
# What ends by itself at once needs no second of mpirun's for that.
export OMPI_MCA_odls_base_sigkill_timeout=0
has "a file that is not there" "cannot open nowhere.txt: No such file" "$(ranks 2 eval text nowhere.txt -m $MODEL 2>&1)"
# Each process reads the file of its own host.
mkdir first second
cp "$own/lambada.jsonl" first/other.jsonl
cat "$own/lambada.jsonl" first/other.jsonl >second/other.jsonl
sed '1s/the/a/' first/other.jsonl >first/word.jsonl
cp first/other.jsonl second/word.jsonl
cp first/other.jsonl first/wrong.jsonl
(head -n 3 first/other.jsonl; echo '{"text": 3}') >second/wrong.jsonl
# apart FOLDER FOLDER WORDS...: an evaluation by two processes, each in its folder.
apart() {
    local folders="$1 $2"; shift 2
    each 2 "set -- $folders; [ \$OMPI_COMM_WORLD_RANK = 0 ] || shift; cd \$1; exec timeout 60 $PRATTLE eval $* -m $MODEL" 2>&1 |
        sed '/^-----/,/^-----/d' # what version 5 says of the status
    echo "${PIPESTATUS[0]}"
}
is "a file that is longer on another host" "rank 1 on $(hostname): the tokens of other.jsonl are not the same as on rank 0
1" "$(apart first second lambada other.jsonl)"
is "  or shorter" "rank 1 on $(hostname): the tokens of other.jsonl are not the same as on rank 0
1" "$(apart second first lambada other.jsonl)"
is "  or of other words" "rank 1 on $(hostname): the tokens of word.jsonl are not the same as on rank 0
1" "$(apart first second lambada word.jsonl)"
is "  or of which some are at fault there" "rank 1 on $(hostname): wrong.jsonl line 4: expected an object whose field text is a string
1" "$(apart first second lambada wrong.jsonl)"
is "  or on the first" "wrong.jsonl line 4: expected an object whose field text is a string
1" "$(apart second first lambada wrong.jsonl)"
# two WORDS WORDS: of two processes, each with its own; the first line that says what is wrong.
two() {
    each 2 "[ \$OMPI_COMM_WORLD_RANK = 0 ] && exec timeout 60 '$PRATTLE' $1; exec timeout 60 '$PRATTLE' $2" <prompts 2>&1 |
        grep -a '^rank' | head -n 1
}
one="-m $MODEL --seed 5 -n 3 --ignore-eos" other="rank 1 on $(hostname):"
is "other options of prompts" "$other its settings are others: temperature: 2, and on rank 0 temperature: 0.8" "$(two "$one" "$one --temperature 2")"
is "  another form" "$other its settings are others: jsonl: on, and on rank 0 jsonl: off" "$(two "$one" "$one --jsonl")"
is "  another precision" "$other its settings are others: dtype: fp32, and on rank 0 dtype: auto" "$(two "$one" "$one --dtype fp32")"
is "  another model" "$other not the same weights as on rank 0" "$(two "$one" "$one -m $MODEL@7")"
same_as_one() { # NAME WORDS
    is "$1" "$("$PRATTLE" $one <prompts)" "$(each 2 "[ \$OMPI_COMM_WORLD_RANK = 0 ] && exec timeout 60 '$PRATTLE' $one; exec timeout 60 '$PRATTLE' $2" <prompts 2>/dev/null)"
}
same_as_one "  but each its threads" "$one --threads 1 --speculate off --color off --no-keep-results"
task="$other it has another command:"
is "one text for one of them" "$task --prompt, and rank 0 prompts" "$(two "$one" "$one -p x")"
is "  or for the first" "$task prompts, and rank 0 --prompt" "$(two "$one -p x" "$one")"
is "other evaluations" "$task eval text, and rank 0 eval kl" "$(two "eval kl ./m first/other.jsonl" "eval text first/other.jsonl")"
is "  their history" "$task eval history, and rank 0 eval text" "$(two "eval text first/other.jsonl" "eval history")"
is "  help" "$task eval text --help, and rank 0 eval text" "$(two "eval text first/other.jsonl" "eval text first/other.jsonl --help")"
measure="eval lambada first/other.jsonl -m $MODEL --seed 5"
is "other options of an evaluation" "$other its settings are others: limit: 2, and on rank 0 limit: 0" "$(two "$measure" "$measure --limit 2")"
is "  another model" "$other not the same weights as on rank 0" "$(two "$measure" "$measure -m $MODEL@7")"
finish
