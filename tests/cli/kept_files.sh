#!/usr/bin/env bash
# A model's own files, which other programs read, are written with it again as they were.
. "$(dirname "$0")/lib.sh.inc"
. tests/cli/train.sh.inc
cd "$TMPDIR" || exit 1
rm -rf chat again run as_it_was chat.gguf
"$PRATTLE" convert "$MODEL" chat >/dev/null 2>&1
rm -f chat/vocab.json chat/merges.txt chat/prattle.yaml
# Members and spaces that prattle would write otherwise.
sed -i 's/"single_word"/ "single_word"/; s/"post_processor": {[^}]*}/"post_processor": null/' chat/tokenizer.json
printf '{"pad_token": "!", "padding_side": "left", "chat_template": "{{ x }}"}' >chat/tokenizer_config.json
printf '{"pad_token": "!"}' >chat/special_tokens_map.json
printf '{{ x }}' >chat/chat_template.jinja
printf '{"do_sample": true,"temperature":0.9, "eos_token_id":[0,14],"pad_token_id":0, "x_y": 1}' >chat/generation_config.json
sed -i '1s/{/{ "task_x": {"a": 1e-7},/' chat/config.json
printf 'mine' >chat/notes.txt
cp -r chat as_it_was
# same FOLDER [BUT...]: the files that are not as they were, but for these
same() { local but=(-x notes.txt) f; for f in "${@:2}"; do but+=(-x "$f"); done; diff -rq "${but[@]}" as_it_was "$1" 2>&1; }

is "a copy has the same files, byte for byte" "" "$("$PRATTLE" convert chat again >/dev/null 2>&1; same again)"
is "a folder in its own place too" "" "$("$PRATTLE" convert chat chat --force >/dev/null 2>&1; same chat)"
is "  and the user's own" mine "$(cat chat/notes.txt)"
"$PRATTLE" convert chat again --force --dtype fp16 >/dev/null 2>&1
is "in another precision" "" "$(same again model.safetensors config.json)"
has "  config.json says so" '"torch_dtype": "float16"' "$(cat again/config.json)"
has "  and keeps what it does not know" '"task_x"' "$(cat again/config.json)"
# A run's checkpoint is the model that it began from, trained.
MODEL=./chat STEPS=2 train run micro_batch_size=1 >/dev/null 2>&1
is "a checkpoint has them" "" "$(same run/step-000002 model.safetensors config.json | grep -v "^Only in run")"
is "  also once it goes on" 0 "$("$PRATTLE" train resume run steps=4 >/dev/null 2>&1; echo $?)"
is "  with them again" "" "$(same run/step-000004 model.safetensors config.json | grep -v "^Only in run")"
# What becomes GGUF, and a folder again, has files of prattle's own.
"$PRATTLE" convert chat chat.gguf >/dev/null 2>&1 && "$PRATTLE" convert chat.gguf chat --force >/dev/null 2>&1
is "another model in its place has none of them" "merges.txt prattle.yaml tokenizer.json vocab.json" \
    "$(cd chat && echo chat_* *token* vocab* merges* prattle* special* | tr ' ' '\n' | grep -v '[*]' | sort -u | tr '\n' ' ' | sed 's/ $//')"
finish
