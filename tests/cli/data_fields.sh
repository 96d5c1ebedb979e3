#!/usr/bin/env bash
# Data sets as they are downloaded: templates and a field's name say what is read and learned of a line.
. "$(dirname "$0")/lib.sh.inc"
. tests/mpi/mpi.sh.inc
cd "$TMPDIR" || exit 1
for i in $(seq 40); do
    q="What is $i and $((i * i % 7))?" a="It is $((i + i * i % 7))." c=
    ((i % 2)) && c="Be \\\"brief\\\"."
    echo "{\"question\": \"$q\", \"answer\": \"$a\"}" >&3
    echo "{\"prompt\": \"Q: $q\\nA:\", \"completion\": \" $a\"}" >&4
    echo "{\"output\": \"$a\", \"instruction\": \"$q\", \"input\": \"$c\", \"text\": \"all of it\"}" >&5
    echo "{\"prompt\": \"$q\\n$c\\nAnswer:\", \"completion\": \" $a\"}" >&6
    echo "{\"content\": \"$q $a\", \"stars\": $i}" >&7
    echo "{\"text\": \"$q $a\"}" >&8
done 3>gsm8k.jsonl 4>gsm8k.pairs.jsonl 5>alpaca.jsonl 6>alpaca.pairs.jsonl 7>reviews.jsonl 8>reviews.text.jsonl
run() { # FOLDER DATA [WORD...]
    "$PRATTLE" train init=$MODEL folder="$1" data="$2" steps=4 sequence_length=32 micro_batch_size=2 log_every=1 "${@:3}" 2>&1
}
weights() { sha256sum <"$1/$(ls "$1" | grep step- | tail -n 1)/model.safetensors"; }
GSM=('prompt_template=Q: {question}\nA:' 'completion_template= {answer}')
ALPACA=('prompt_template={instruction}\n{input}\nAnswer:' 'completion_template= {output}')
run gsm gsm8k.jsonl "${GSM[@]}" >log
run want gsm8k.pairs.jsonl >log2
is "questions and answers are prompts and completions" "$(weights want)" "$(weights gsm)"
is "  of which the same is said" "$(grep counts log2)" "$(grep counts log)"
run alpaca alpaca.jsonl "${ALPACA[@]}" >log
run other alpaca.pairs.jsonl >log2
is "instructions with inputs too" "$(weights other)" "$(weights alpaca)"
is "  which a text beside them does not change" "$(grep counts log2)" "$(grep counts log)"
run reviews reviews.jsonl field=content >log
run texts reviews.text.jsonl >log2
is "a field of another name is a text" "$(weights texts)" "$(weights reviews)"
gzip -k gsm8k.jsonl && tar -cf set.tar gsm8k.jsonl
run packed gsm8k.jsonl.gz "${GSM[@]}" >log
is "compressed lines" "$(weights want)" "$(weights packed)"
run tar set.tar "${GSM[@]}" >log
is "lines of an archive" "$(weights want)" "$(weights tar)"
run all gsm8k.jsonl completion_only_loss=off "${GSM[@]}" >log
run all2 gsm8k.pairs.jsonl completion_only_loss=off >log
is "what counts is said as for pairs" "$(weights all2)" "$(weights all)"
run apart gsm8k.jsonl validation=gsm8k.jsonl "${GSM[@]}" >log
run apart2 gsm8k.pairs.jsonl validation=gsm8k.pairs.jsonl >log2
is "validation data is read so" "$(grep -o 'validation loss.*' log2)" "$(grep -o 'validation loss.*' log)"
has "  and measured" "validation loss" "$(cat log)"
run mix gsm8k.jsonl:0.6,alpaca.jsonl:0.4 'prompt_template={instruction}{question}' "${GSM[1]}" >log
has "a line of a mixture must have all fields" "gsm8k.jsonl line 1: there is no field instruction, which prompt_template names; it has question, answer" "$(cat log)"
sed -i 's/instruction/question/; s/output/answer/' alpaca.jsonl && cat >mix.yaml <<'END'
data:
  prompt_template: "Q: {question}\nA:"
  completion_template: " {answer}"
END
run mix gsm8k.jsonl:0.6,alpaca.jsonl:0.4 mix.yaml >log
run mix2 gsm8k.jsonl:0.6,alpaca.jsonl:0.4 "${GSM[@]}" >log
is "sources of a mixture, and templates of a file" "$(weights mix)" "$(weights mix2)"
has "--plan reads them" "the loss counts completions: " "$(run none gsm8k.jsonl "${GSM[@]}" --plan)"
TEXT=gsm8k.jsonl STEPS=4 many 2 some micro_batch_size=1 mix.yaml >log 2>&1
TEXT=gsm8k.pairs.jsonl STEPS=4 one alone micro_batch_size=2 >log2 2>&1
is "two processes" "$(weights alone)" "$(weights some)"

# A run keeps them.
has "a run goes on with its templates" "[finished at step 5" "$("$PRATTLE" train resume gsm steps=5 2>&1)"
"$PRATTLE" train resume want steps=5 >log 2>&1
is "  to the same weights" "$(weights want)" "$(weights gsm)"
has "  and does not change them" 'completion_template was " {answer}" in this run and cannot become {answer}' \
    "$("$PRATTLE" train resume gsm steps=6 'completion_template={answer}' 2>&1)"
has "  nor the field" "field was content in this run and cannot become text" "$("$PRATTLE" train resume reviews steps=6 field=text 2>&1)"

# What cannot be.
has "a completion without a field" 'completion_template must name a field in braces, as in " {answer}", not " answer"' "$(run none gsm8k.jsonl 'completion_template= answer')"
has "  or empty" 'as in " {answer}", not ""' "$(run none gsm8k.jsonl completion_template=)"
has "a field without a name" "field must be the name of a field" "$(run none gsm8k.jsonl field=)"
has "a name that no line has" "there is no field reply, which completion_template names; it has question, answer" "$(run none gsm8k.jsonl "${GSM[0]}" 'completion_template={reply}')"
has "a number" "expected a field stars that is a string, not a number; completion_template names it" "$(run none reviews.jsonl 'prompt_template={content}' 'completion_template={stars}')"
has "names of other programs" "that of TRL SFTTrainer is data.prompt_template, data.completion_template here" "$(run none gsm8k.jsonl formatting_func=f)"
run named reviews.jsonl dataset_text_field=content >log
is "  that are the same here" "$(weights texts)" "$(weights named)"

# An evaluation, and what looks at data.
AS=(--data-prompt-template 'Q: {question}\nA:' --data-completion-template ' {answer}')
measured() { "$PRATTLE" eval text "$@" --model $MODEL --json 2>&1 | grep -oE '"figures": .*"targets": [0-9]+'; }
has "eval text measures" '"loss"' "$(measured gsm8k.pairs.jsonl)"
is "  the same of what templates read" "$(measured gsm8k.pairs.jsonl)" "$(measured gsm8k.jsonl "${AS[@]}")"
is "  and of a field" "$(measured reviews.text.jsonl)" "$(measured reviews.jsonl --data-field content)"
has "  which its result says" ", of the field content" "$("$PRATTLE" eval text reviews.jsonl --data-field content --model $MODEL --json 2>&1)"
has "eval lambada has none" "eval lambada does not take --data-field" "$("$PRATTLE" eval lambada --data-field content --model $MODEL 2>&1)"
info() { "$PRATTLE" data info "$@" --model $MODEL 2>&1; }
is "data info" "$(info gsm8k.pairs.jsonl)" "$(info gsm8k.jsonl "${AS[@]}")"
has "data check" "documents    40" "$("$PRATTLE" data check reviews.jsonl --data-field content --model $MODEL 2>&1)"

# What was trained so is asked so.
is "a checkpoint asks in the prompts' form" 'template: "Q: {prompt}\nA:"' "$(cat gsm/step-000005/prattle.yaml)"
is "  others have none" "" "$(ls {want,alpaca,reviews}/step-*/prattle.yaml 2>/dev/null)"
ask() { "$PRATTLE" "$1" -p "$2" --greedy -n 6 --no-echo --ignore-eos "${@:3}" 2>/dev/null; }
is "  in which it is asked" "$(ask gsm $'Q: Who?\nA:' --template '')" "$(ask gsm 'Who?')"
is "  unless the user says another" "$(ask gsm 'Who?' --template '')" "$(ask gsm 'Who?' --template '{prompt}')"
"$PRATTLE" convert gsm gsm.gguf >/dev/null 2>&1
is "  as GGUF too" "$(ask gsm 'Who?')" "$(ask gsm.gguf 'Who?')"
printf '# mine\ntemplate: "U: {prompt}"\ntop_k: 7\nstop: ["a,b", "c"]\n' >yaml
"$PRATTLE" convert $MODEL base >/dev/null 2>&1 && cp yaml base/prattle.yaml
"$PRATTLE" train init=base folder=based data=gsm8k.jsonl steps=1 sequence_length=32 "${GSM[@]}" >/dev/null 2>&1
is "it takes the place of the base's, whose other settings stay" $'top_k: 7\nstop: "a\\\\,b,c"\ntemplate: "Q: {prompt}\\nA:"' "$(cat based/step-*/prattle.yaml)"
"$PRATTLE" train init=base folder=plain data=gsm8k.pairs.jsonl steps=1 sequence_length=32 >/dev/null 2>&1
is "without templates they stay as they are" "$(cat yaml)" "$(cat plain/step-*/prattle.yaml)"
"$PRATTLE" train lora init=base folder=lora data=gsm8k.jsonl steps=1 sequence_length=32 "${GSM[@]}" >/dev/null 2>&1
is "an adapter brings it too" "$(cat based/step-*/prattle.yaml)" "$(cat lora/step-*/prattle.yaml)"
is "  and is asked so" "$(ask lora $'Q: Who?\nA:' --template '')" "$(ask lora 'Who?')"
"$PRATTLE" convert lora merged >/dev/null 2>&1
is "  merged as well" "$(cat lora/step-*/prattle.yaml)" "$(cat merged/prattle.yaml)"
has "  and goes on" "[finished at step 2" "$("$PRATTLE" train resume lora steps=2 2>&1)"
finish
