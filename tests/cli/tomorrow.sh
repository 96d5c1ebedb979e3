#!/usr/bin/env bash
# What was trained yesterday opens by its run's name, wherever a model is named, and a name that is
# also one of ours says which was meant.
. "$(dirname "$0")/lib.sh.inc"
. tests/cli/train.sh.inc
STEPS=4
export XDG_STATE_HOME=$TMPDIR/state
cd "$TMPDIR" || exit 1
logits() { "$PRATTLE" logits "$@" --ids 5,6,7,8 --out l.npy --force >/dev/null 2>err && sha256sum <l.npy; }

train runs/tale save_every=2 >log 2>&1
newest=$(logits --model runs/tale/step-000004)
is "a run's folder is its newest checkpoint" "$newest" "$(logits --model runs/tale)"
is "and it says which" "prattle: runs/tale, checkpoint of step 4" "$(cat err)"
is "the same with a slash behind it" "$newest" "$(logits --model runs/tale/)"
is "as the first word" "runs/tale, checkpoint of step 4" \
    "$("$PRATTLE" runs/tale -p x 2>&1 >/dev/null | sed 's/^prattle: //')"
"$PRATTLE" convert runs/tale tale.gguf >/dev/null 2>err
is "convert writes it" "0 prattle: runs/tale, checkpoint of step 4" "$? $(cat err)"
is "which is the same model" "$(logits --model runs/tale/step-000004)" "$(logits --model tale.gguf)"
out=$("$PRATTLE" eval kl runs/tale "$TEXT" --limit 1 --model runs/tale/step-000002 --no-keep_results 2>&1)
has "the other model of kl" "other: runs/tale, checkpoint of step 4" "$out"
out=$("$PRATTLE" train finetune init=runs/tale data="$TEXT" epochs=0 steps=1 sequence_length=48 folder=runs/next eval_every=0 2>&1)
has "a run begins with it" "prattle: runs/tale, checkpoint of step 4" "$out"
has "to its end" "[finished at step 1;" "$out"
"$PRATTLE" train lora init=runs/tale data="$TEXT" epochs=0 steps=2 sequence_length=48 folder=runs/branch eval_every=0 >log 2>&1
is "a run of an adapter opens with its base" "$(logits --model runs/branch/step-000002)" "$(logits --model runs/branch)"
is "and goes beside a base by its name" "$(logits --model runs/branch)" "$(logits --model runs/tale --lora runs/branch)"
has "it is an adapter to train" "is an adapter: init=BASE lora.adapter=PATH" \
    "$("$PRATTLE" train finetune init=runs/branch data="$TEXT" folder=no --plan 2>&1)"
"$PRATTLE" train lora adapter=runs/branch init=runs/tale data="$TEXT" epochs=0 steps=1 sequence_length=48 folder=runs/third eval_every=0 >log 2>&1
is "or one to begin with" 0 $?
sed -i 's|"base_model_name_or_path": ".*",|"base_model_name_or_path": "runs/tale",|' runs/branch/step-000002/adapter_config.json
is "an adapter may name a run for its base" "$(logits --model runs/tale --lora runs/branch/step-000002)" \
    "$(logits --model runs/branch/step-000002)"
: >runs/tale/step-000004/model.safetensors
has "one that is damaged is passed over" "runs/tale, checkpoint of step 2" "$("$PRATTLE" runs/tale -p x 2>&1 >/dev/null)"
has "  which status says, too" "runs/tale/step-000004: model.safetensors" "$("$PRATTLE" train status runs/tale 2>&1 >/dev/null)"
has "  and what is left" "newest checkpoint: step 2; later steps are in no whole checkpoint" "$("$PRATTLE" train status runs/tale 2>/dev/null)"
mkdir empty && touch empty/metrics.jsonl
is "none at all" "empty is the folder of a run that has saved no checkpoint yet; train it until it has saved one" \
    "$("$PRATTLE" empty -p x 2>&1)"

mkdir bundled
has "the model that ships and a folder of its name" \
    'prattle: bundled is the model that ships; `./bundled` is the folder of that name here' \
    "$("$PRATTLE" bundled -p x -n 1 2>&1)"
is "where nobody named it" "" "$("$PRATTLE" -p x -n 1 2>&1 >/dev/null | grep -F "model that ships")"
"$PRATTLE" train lora data="$TEXT" epochs=0 steps=1 sequence_length=48 folder=runs/ships eval_every=0 >log 2>&1
has "which is the base of its adapters too" '"base_model_name_or_path": "bundled"' "$(cat runs/ships/step-000001/adapter_config.json)"
has "the folder" "./bundled has no weights" "$("$PRATTLE" ./bundled -p x -n 1 2>&1)"
: >random:gpt2,n_layer=1,n_embd=12,n_head=1
has "a random model and a file of its name" "random:gpt2,n_layer=1,n_embd=12,n_head=1 is a random model; " \
    "$("$PRATTLE" random:gpt2,n_layer=1,n_embd=12,n_head=1 -p x -n 1 2>&1)"

# Results of before, in part, and no more.
echo "a small text" >small.txt
for i in 1 2 3; do "$PRATTLE" eval text small.txt --model runs/tale/step-000002 >log 2>&1; done
"$PRATTLE" eval small.txt --model tale.gguf >log 2>&1
history() { "$PRATTLE" eval history "$@" 2>&1; }
is "all results" 4 "$(history --json | wc -l)"
is "those of a model" 1 "$(history tale.gguf --json | wc -l)"
is "by more words than one, whatever the case" 3 "$(history TEXT step-0 --json | wc -l)"
is "the newest" 2 "$(history --last 2 --json | wc -l)"
is "of the model" 1 "$(history step-0 --last 1 --json | wc -l)"
has "none" "none of the 4 results matches" "$(history nowhere)"
cp tale.gguf twin.gguf && "$PRATTLE" eval small.txt --model twin.gguf >log 2>&1
is "the same weights are one column, by their newest name" "0 1" "$(history --all | grep -c 'tale.gguf') $(history --all | grep -c 'twin.gguf')"
mkdir here there && echo "another text" >here/one.txt && echo "a third one, longer" >there/one.txt
for d in here there; do (cd $d && "$PRATTLE" eval 'one.*' --model ../tale.gguf >../log 2>&1); done
is "a pattern is that of a folder" 2 "$(history 'one.*' | grep -c '^\[[0-9]*\] .*/one\.\*: ')"
has "clear asks" 'this deletes 7 results: `prattle eval history clear --force` confirms' "$(history clear)"
is "and keeps them" 7 "$(history --json | wc -l)"
has "or does it" "[7 results discarded]" "$(history clear --force)"
is "so that none is left" 0 "$(history --json | wc -l)"
has "which it says" 'no results yet: `prattle eval wikitext` makes one' "$(history)"

# wandb=on: the program of that name, once at the end; without it no run.
mkdir bin && printf '#!/bin/sh\necho "$# $*" >>called\necho synced\n' >bin/wandb && chmod +x bin/wandb
has "no wandb, no run" "wandb is on, but there is no program wandb on PATH: install it, or set wandb=off" \
    "$(PATH=/nowhere train runs/refused wandb=on 2>&1)"
is "nor a folder" 1 "$([ -e runs/refused ] || echo 1)"
out=$(PATH=$PWD/bin:$PATH train "runs/a b" wandb=on 2>&1)
has "it is started" "[\`wandb sync 'runs/a b'\` is running; its output goes to runs/a b/wandb.log]" "$out"
for i in $(seq 200); do [ -s "runs/a b/wandb.log" ] && break; sleep 0.05; done
is "with the folder, no shell between" "2 sync runs/a b" "$(cat called)"
is "and its words are kept" synced "$(cat "runs/a b/wandb.log")"
has "the files that it reads are needed" "wandb=on needs tensorboard=on" \
    "$(PATH=$PWD/bin:$PATH train runs/no wandb=on tensorboard=off 2>&1)"
PATH=$PWD/bin:$PATH train runs/off >log 2>&1
is "off by default" "0 no log" "$? $(cat runs/off/wandb.log 2>/dev/null || echo no log)"
finish
