#!/usr/bin/env bash
# Training from the shell: the loss falls, and whatever stops a run, it ends at the same
# bits as one that nothing stopped.
. "$(dirname "$0")/lib.sh.inc"
. tests/cli/train.sh.inc
cd "$TMPDIR" || exit 1
loss() { sed -n "s/^step *$1\/.*  loss \([0-9]*\)\.\([0-9][0-9]\).*/\1\2/p" "$2" | head -n 1 | sed 's/^0*//'; }

train whole >log 2>err
is "a run ends well" 0 $?
is "and has nothing to say on standard error" "" "$(cat err)"
is "a line before the first step, after it, and every log_every steps" 14 "$(grep -c '^step' log)"
is "the loss falls to less than a half" 1 "$(($(loss 240 log) * 2 < $(loss 1 log)))"
is "each line with its share of the machine's matrix products, of a small model too" 13 \
    "$(grep -cE '  [0-9.]+ % of sgemm' log)"
has "with a validation loss" "validation" "$(grep '^step  60/240' log)"
has "and where it is" "[finished at step 240; whole has" "$(tail -n 2 log)"
is "nothing steers a terminal in a pipe" "" "$(grep $'\e' log err)"
is "two checkpoints are kept" "step-000228 step-000240" \
    "$(cd whole && echo step-*)"
is "a line of metrics for each line" 13 "$(grep -c '"loss"' whole/metrics.jsonl)"
has "a checkpoint is a model" "prompt tokens" \
    "$("$PRATTLE" whole/step-000240 -p 'Once upon' -n 4 --verbose 2>&1)"

is "five kills" 5 "$(kill_run killed 5)"
is "of which one at least was gone on from" 1 "$(resumed)"
is "and the weights of the run never killed" "$(remains whole)" "$(remains killed)"
is "nor is a step told twice, or another mean" "$(grep -oE '"(step|loss|accuracy|tokens)":[0-9.]*' whole/metrics.jsonl)" \
    "$(grep -oE '"(step|loss|accuracy|tokens)":[0-9.]*' killed/metrics.jsonl)"
train one --threads 1 >/dev/null
is "one thread, the same bits" "$(remains whole)" "$(remains one)"
cp -r whole cut && sed -i '$d' cut/metrics.jsonl
has "counts that the newest checkpoint is beyond say so" "  up to step " "$("$PRATTLE" train status cut)"
is "others do not" 0 "$("$PRATTLE" train status whole | grep -c "up to step")"

# Steps that take a while, so that a signal falls into the middle of one.
EXEC=exec train slow steps=1000000 gradient_accumulation=500 save_every=1 >log 2>err &
pid=$!
until_saved slow
out=$("$PRATTLE" train status slow 2>&1)
has "the first is seen" "open in slow, labeled " "$out"
has "and who it is" " in process $pid" "$out"
has "and what it has done" " of training, 0 steps skipped" "$out"
has "a second trainer is refused" "another prattle (process $pid) has the run open" \
    "$("$PRATTLE" train resume slow 2>&1)"
kill -TERM $pid; wait $pid
is "SIGTERM ends it" 143 $?
# signal NAME FOLDER: to a run that saves nothing of itself, after its first step.
signal() {
    : >log
    EXEC=exec train "$2" save_every=0 eval_every=0 log_every=1 >log 2>err &
    pid=$!
    for _ in $(seq 1200); do grep -q '^step' log && break; sleep 0.02; done
    kill -"$1" $pid; wait $pid
}
# what it kept, and said so: the step it says is there, and is not the last.
kept() { n=$(sed -n 's/.*\[step \([0-9]*\) is saved; `prattle train resume .*` continues from there\]$/\1/p' log)
    [ "${n:-$STEPS}" -lt $STEPS ] && [ "$(echo "$1"/step-*)" = "$1/step-$(printf %06d "$n")" ] && echo "kept"; }
signal TERM term
is "with what nothing had saved" "143 kept" "$? $(kept term)"
"$PRATTLE" train resume term eval_every=60 >/dev/null
is "SIGTERM and resume: the same bits" "$(remains whole)" "$(remains term)"
set -m # or it would be a background job, which Ctrl-C is not for
signal INT int
is "Ctrl-C ends a run in the shell, and it is kept" "130 kept" "$? $(kept int)"
set +m
"$PRATTLE" train resume int --threads 3 eval_every=60 >/dev/null
is "Ctrl-C and resume: the same bits" "$(remains whole)" "$(remains int)"

has "a run is not begun over another" 'has a checkpoint of step 240 already: `prattle train resume whole` continues' \
    "$(train whole 2>&1)"
has "a model that the run would not begin with is refused" \
    "--model is other, but the run begins with init=random: leave --model out, or give init=other to train that model" \
    "$("$PRATTLE" train nanogpt-shakespeare data="$TEXT" --model other 2>&1)"
has "an adapter too" "--lora is ad, but the run begins with init=base: leave --lora out; in a LoRA run adapter=ad trains that adapter further" \
    "$("$PRATTLE" train finetune data="$TEXT" init=base --lora ad 2>&1)"
has "  also by a run that goes on" "--lora is not for a run that goes on: what it trains is in its checkpoint" \
    "$("$PRATTLE" train resume whole --lora ad 2>&1)"
has "with checkpoint.resume it goes on" "[finished at step 240" "$(train whole checkpoint.resume=on 2>&1)"
"$PRATTLE" convert $MODEL base >/dev/null 2>&1
train based init=base steps=12 >/dev/null 2>&1
rm -r base
has "  and does without the model that it began with" "[finished at step 24" \
    "$(train based init=base steps=24 checkpoint.resume=on 2>&1)"
"$PRATTLE" train resume based folder=fork steps=24 >/dev/null 2>&1
is "a run that goes on in another folder has its metrics there" "$(cat based/metrics.jsonl)" "$(cat fork/metrics.jsonl)"
has "  and status shows them" "finished in fork" "$("$PRATTLE" train status fork 2>&1)"
has "a finished run can be made longer" "step 250/250" "$("$PRATTLE" train resume whole steps=250 2>&1)"
has "an older checkpoint is gone on from" "checkpoints newer than step 240 are set aside: 1" \
    "$("$PRATTLE" train resume whole/step-000240 steps=244 2>&1)"
has "what the run rests on cannot change" "training.seed was 7 in this run and cannot become 8" \
    "$("$PRATTLE" train resume whole seed=8 2>&1)"
has "no such run" "there is no folder nowhere" "$("$PRATTLE" train resume nowhere 2>&1)"
has "a slash behind its name changes nothing" "step 242/242" "$("$PRATTLE" train resume int/step-000240/ steps=242 2>&1)"
is "and it goes on in the run's folder" "int/step-000242" "$(ls -d int/step-000242 int/*/step-* 2>/dev/null)"
has "nor does it to be in the checkpoint" "step 243/243" "$(cd int/step-000242 && "$PRATTLE" train resume . steps=243 2>&1)"
is "which stays as it is" "int/step-000243" "$(ls -d int/step-000243 int/*/step-* int/*/lock 2>/dev/null)"
has "which run" "which run? runs has none with a checkpoint; \`prattle train resume FOLDER\` names one" "$("$PRATTLE" train resume 2>&1)"
has "nor of a folder without one" "nowhere is not the folder of a run" "$("$PRATTLE" train status nowhere 2>&1)"
has "and none to tell of" "no run is in memory; \`prattle train CONFIG\` begins one" "$("$PRATTLE" train status 2>&1)"
mkdir runs && cp -a one runs/older && cp -a whole runs/newer && touch runs/newer/step-*
has "without a name it is the one written to last" "[runs/newer]" "$("$PRATTLE" train resume steps=252 2>&1)"
has "which goes on" "step 254/254" "$("$PRATTLE" train resume steps=254 2>&1)"
has "status tells of it, too" "finished in runs/newer" "$("$PRATTLE" train status 2>&1)"
has "and of one that was named" "step 240" "$("$PRATTLE" train status runs/older 2>&1)"
printf x | dd of=whole/step-000244/model.safetensors bs=1 seek=9000 conv=notrunc 2>/dev/null
has "a damaged checkpoint is passed over" "model.safetensors is not what was written: its SHA-256 differs; passed over" \
    "$("$PRATTLE" train resume whole steps=246 2>&1)"
echo "and a line more" >>"$TEXT"
has "changed data" "the data has changed since the checkpoint" "$("$PRATTLE" train resume one 2>&1)"

out=$(train early learning_rate=0.1 warmup=0 schedule=constant eval_every=1 eval_first=on patience=2 steps=12 2>&1)
has "a run that gets worse ends early" "[stopped early: no lower loss in the last 2 validations]" "$out"
has "it is finished" "finished in early" "$("$PRATTLE" train status early 2>&1)"
has "and says how to go on" "[\`prattle train resume early patience=0\` trains it further]" \
    "$("$PRATTLE" train resume early 2>&1)"
# As one that was stopped before patience was so little.
sed -i 's/,"finished":true//' early/metrics.jsonl
has "a run that a change ends" "stopped in early" "$("$PRATTLE" train status early 2>&1)"
has "  is finished" "finished in early" "$("$PRATTLE" train resume early >/dev/null 2>&1; "$PRATTLE" train status early 2>&1)"
is "  which is written once" 1 "$("$PRATTLE" train resume early >/dev/null 2>&1; grep -c '"finished":true' early/metrics.jsonl)"

# As one that a change of steps ends where it is.
train shorter steps=24 log_every=12 >/dev/null
rm -r shorter/step-000024
has "a run that is made shorter is finished" "[finished at step 12" "$("$PRATTLE" train resume shorter steps=12 2>&1)"
has "  of so many steps" "step 12/12" "$("$PRATTLE" train status shorter 2>&1)"
has "  which its checkpoint knows" "[finished at step 12" "$("$PRATTLE" train resume shorter 2>&1)"
mkdir shorter/step-000012/notes
has "one with a folder of somebody's keeps its state" "shorter/step-000012/notes is a folder, which is not carried over" \
    "$("$PRATTLE" train resume shorter grad_clip=3 2>&1)"
rmdir shorter/step-000012/notes

# By a decay that multiplies the weights at every step, whatever the gradients.
sed 's/"initializer_range": 0.4/"initializer_range": 11.5/' "${MODEL#random:}" >large.json
err=$(train wild learning_rate=4 weight_decay=10 warmup=0 schedule=constant max_bad_steps=3 \
    --model random:large.json 2>&1); rc=$?
is "a run that blows up fails" 1 $rc
has "and says so" "3 steps in a row would have made weights NaN or infinite in fp16 (beyond 65504)" "$err"
has "and keeps what it had before" "step 10/10" \
    "$("$PRATTLE" train resume wild steps=10 learning_rate=1e-3 weight_decay=0 log_every=1 2>&1)"
is "which fp16 holds" "wrote held" "$("$PRATTLE" convert wild/step-000010 held --dtype float16 2>&1)"
# Weights that fp16 holds, of which it makes keys that it does not.
err=$(train lost learning_rate=100 warmup=0 schedule=constant eval_every=0 2>&1); rc=$?
is "a run whose weights inference cannot hold fails" 1 $rc
has "and says so at its first checkpoint" "stopped at step 12: in fp16 inference makes NaN or infinite logits of the step's weights, which are not kept; there is no checkpoint before them; a lower learning_rate may help" "$err"
is "has not finished" "" "$(grep -F '[finished' <<<"$err")"
is "and leaves no checkpoint" "" "$(cd lost && ls -d step-* 2>/dev/null)"
train lost steps=12 >/dev/null 2>&1
err=$("$PRATTLE" train resume lost steps=40 learning_rate=100 schedule=constant eval_every=6 log_every=6 2>&1); rc=$?
is "also behind good steps" 1 $rc
has "and by an evaluation" "stopped at step 18: in fp16 inference" "$err"
has "it names what remains" "the checkpoint of step 12 remains; a lower learning_rate may help: \`prattle train resume lost learning_rate=...\`" "$err"
is "which is what there is" step-000012 "$(cd lost && echo step-*)"
is "with numbers in all lines" "18 0" "$(tail -n 1 lost/metrics.jsonl | sed 's/.*"step":\([0-9]*\).*/\1/') $(grep -ciE 'nan|inf' lost/metrics.jsonl)"
is "it answers" 0 "$("$PRATTLE" lost -p 'Once upon' -n 5 >/dev/null 2>&1; echo $?)"
has "and training goes on from there" "[finished at step 24" "$("$PRATTLE" train resume lost steps=24 2>&1)"
has "an adapter's too" "stopped at step 12: in fp16 inference makes NaN" \
    "$(train lost2 rank=4 learning_rate=20 warmup=0 schedule=constant eval_every=0 max_bad_steps=100 2>&1)"
is "which is saved nowhere" "" "$(cd lost2 && ls -d step-* 2>/dev/null)"
out=$(train half precision=float16 loss_scaling=1e7 steps=60 save_every=30)
last=$(tail -n 1 half/metrics.jsonl)
is "float16: gradients overflow" 1 "$(sed -n 's/.*"overflows":\([0-9.]*\).*/\1/p' <<<"$last" | awk '{print ($1 >= 1)}')"
is "and the scale falls" 1 "$(sed -n 's/.*"loss_scale":\([0-9.e+]*\).*/\1/p' <<<"$last" | awk '{print ($1 > 0 && $1 < 1e7)}')"
has "which is shown" " skipped" "$out"
has "with the scale" "  scale " "$out"
has "its checkpoints are models in fp16" '"dtype":"F16"' "$(head -c 500 half/step-000060/model.safetensors | tr -d "\0")"
rm -r half/step-000060
has "gone on with" "finished at step 60" "$("$PRATTLE" train resume half --threads 1 2>&1)"
is "nothing else changed on the way" "$(remains half 60)" \
    "$(train half2 precision=float16 loss_scaling=1e7 steps=60 save_every=30 >/dev/null && remains half2 60)"
train half3 precision=float16 >/dev/null
is "kills in float16" 3 "$(kill_run half4 3 precision=float16)"
is "and the weights of the run never killed in float16" "$(remains half3)" "$(remains half4)"
has "another precision is another run" "training.precision was float16 in this run" \
    "$("$PRATTLE" train resume half precision=float32 2>&1)"
has "--plan shows what it would take" "parameters" "$(train planned --plan)"
printf 'execution: {recompute: all}' >all.yaml
printf '{"execution": {"recompute": "all"}}' >all.json
for words in recompute=all all.yaml all.json; do
    has "with all layers recomputed by $words" "inputs of all layers, and one layer" "$("$PRATTLE" train $words data="$TEXT" steps=1 --plan --model $MODEL 2>&1)"
done
has "steps given take the place of a preset's epochs" "total: 7 steps" \
    "$("$PRATTLE" train finetune data="$TEXT" steps=7 --plan --model $MODEL)"
has "the speed of products is that of the run's" "GFLOP/s of products in bfloat16 here" \
    "$(train planned sequence_length=64 matmul_precision=bfloat16 --plan)"
has "and refuses what the run would: a folder with a run" "has a checkpoint of step" "$(train whole --plan 2>&1)"
has "a folder that cannot be" "Not a directory" "$(train "$TEXT/run" --plan 2>&1)"
has "an evaluation without its file" "lambada_test.jsonl not found" "$(train planned eval=lambada --plan 2>&1)"
has "which a run says before its first step" "lambada_test.jsonl not found" "$(train planned eval=lambada 2>&1)"
has "an adapter that is none" "nothere" "$(train planned rank=4 lora.adapter=nothere --plan 2>&1)"
is "and begins nothing" no "$([ -e planned ] && echo yes || echo no)"
has "train config without one shows the settings" "learning_rate" "$("$PRATTLE" train config 2>/dev/null)"
no_text=$("$PRATTLE" train popxl-tiny steps=2 sample_every=1 log_every=1 save_every=0 2>&1)
has "a model without words gives no samples" "no sample: " "$no_text"
has "and is trained all the same" "[finished at step 2" "$no_text"
no_room=$(train no-room steps=2 sample_every=1 save_every=0 sample_prompt="$(printf %300s x)" 2>&1)
has "nor does a prompt that is longer than the context" "no sample: the prompt has " "$no_room"
has "which ends no training" "[finished at step 2" "$no_room"
has "plot of no run in this session is of the newest" "[runs/popxl-tiny]" "$("$PRATTLE" plot)"
train "odd=name" steps=2 >/dev/null
has "a folder may have = in its name" "[finished at step 3" "$("$PRATTLE" train resume "odd=name" steps=3)"
"$PRATTLE" tokenizer train "$TEXT" words --vocab-size 300 >/dev/null
has "a tokenizer of one's own brings its size" "vocab_size 300" "$("$PRATTLE" train languini-mini data="$TEXT" tokenizer=words --plan 2>&1)"
has "a size that is given later is kept" "vocab_size 400" "$("$PRATTLE" train languini-mini data="$TEXT" tokenizer=words vocab_size=400 --plan 2>&1)"
printf 'model: {init: random, n_layer: 1, n_head: 2, n_embd: 16, vocab_size: 384}\n' >pad.yaml
has "a padded size is kept" "vocab_size 384" "$("$PRATTLE" train pad.yaml data="$TEXT" tokenizer=words --plan 2>&1)"
has "a warm-up from above" "warmup_init must be at most learning_rate" "$(train high warmup_init=5 2>&1)"
has "warm-up beyond the end is told of" "warmup takes 9 steps and the run has 3: it ends before learning_rate 0.001 is reached" \
    "$(train brief steps=3 warmup=9 learning_rate=1e-3 eval_every=0 2>&1)"
has "cycles of nothing but warm-up" "cycles is 6: of 12 steps each has 2, and warmup takes 3 of them" "$(train high steps=12 cycles=6 warmup=3 2>&1)"
has "  or of nothing" "cycles is 13, but the run has 12 steps" "$(train high steps=12 cycles=13 warmup=3 2>&1)"
mkdir shelf && cp "$TEXT" shelf/
has "no run is in the folder of its texts" "shelf has the texts to train on; a run takes a folder of its own: folder=DIR" \
    "$(train shelf data=shelf steps=1 2>&1)"
is "  where it leaves nothing" "$(basename "$TEXT")" "$(ls shelf)"
mkdir kept && train kept steps=1 data=/dev/null >/dev/null 2>&1
is "one that is refused leaves no lock" "" "$(ls kept)"
"$PRATTLE" convert "$MODEL" model >/dev/null
mkdir logs && echo '{"loss": 1}' >logs/metrics.jsonl
has "nor is one where another program's metrics are" "logs has a metrics.jsonl that is no run's" "$(train logs steps=1 2>&1)"
is "  which stay" '{"loss": 1}' "$(cat logs/*)"
has "  and are no run" "logs is not the folder of a run" "$("$PRATTLE" train status logs 2>&1)"
has "nor is one in a model's" "model has a model; a run takes a folder of its own: folder=DIR" "$(train model steps=1 2>&1)"
has "no model is written over a run" "whole is the folder of a run; choose another name" "$("$PRATTLE" convert model whole --force 2>&1)"
has "  or over its checkpoint" "whole/step-000240 is a checkpoint, from which its run goes on; choose another name" \
    "$("$PRATTLE" convert model whole/step-000240 --force 2>&1)"
has "  or to the place of another" "whole/step-000777 would be taken for a checkpoint of the run beside it" \
    "$("$PRATTLE" convert model whole/step-000777 2>&1)"
has "  also from within" "step-000777 would be taken for a checkpoint" "$(cd whole && "$PRATTLE" convert ../model step-000777 2>&1)"
ln -s /no/such/folder lost_link
has "a link in a run's place" "cannot make the folder lost_link: No such file or directory (it is a link that leads nowhere)" \
    "$(train lost_link steps=1 2>&1)"
has "a file that nothing measures" "eval_file is nowhere.txt, but eval does not say what is measured on it" "$(train high eval_file=nowhere.txt 2>&1)"
has "a scale that leaves nothing" "loss_scaling must be 0 or" "$(train low loss_scaling=1e-300 2>&1)"
has "names in either case" "did you mean languini-xl?" "$("$PRATTLE" train languini-XL 2>&1)"
printf 'a' >short.txt
has "too little data" "short.txt" "$("$PRATTLE" train data=short.txt init=$MODEL folder=never steps=1 2>&1)"
is "and no folder of a run that never was" no "$([ -e never ] && echo yes || echo no)"
for label in .. ../zz a/b; do
    has "a label that leaves runs/: $label" "the label $label cannot name the run's folder in runs: give folder=DIR too" \
        "$("$PRATTLE" train finetune data="$TEXT" init=$MODEL label=$label steps=1 2>&1)"
done
mkdir there
"$PRATTLE" train data=short.txt init=$MODEL folder=there steps=1 2>/dev/null
is "one that was there stays" yes "$([ -d there ] && echo yes || echo no)"
has "a picture" "</svg>" "$(rm -f a.svg; "$PRATTLE" plot loss whole a.svg >/dev/null; tail -c 10 a.svg)"
has "where it cannot be written nothing comes out instead" "cannot write nodir/a.svg" "$("$PRATTLE" plot loss whole nodir/a.svg 2>&1 | head -c 200)"
has "a picture that is there is named" "a.svg exists already; --force" "$("$PRATTLE" plot loss whole a.svg 2>&1)"
has "show" "sequence_length                 48 " "$("$PRATTLE" train show finetune sequence_length=48)"
is "show of one setting, by any of its names" "schedule learning_rate 0.0003 built in" "$("$PRATTLE" train show lr | xargs)"
is "  of several of a preset" "schedule learning_rate auto preset training seed 3 command line" \
    "$("$PRATTLE" train show finetune seed=3 learning_rate seed | xargs)"
is "  of a folder's run" "training sequence_length 48 checkpoint" "$("$PRATTLE" train show whole sequence_length | xargs)"
is "  one that follows from others" "training gradient_accumulation 2 follows" \
    "$("$PRATTLE" train show whole gradient_accumulation | xargs)"
has "  of none" "there is no file or preset lerning_rate" "$("$PRATTLE" train show lerning_rate 2>&1)"
has "show of a run's folder" "sequence_length                 48                       checkpoint" "$("$PRATTLE" train show whole)"
has "of what is none" "there is no checkpoint in empty" "$(mkdir -p empty; "$PRATTLE" train show empty 2>&1)"
has "pairs hold wherever they stand" "learning_rate                   0.001" \
    "$("$PRATTLE" train show learning_rate=1e-3 finetune)"
# A model that learns a text by heart gets worse at another: which one was best is said.
printf '%s' {a..z}{a..z} >other.txt
said=$(train heart learning_rate=3e-2 steps=40 eval_every=10 save_every=10 keep_last=1 validation=other.txt schedule=constant 2>&1)
best=$(grep '(best)' <<<"$said" | tail -n 1 | sed 's/^step *\([0-9]*\).*validation loss \([0-9.]*\) (best).*/\1 \2/')
step=${best% *} loss=${best#* }
is "which step was best" "[validation loss was lowest at step $step: $loss; \`prattle heart/step-$(printf %06d "$step")\` opens that model]" \
    "$(grep 'was lowest' <<<"$said")"
has "  later, too" "best validation loss $loss at step $step" "$("$PRATTLE" train status heart)"
finish
