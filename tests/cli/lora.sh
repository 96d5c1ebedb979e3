#!/usr/bin/env bash
# An adapter from the shell: whatever stops its training, it ends at the same bits; its
# checkpoints are adapters and load beside their base.
. "$(dirname "$0")/lib.sh.inc"
. tests/cli/train.sh.inc
cd "$TMPDIR" || exit 1
train() {
    local folder=$1; shift
    ${EXEC:-} "$PRATTLE" train lora data="$TEXT" epochs=0 steps=$STEPS learning_rate=1e-2 sequence_length=48 \
        micro_batch_size=2 gradient_accumulation=2 eval_every=60 sample_every=0 log_every=20 \
        save_every=12 folder="$folder" seed=7 --model $MODEL --seed 3 "$@"
}
remains() {
    (cd "$1/step-$(printf %06d "${2:-$STEPS}")" && sha256sum <adapter_model.safetensors &&
        sha256sum <training.safetensors && grep -vE '"(hours|config)"' state.json)
}
loss() { sed -n "s/^step *$1\/.*  loss \([0-9]*\)\.\([0-9][0-9]\).*/\1\2/p" "$2" | head -n 1 | sed 's/^0*//'; }
logits() { "$PRATTLE" logits "$@" --ids 5,6,7,8 --out l.npy --force >/dev/null && sha256sum <l.npy; }

train whole >log 2>err
is "a run ends well" 0 $?
is "and has nothing to say on standard error" "" "$(cat err)"
is "its loss falls" 1 "$(($(loss 240 log) * 10 < $(loss 1 log) * 9))"
first=$(loss 1 log) last=whole/step-000240
is "a checkpoint is an adapter and a state" \
    "adapter_config.json adapter_model.safetensors manifest.json state.json training.safetensors" \
    "$(cd $last && echo *)"
has "of PEFT's" '"peft_type": "LORA"' "$(cat $last/adapter_config.json)"
is "five kills" 5 "$(kill_run killed 5)"
is "of which one at least was gone on from" 1 "$(resumed)"
is "and the adapter of the run never killed" "$(remains whole)" "$(remains killed)"
train one --threads 1 >/dev/null
is "one thread, the same bits" "$(remains whole)" "$(remains one)"
train again execution.recompute=layers --threads 3 >/dev/null
is "recomputation, the same bits" "$(remains whole)" "$(remains again)"
has "it goes on" "[finished at step 250" "$("$PRATTLE" train resume again steps=250 2>&1)"
has "its rank cannot change" "lora.rank was 8 in this run and cannot become 4" \
    "$("$PRATTLE" train resume whole rank=4 2>&1)"
has "an adapter is no model to train" "is an adapter: init=BASE lora.adapter=PATH trains it further" \
    "$("$PRATTLE" train finetune data="$TEXT" init=$last folder=no --plan 2>&1)"
has "nor one in use" "init=BASE adapter=PATH trains it further; \`:lora merge\` at the prompt, or prattle convert," \
    "$("$PRATTLE" train finetune data="$TEXT" --model $last folder=no 2>&1)"
train half precision=float16 >log 2>err
is "beside weights in float16 too" 0 $?
is "where its loss falls as well" 1 "$(($(loss 240 log) * 10 < $(loss 1 log) * 9))"
is "three kills there" 3 "$(kill_run half_killed 3 precision=float16)"
is "and the adapter of the run never killed there" "$(remains half)" "$(remains half_killed)"

base=$(logits --model "$MODEL" --seed 3)
is "a checkpoint loads beside its base" "$(logits --model "$MODEL" --seed 3 --lora $last)" "$(logits --model $last)"
is "and says other things than that" 1 "$([ "$base" != "$(logits --model $last)" ] && echo 1)"
"$PRATTLE" convert $last merged >/dev/null
"$PRATTLE" convert $last merged.gguf >/dev/null
is "convert merges it" "$(logits --model $last)" "$(logits --model merged)"
is "into GGUF too" "$(logits --model $last)" "$(logits --model merged.gguf)"
has "in batches" "Once" "$(echo Once | "$PRATTLE" $last -n 2)"
has "--plan says what learns" "adapter  " "$(train planned --plan)"
has "and what does not" "memory, 4 bytes a parameter" "$(train planned --plan)"
train more adapter=$last steps=10 warmup=0 lora_dropout=0 >log
is "another begins with it" 1 "$(($(loss 1 log) * 10 < first * 9))"
has "as it is, or not at all" "it has rank=8 alpha=16 use_rslora=off target_modules=c_attn,c_proj,c_fc" \
    "$(train more2 adapter=$last alpha=8 2>&1)"
has "only where one learns" "but lora.rank is 0" "$(train more3 adapter=$last rank=0 2>&1)"
has "a missing adapter" "cannot load the adapter nowhere: cannot open nowhere/adapter_config.json" \
    "$("$PRATTLE" "$MODEL" --lora nowhere -p x 2>&1)"
cp -r $last hot
printf '\x00\x00\x80\x7e' | # 8.5e37, where lora_A begins
    dd of=hot/adapter_model.safetensors bs=1 seek=$((8 + $(od -An -tu8 -N8 hot/adapter_model.safetensors))) conv=notrunc 2>/dev/null
hot="the adapter makes weights of h.0.attn.c_attn NaN or infinite"
has "one whose weights fp16 does not hold" "$hot (or beyond fp16's 65504; --dtype fp32 keeps those)" \
    "$("$PRATTLE" --model "$MODEL" --lora hot -p x 2>&1)"
has "nor beside the base it names" "$hot" "$("$PRATTLE" hot -p x 2>&1)"
has "nor trained on" "the adapter hot makes weights of h.0.attn.c_attn NaN or infinite (or beyond fp16's 65504)" \
    "$(train from_hot adapter=hot 2>&1)"
has "another model's adapter" "expected [8,768], r being 8 and the model's matrix [768,2304]" \
    "$("$PRATTLE" --model random:gpt2,n_layer=2 --lora $last -p x 2>&1)"
has "no training beside a loaded one" "the model has an adapter" \
    "$(train beside --lora $last 2>&1)"
has "a target that is none" "target_modules has c_atn, which is not a matrix" "$(train none target_modules=c_atn 2>&1)"
cp -r $last on_q8
sed -i 's/"base_model_name_or_path": ".*",/"base_model_name_or_path": "q8.gguf",/' on_q8/adapter_config.json
"$PRATTLE" convert "$MODEL" q8.gguf --dtype q8 >/dev/null 2>&1
has "with q8 weights it makes fp32 ones" "quantized weights (Q8_0) are written as F32" \
    "$("$PRATTLE" convert on_q8 on_q8.gguf 2>&1)"
sed -i 's/"base_model_name_or_path": ".*",/"base_model_name_or_path": "gpt2-nowhere",/' $last/adapter_config.json
has "a base that is not there" "is for the model gpt2-nowhere, which is not here" "$("$PRATTLE" $last -p x 2>&1)"
has "a checkpoint that was changed is passed over" "were written; passed over" \
    "$("$PRATTLE" train resume whole steps=241 2>&1)"
"$PRATTLE" convert "$MODEL" base --seed 3 >/dev/null
"$PRATTLE" train lora data="$TEXT" epochs=0 steps=12 sequence_length=48 eval_every=0 sample_every=0 folder=beside_base \
    --model base >/dev/null
rm -r base && "$PRATTLE" convert "$MODEL" base --seed 4 >/dev/null
other="beside_base/step-000012 was trained with other weights than those of"
has "another base under the adapter's base's name is noted" "$other base: with these it may do badly" \
    "$("$PRATTLE" beside_base -p x -n 1 2>&1 >/dev/null)"
has "  by convert too" "$other base" "$("$PRATTLE" convert beside_base on_other 2>&1 >/dev/null)"
has "  and beside a model" "$other ${MODEL%%,*}" "$("$PRATTLE" --model $MODEL --seed 4 --lora beside_base/step-000012 -p x -n 1 2>&1 >/dev/null)"
has "  and where it is trained further" "$other ${MODEL%%,*}" "$(train further --seed 4 adapter=beside_base steps=1 2>&1 >/dev/null)"
is "  not its own" "" "$("$PRATTLE" --model $MODEL --seed 3 --lora beside_base/step-000012 -p x -n 1 2>&1 >/dev/null)"
"$PRATTLE" convert $MODEL own.gguf --seed 3 --dtype fp16 >/dev/null
is "  in another precision" "" "$("$PRATTLE" own.gguf --lora beside_base/step-000012 -p x -n 1 2>&1 >/dev/null)"
has "nor does it go on beside another base" "are not those that the adapter was trained with" \
    "$("$PRATTLE" train resume beside_base steps=14 2>&1)"
# A base that was moved: with the run, or alone.
"$PRATTLE" convert "$MODEL" apart --seed 3 >/dev/null
rm -rf home moved && mkdir home && cp -r apart home/own
(cd home && "$PRATTLE" train lora data="$TEXT" steps=1 epochs=0 sequence_length=48 eval_every=0 sample_every=0 --model own >/dev/null)
mv home moved
has "a run is moved with its base" "the adapter's base is $PWD/moved/own now" \
    "$("$PRATTLE" train resume moved/runs/lora steps=2 2>&1)"
mv moved/own moved/elsewhere
has "a base that is gone: where it may be said" "own, which is not here: init=PATH says where it is now" \
    "$("$PRATTLE" train resume moved/runs/lora steps=3 2>&1)"
has "  init= says it" "[finished at step 3" "$("$PRATTLE" train resume moved/runs/lora steps=3 init=moved/elsewhere 2>&1)"
has "  which the run knows from there on" "[finished at step 4" "$("$PRATTLE" train resume moved/runs/lora steps=4 2>&1)"
has "  and --model" "[finished at step 5" "$("$PRATTLE" train resume moved/runs/lora steps=5 --model apart 2>&1)"
has "  of the same weights" "the weights of base are not those that the adapter was trained with" \
    "$("$PRATTLE" train resume moved/runs/lora steps=6 --model base 2>&1)"
has "  if it is there" "there is no model nowhere, the base of the adapter" \
    "$("$PRATTLE" train resume moved/runs/lora steps=6 --model nowhere 2>&1)"
"$PRATTLE" train data="$TEXT" epochs=0 steps=1 sequence_length=48 eval_every=0 sample_every=0 folder=run --model $MODEL --seed 3 >/dev/null 2>&1
has "whole weights have no base to say" "--model is for a new run: run goes on with the weights of its checkpoint" \
    "$("$PRATTLE" train resume run --model nowhere 2>&1)"
has "a base that is a checkpoint may go" "the adapter needs run/step-000001, a checkpoint, which its run removes as it goes on" \
    "$("$PRATTLE" train lora data="$TEXT" epochs=0 steps=1 sequence_length=48 eval_every=0 sample_every=0 folder=on_run --model run 2>&1)"
"$PRATTLE" convert run/step-000001 copy >/dev/null
is "a copy of it stays" "" "$("$PRATTLE" train lora data="$TEXT" epochs=0 steps=1 sequence_length=48 eval_every=0 sample_every=0 folder=on_copy --model copy 2>&1 >/dev/null)"

# What an adapter needs is not written over, whoever asks for it.
mkdir ground && "$PRATTLE" convert $MODEL ground/base >/dev/null
"$PRATTLE" train lora data="$TEXT" steps=1 sequence_length=48 eval_every=0 sample_every=0 init=ground/base folder=small >/dev/null
before=$(cat ground/base/* | sha256sum) spared="is the base of the adapter, which needs it as it is; choose another name"
has "its base is spared by convert" "ground/base $spared" "$("$PRATTLE" convert small/step-000001 ground/base --force 2>&1)"
has "  by another path" "./ground/base/ $spared" "$("$PRATTLE" convert small ./ground/base/ --force 2>&1)"
is "  and stays" "$before" "$(cat ground/base/* | sha256sum)"
"$PRATTLE" convert small other.gguf >/dev/null
is "what was merged has a name of its own" "other" "$("$PRATTLE" model other.gguf | head -1)"
finish
