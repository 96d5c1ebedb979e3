#!/usr/bin/env bash
# GPT-Neo from the shell: a run's checkpoints are folders of its own kind, whatever stops the run it
# ends at the same bits, and the model answers the same in batches, sessions and threads.
. "$(dirname "$0")/lib.sh.inc"
STEPS=48
. tests/cli/train.sh.inc
cd "$TMPDIR" || exit 1
NEO=$OLDPWD/tests/cli/data/neo.json
MODEL=random:$NEO
loss() { sed -n "s/^step *$1\/.*  loss \([0-9]*\)\.\([0-9][0-9]\).*/\1\2/p" "$2" | head -n 1 | sed 's/^0*//'; }
logits() { "$PRATTLE" logits "$@" --out l.npy --force >/dev/null && sha256sum <l.npy; }

train whole --threads 3 >log 2>err
is "a run ends well" 0 $?
is "and has nothing to say on standard error" "" "$(cat err)"
is "its loss falls" 1 "$(($(loss 48 log) * 10 < $(loss 1 log) * 9))"
last=whole/step-000048
has "a checkpoint is a folder of GPT-Neo" '"model_type": "gpt_neo"' "$(cat $last/config.json)"
has "with its layers" '"attention_layers": ["global", "local", "local"]' "$(cat $last/config.json)"
has "and its names" '"transformer.h.2.attn.attention.v_proj.weight":{"dtype":"F32","shape":[32,32]' \
    "$(head -c 4000 $last/model.safetensors | tr -d '\0')"
is "two kills" 2 "$(kill_run killed 2)"
is "and the weights of the run never killed" "$(remains whole)" "$(remains killed)"
train one execution.recompute=layers --threads 1 >/dev/null
is "one thread and recomputation, the same bits" "$(remains whole)" "$(remains one)"
train half precision=float16 >log
is "in float16 the loss falls too" 1 "$(($(loss 48 log) * 10 < $(loss 1 log) * 9))"

long=$(seq -s, 1 60)
is "logits do not depend on threads" "$(logits --model $last --ids "$long" --threads 1)" \
    "$(logits --model $last --ids "$long" --threads 3)"
# One local layer, whose window is 9: the last of 12 positions sees those from 3 on.
sed 's/"num_layers": 3/"num_layers": 1/; s/"global", "local", "local"/"local"/; s/}$/, "initializer_range": 0.5}/' "$NEO" >local.json
seen=$(logits --model random:local.json --ids 1,2,3,4,5,6,7,8,9,10,11,12)
is "what lies before the window is not seen" "$seen" \
    "$(logits --model random:local.json --ids 1,2,99,4,5,6,7,8,9,10,11,12)"
is "and its first position is" 1 \
    "$([ "$seen" != "$(logits --model random:local.json --ids 1,2,3,99,5,6,7,8,9,10,11,12)" ] && echo 1)"
"$PRATTLE" convert $last copy >/dev/null
is "nor on being saved again" "$(logits --model $last --ids "$long")" "$(logits --model copy --ids "$long")"
is "a copy has the same weights" "$(sha256sum <$last/model.safetensors)" "$(sha256sum <copy/model.safetensors)"
printf '%s\n' "Once upon" "Once upon a time there was fox number 7, who" "fox" "$(head -c 400 "$TEXT" | tr '\n' ' ')" >prompts
# Random weights say more than those of so short a run.
sed 's/}$/, "initializer_range": 0.5}/' "$NEO" >wild.json
slide() { "$PRATTLE" random:wild.json --seed 4 -n 90 --temperature 0 --on-full slide 2>/dev/null; }
slide <prompts >together
while IFS= read -r line; do slide <<<"$line"; done <prompts >alone
is "prompts together answer as alone, beyond the context too" "$(cat alone)" "$(cat together)"
has "it is evaluated" "perplexity" "$("$PRATTLE" eval "$TEXT" --model $last)"
has "GGUF is refused in a sentence" "no program reads a GPT-Neo from GGUF: name a folder" \
    "$("$PRATTLE" convert $last x.gguf 2>&1)"
has "and so is llm.c's file" "llm.c cannot compute another model than GPT-2" \
    "$("$PRATTLE" convert $last x.bin 2>&1)"

"$PRATTLE" train lora data="$TEXT" epochs=0 steps=24 sequence_length=48 micro_batch_size=2 eval_every=0 \
    sample_every=0 save_every=12 folder=adapted seed=7 init=$last >/dev/null 2>err
is "an adapter trains" 0 $?
has "under PEFT's names" "h.1.attn.attention.k_proj.lora_B.weight" \
    "$(head -c 4000 adapted/step-000024/adapter_model.safetensors | tr -d '\0')"
is "and loads" 1 "$([ "$(logits --model adapted/step-000024 --ids 5,6)" != "$(logits --model $last --ids 5,6)" ] && echo 1)"
finish
