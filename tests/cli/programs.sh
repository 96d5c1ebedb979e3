#!/usr/bin/env bash
# tokens, logits, generate, convert, options and errors, as another program would use them.
. "$(dirname "$0")/lib.sh.inc"
p() { "$PRATTLE" "$@" 2>&1; }
status() { "$PRATTLE" "$@" >/dev/null 2>&1 </dev/null; echo $?; }

ids=$(p tokens --model $MODEL "My name")
is "tokens: an id for each byte" 7 "$(tr ',' '\n' <<<"$ids" | wc -l)"
is "tokens from standard input" "$ids" "$(printf 'My name' | "$PRATTLE" tokens --model $MODEL)"
is "and a text of tokens" "My name" "$(p tokens --model $MODEL --ids "$ids")"
has "  which there are" "the tokenizer has no token 300" "$("$PRATTLE" tokens --model $MODEL --ids 1,300 2>&1)"
has "  or a text" "give a text or --ids, not both" "$("$PRATTLE" tokens --model $MODEL --ids 1 a 2>&1)"
is "the end of text is text" 13 "$(p tokens -m $MODEL '<|endoftext|>' | tr ',' '\n' | wc -l)"
is "unless asked for" 256 "$(p tokens -m $MODEL --special '<|endoftext|>')"
is "any bytes" 4 "$(printf '\xff\x00\xc3\x80' | "$PRATTLE" tokens -m $MODEL | tr ',' '\n' | wc -l)"

is "model: the one that is named" "$(p model -m $MODEL)" "$(p model $MODEL)"
has "which must be there" "there is no model ./no-model" "$(p model ./no-model)"
has "and be one" "two models" "$(p model $MODEL -m $MODEL)"

a=$(p generate --model $MODEL --ids "$ids" --greedy --max-new-tokens 8 --output ids)
is "generate: eight ids" 8 "$(tr ',' '\n' <<<"$a" | wc -l)"
is "the same from text" "$a" "$(p generate --model $MODEL "My name" --greedy --max-new-tokens 8 --output ids)"
is "greedy is temperature 0" "$a" "$(p generate --model $MODEL --ids "$ids" --temperature 0 -n 8 --output ids)"
is "blanks between ids" "$a" "$(p generate --model $MODEL --ids "${ids//,/ }" --greedy -n 8 --output ids)"
is "the device loop and steps agree" "$a" "$(p generate --model $MODEL --ids "$ids" --greedy -n 8 --output ids --device-loop off)"
is "so do hand-overs of 5" "$a" "$(p generate --model $MODEL --ids "$ids" --greedy -n 8 --output ids --device-iterations 5)"
is "so do portable kernels" "$a" "$(p generate --model $MODEL --ids "$ids" --greedy -n 8 --output ids --kernels portable)"

small="random:$PWD/tests/cli/data/config.json,n_layer=1@9"
for how in off lookup "$small" "${MODEL}@4"; do
    is "speculate $how: the same ids" "$a" "$(p generate --model $MODEL --ids "$ids" --greedy -n 8 --output ids --speculate "$how")"
done
is "a batch drafted by a model" "$(printf 'one\ntwo one two\n' | "$PRATTLE" -m $MODEL -n 9 --seed 4)" \
    "$(printf 'one\ntwo one two\n' | "$PRATTLE" -m $MODEL -n 9 --seed 4 --speculate "$small")"
is "what others leave without effect is told" "prattle: dry_base is not used: dry_multiplier is 0" \
    "$("$PRATTLE" -m $MODEL --dry-base 3 --seed 1 -n 1 -p a 2>&1 >/dev/null)"
is "  of a batch once" "prattle: top_k is not used: temperature is 0" \
    "$(printf 'a\nb\n' | "$PRATTLE" -m $MODEL --greedy --top-k 3 -n 1 2>&1 >/dev/null)"
is "  and not where lines may have more" "" \
    "$(printf '{"prompt":"a","dry_multiplier":1}\n' | "$PRATTLE" -m $MODEL --jsonl --dry-base 3 --seed 1 -n 1 2>&1 >/dev/null)"
has "another tokenizer cannot draft" "speculate: bundled has another tokenizer than" "$(p generate a -m $MODEL --speculate bundled)"
has "nor what is not there" "speculate: cannot open /no/model" "$(p generate a -m $MODEL --speculate /no/model)"
has "a line's model is not loaded" '"error":"speculate must be auto, off or lookup in a single line, not /no/model"' "$(printf '{"prompt": "a", "speculate": "/no/model"}\n' | "$PRATTLE" -m $MODEL --jsonl -n 2 2>&1)"

has "--ids with none" "ids is empty" "$(p generate --model $MODEL --ids '')"
has "  of logits too" "ids is empty" "$(p logits --model $MODEL --ids '')"
has "--out with no name" "out is empty: --out FILE.npy names a file" "$(p logits --model $MODEL --ids "$ids" --out '')"
rm -f "$TMPDIR"/*.npy
top=$(p logits --model $MODEL --ids "$ids" --out "$TMPDIR/last.npy")
is "logits: the likeliest is what greedy takes" "${a%%,*}" "$(awk 'NR == 1 {print $1}' <<<"$top")"
p logits --model $MODEL --ids "$ids" --all --out "$TMPDIR/all.npy" >/dev/null
is "the last row of --all is the last" "$(tail -c $((257 * 4)) "$TMPDIR/last.npy" | md5sum)" "$(tail -c $((257 * 4)) "$TMPDIR/all.npy" | md5sum)"
is "NumPy's header" "(7, 257)" "$(head -c 128 "$TMPDIR/all.npy" | grep -ao '(7, 257)')"
is "its size" $((128 + 7 * 257 * 4)) "$(stat -c %s "$TMPDIR/all.npy")"
is "logits: so many" "3" "$(p logits --model $MODEL --ids "$ids" --top 3 | wc -l)"
has "a file is not overwritten" "exists already; --force" "$(p logits --model $MODEL --ids 1 --out "$TMPDIR/all.npy")"
has "an id the model has not" "0 to 256" "$(p logits --model $MODEL --ids 300)"
has "no ids" "not a token ID; give them as 1,2,3" "$(p logits --model $MODEL --ids a,b)"
has "ids and text" "not both" "$(p logits --model $MODEL --ids 1 text)"

details() { p model --model "$1" | sed -n 's/^ *details *//p'; }
for row in "gelu_new=tanh GELU" "gelu=exact GELU" "relu=ReLU" "swish=SiLU" "quick_gelu=quick GELU" "tanh=tanh activation"; do
    sed "s/{/{\"activation_function\": \"${row%%=*}\", /" tests/cli/data/config.json >"$TMPDIR/activation.json"
    is "${row%%=*} is ${row#*=}" "${row#*=}, tied head" "$(details "random:$TMPDIR/activation.json")"
done
rm -f "$TMPDIR/a.gguf"
has "what other programs do not know is said" "GGUF cannot say the tanh activation" "$(p convert "random:$TMPDIR/activation.json" "$TMPDIR/a.gguf")"
is "and comes back" "tanh activation, tied head" "$(details "$TMPDIR/a.gguf")"

rm -rf "$TMPDIR/hf" "$TMPDIR/back" "$TMPDIR/m.gguf"
is "convert to a folder" 0 "$(status convert $MODEL "$TMPDIR/hf")"
is "which answers as the source" "$a" "$(p generate "--model=$TMPDIR/hf" --ids "$ids" --greedy -n 8 --output ids)"
is "convert to GGUF" 0 "$(status convert "$TMPDIR/hf" "$TMPDIR/m.gguf")"
is "which answers the same" "$a" "$(p generate -m "$TMPDIR/m.gguf" --ids "$ids" --greedy -n 8 --output ids)"
is "and back" 0 "$(status convert "$TMPDIR/m.gguf" "$TMPDIR/back")"
is "bit for bit" "$(md5sum <"$TMPDIR/hf/model.safetensors")" "$(md5sum <"$TMPDIR/back/model.safetensors")"
for name in m.safetensors pytorch_model.bin; do
    has "no folder is called $name" "name a folder" "$(p convert $MODEL "$TMPDIR/$name")"
done
has "one model is enough" "and another with --model" "$(p "$TMPDIR/hf" --model $MODEL -p x)"
has "help for what is none" "there is no command, setting or topic nosuch" "$(p help nosuch)"
has "ids with nothing between" "is not a token ID" "$(p logits --model $MODEL --ids 1,,3)"
mkdir "$TMPDIR/bare" && cp "$TMPDIR"/hf/{config.json,model.safetensors} "$TMPDIR/bare"
has "ids of a model without a tokenizer" "--output ids prints their IDs" "$(p generate --model "$TMPDIR/bare" --ids 1,2 -n 2)"
is "and are printed" 2 "$(p generate --model "$TMPDIR/bare" --ids 1,2 -n 2 --ignore-eos --output ids | tr , '\n' | wc -l)"
has "nothing is overwritten" "exists already" "$(p convert $MODEL "$TMPDIR/m.gguf")"
is "but with --force" 0 "$(status convert $MODEL "$TMPDIR/m.gguf" --dtype fp16 --force)"
is "as fp16 it is half as large" 1 "$(($(stat -c %s "$TMPDIR/m.gguf") < $(stat -c %s "$TMPDIR/hf/model.safetensors")))"
is "and answers the same again" "$a" "$(p generate -m "$TMPDIR/m.gguf" --ids "$ids" --greedy -n 8 --output ids)"
small=tests/fuzz/corpus/gguf/quantized.gguf
has "a quantized model has its types" "Q4_1, Q3_K, Q4_0, Q5_0, Q5_1 and Q8_0 in the file, fp16 in memory" "$(p model --model $small)"
has "and is converted to its values" "written as F32, which holds their exact values" "$(p convert $small "$TMPDIR/exact.gguf")"
is "which answer the same" "$(p logits --model $small --ids 1,2,3 --dtype fp32)" "$(p logits --model "$TMPDIR/exact.gguf" --ids 1,2,3 --dtype fp32)"

one=$(p $MODEL -p "My name is " -n 8 --seed 3)
is "-p: the same seed, the same text" "$one" "$(p $MODEL --seed 3 -n8 --prompt="My name is ")"
is "--model and a first word are the same" "$one" "$(p --model $MODEL --seed 3 -n8 -p "My name is ")"
is "--echo begins with the prompt" "My name is $one" "$(p $MODEL --seed 3 -n8 --echo -p "My name is ")"
is "--begin puts the begin token first" "$(p $MODEL -p "<|endoftext|>My name" --special -n 8 --seed 3)" "$(p $MODEL -p "My name" --begin -n 8 --seed 3)"
is "  once" "$(p $MODEL -p "My name" --begin -n 8 --seed 3)" "$(p $MODEL -p "<|endoftext|>My name" --begin --special -n 8 --seed 3)"
is "  of piped prompts too" "My name$(p $MODEL -p "My name" --begin -n 8 --seed 3 --ignore-eos --raw | tr -d '\0' | md5sum)" \
    "My name$(echo "My name" | "$PRATTLE" $MODEL --begin -n 8 --seed 3 --ignore-eos --no-echo --raw | tr -d '\0' | md5sum)"
is "three sequences" 3 "$(p generate -m $MODEL --ids 1 -n 2 --ignore-eos --num-return-sequences 3 --output ids | grep -c ,)"
is "--verbose begins a line of its own" "[1 prompt token in" "$("$PRATTLE" $MODEL -p a -n 4 -v --seed 1 --grammar 'root ::= "bcde"' 2>&1 | sed -n '2s/\(token in\).*/\1/p')"
has "--verbose reports" "ms per token" "$(p $MODEL -p a -n 4 -v --seed 1 | tr -d '\0')"
b="--ignore-eos --logit-bias 98:1000 --speculate"
has "  drafts that were accepted" "; 22 of 22 drafted tokens accepted]" "$(p $MODEL -p "abcabcabc" -n 30 -v $b lookup | tr -d '\0')"
is "  none without drafts" "" "$(p $MODEL -p "abcabcabc" -n 30 -v $b off | tr -d '\0' | grep drafted)"
has "  and those of a batch" "; 44 of 44 drafted tokens accepted; seed" "$(printf 'abcabcabc\nababab\n' | "$PRATTLE" $MODEL -n 30 -v $b lookup 2>&1 >/dev/null)"
has "--version" "prattle " "$(p --version)"
is "  as a word too" "$(p --version)" "$(p version)"
has "a full disk is said" "cannot write to standard output: No space left" "$("$PRATTLE" help 2>&1 >/dev/full)"
is "  and a failure" 1 "$("$PRATTLE" help >/dev/full 2>&1; echo $?)"
has "  nor is it missed on the way" "cannot write all of it to standard output" \
    "$("$PRATTLE" help settings --format markdown 2>&1 >/dev/full)"
is "a reader that goes is not" "status 0" \
    "$({ { "$PRATTLE" help settings --format markdown; echo "status $?" >&2; } | true; } 2>&1)"
is "  nor later" "status 0" "$({ { "$PRATTLE" help training; echo "status $?" >&2; } | head -c 1 >/dev/null; } 2>&1)"

# Every error is one sentence and a status of 1.
refuse() { local name=$1 part=$2; shift 2; has "$name" "$part" "$("$PRATTLE" "$@" 2>&1 </dev/null)"; is "  and its status" 1 "$(status "$@")"; }
refuse "an unknown option" "did you mean top_k?" --topk 3
refuse "an option that llama.cpp has" "there is no setting ctx_size; the context is as long as the model's" $MODEL --ctx-size 4 -p a
refuse "  with no before it" "there is no setting no_mmap; memory sets a limit, in GB" $MODEL --no-mmap -p a
refuse "  near a name of ours" "there is no setting verbose_prompt; \`prattle tokens TEXT\`" $MODEL --verbose-prompt -p a
refuse "  that a template does" "there is no setting in_prefix; template is a text with {prompt} in it" $MODEL --in-prefix Q: -p a
refuse "  abbreviated" "there is no option -ngl; prattle computes on CPUs" $MODEL -ngl 99 -p a
refuse "  to one letter" "there is no option -c; the context" $MODEL -c 99 -p a
refuse "  to a switch of ours" "there is no option -hf; a model of the Hub" -hf org/name -p a
refuse "  of texts that end" "there is no option -r; stop has the texts that end an answer" $MODEL -r . -p a
refuse "an option that transformers has" "there is no setting max_length; max_new_tokens counts the tokens of the answer" $MODEL --max-length 5 -p a
refuse "or what is only like one" "top_p must be 0 to 1, not 7" $MODEL -p -c --top-p 7
refuse "  and the file of prompts" "prattle does not take --force; \`prattle < FILE\`" $MODEL -f prompts.txt
refuse "a value out of range" "top_p must be 0 to 1, not 2" $MODEL --top-p 2 -p a
refuse "  that says no limit elsewhere" "0 to 1e6, not -1; a large one ends with the context" $MODEL -n -1 -p a
refuse "  or any seed" "0 or more, not -1; 0 is a new one each time" $MODEL --seed -1 -p a
refuse "a switch in the place of a way" "speculate must be auto, off, lookup or a model, and there is no model on" $MODEL --speculate on -p a
refuse "a file of a kind that is not written" "x.onnx: name a folder, which gets a model.safetensors" convert $MODEL x.onnx
refuse "a value that is none" "top_k must be a whole number" $MODEL --top-k 1.5 -p a
refuse "a missing value" "--seed needs a value" $MODEL --seed
refuse "run, as other programs have it" "there is no command run; did you mean \`prattle gpt2\`?" run gpt2
refuse "chat" "did you mean \`prattle gpt2\`?" chat gpt2
refuse "with a prompt" "did you mean \`prattle gpt2 -p PROMPT\`?" run gpt2 "Once upon"
refuse "without a model" "did you mean \`prattle MODEL\`?" run
refuse "pull" "did you mean \`prattle hub get gpt2\`?" pull gpt2
refuse "list" "did you mean \`prattle hub\`?" list
refuse "ls" "did you mean \`prattle hub\`?" ls
refuse "what quantizes" "did you mean \`prattle convert MODEL FILE.gguf --dtype q8\`?" quantize a.gguf b.gguf q8_0
refuse "tokenize, which is near tokenizer" "did you mean \`prattle tokens\`?" tokenize x
refuse "serve" "prattle has no server; \`prattle --jsonl\` reads prompts as JSON lines from a pipe" serve
refuse "an option of a run where none is" "eval has no option --steps; did you mean \`--limit\`?" eval my.txt --steps 3
refuse "with dashes" "eval has no option --micro_batch_size; did you mean \`--batch_size\`?" eval my.txt --micro-batch-size 3
refuse "which nothing is like" "eval has no option --rank, which is a setting of train" eval my.txt --rank 3
refuse "where limit is none either" "tokens has no option --steps, which is a setting of train" tokens --steps 3
refuse "but of a run it is" "steps is a training setting, written without --: steps=VALUE" train finetune --steps 3
refuse "or of a run's profile" "steps is a training setting, written without --" profile x.json train --steps 3
refuse "a misspelt command" "did you mean \`prattle tokens\`?" tokns
refuse "a misspelt command with words behind it" "did you mean \`prattle convert\`?" convrt a b
refuse "what a command does" "there is no command and no model lambada; did you mean \`prattle eval lambada\`?" lambada
refuse "a prompt where a model is expected" "there is no model My name is; \`prattle -p 'My name is'\` answers a prompt" "My name is"
refuse "a prompt without its quotes" "name: one model at a time; a prompt of several words stands in quotes" $MODEL -p My name
refuse "a command of the prompt" "works only at the prompt, as :why" why
refuse "an option that is not the command's" "devices does not take --ids" devices --ids 1
refuse "a setting that the command does not read" "train does not take --save-samples" train $MODEL --save-samples "$TMPDIR/no"
refuse "  which a run has by itself" "train does not take --seq-length; a run's is written sequence_length=VALUE" train $MODEL --seq-length 16
refuse "and of answers" "tokens does not take --temperature" tokens x --temperature 2
refuse "and of evaluations" "generate does not take --seq-length" generate --model $MODEL --seq-length 3 x
refuse "a second prompt" "prompt is given twice" $MODEL -p a -p b
refuse "a second adapter" "lora is given twice" $MODEL --lora a --lora b -p a
refuse "a list in two options" "stop is given twice: one option has all of its values, divided by commas" $MODEL --stop a --stop b -p a
refuse "an option of commands" "prattle does not take --all" $MODEL --all -p a
refuse "too few words" "usage: prattle convert IN OUT" convert a
refuse "no model" "no model: --model PATH" --model "" -p a
refuse "a model that is not there" "/no/such/model" /no/such/model -p a
# libcurl's own words, "Couldn't connect" and since version 8.12 "Could not connect", are left out.
refuse "GPT-2 by its name alone" "gpt2 is not in the cache $HF_HOME/hub, and cannot be downloaded: 127.0.0.1:1: Could" gpt2 -p a
refuse "  without a network" " connect to server; without a network, put config.json, model.safetensors and tokenizer.json of https://huggingface.co/openai-community/gpt2 into a folder and load that" gpt2 -p a
refuse "  as --model, by its full name" "https://huggingface.co/openai-community/gpt2-xl" eval "$TMPDIR" --model openai-community/gpt2-xl
refuse "  as a folder" "there is no file or folder ./gpt2; gpt2 alone is the model of that name on the Hub, random:gpt2 its shape with random weights" ./gpt2 -p a
"$PRATTLE" convert $MODEL "$TMPDIR/wordless" >/dev/null 2>&1
rm -f "$TMPDIR"/wordless/{vocab.json,merges.txt,tokenizer.json}
refuse "a text for a model without a tokenizer" "tokenizer.json); \`prattle generate --ids 1,2,3 --output ids\` takes and prints token IDs" "$TMPDIR/wordless" -p a
is "  which it does" 4 "$("$PRATTLE" generate --model "$TMPDIR/wordless" --ids 1,2,3 -n 4 --seed 1 --ignore-eos --output ids | tr , '\n' | grep -c .)"
printf 'Once upon a time, \xc3\xa9.\n' >"$TMPDIR/my.txt"
refuse "a text is no model" "my.txt is a text file, not a model; \`prattle eval $TMPDIR/my.txt\` measures the model on it, \`prattle train finetune data=$TMPDIR/my.txt\` trains on it, \`prattle batch $TMPDIR/my.txt\` answers its lines" "$TMPDIR/my.txt" -p a
mkdir -p "$TMPDIR/$(printf '%080d' 0)" && cp "$TMPDIR/my.txt" "$TMPDIR/$(printf '%080d' 0)"
refuse "  of a long name" "\`prattle batch FILE\` answers its lines" "$TMPDIR/$(printf '%080d' 0)/my.txt" -p a
printf '\xff\xfe\x00' >"$TMPDIR/my.dat"
is "other bytes are no text" 0 "$(p "$TMPDIR/my.dat" -p a | grep -c 'text file')"
refuse "  nor a model" "my.dat is not a model" "$TMPDIR/my.dat" -p a
printf 'caf\xe9 au lait\n' >"$TMPDIR/latin1.txt"
refuse "nor can it be written as one" "my.txt is a text file, not a model; \`prattle eval" convert "$TMPDIR/my.txt" "$TMPDIR/none"
refuse "a text in Latin-1" "latin1.txt is a text file, not a model" "$TMPDIR/latin1.txt" -p a
printf '\xff\xfeo\0n\0e\0' >"$TMPDIR/utf16.txt"
refuse "a text in UTF-16" "utf16.txt is a text file, not a model" "$TMPDIR/utf16.txt" -p a
printf 'PK\3\4\24\0\6\0' >"$TMPDIR/my.docx"
refuse "a Word document" "my.docx is a Word document, not a model" "$TMPDIR/my.docx" -p a
mkdir "$TMPDIR/texts" && cp "$TMPDIR/my.txt" "$TMPDIR/texts"
refuse "a folder of texts" "nor either's index; it has texts: \`prattle train finetune data=$TMPDIR/texts\` trains on them" "$TMPDIR/texts" -p a
mkdir "$TMPDIR/half"; echo a text >"$TMPDIR/half/NOTE.txt"; echo '#version: 0.2' >"$TMPDIR/half/merges.txt"
is "  a model's that lacks files is none" 0 "$("$PRATTLE" "$TMPDIR/half" -p a 2>&1 | grep -c 'it has texts')"
(cd "$TMPDIR" && "$PRATTLE" train finetune data=my.txt steps=1 epochs=0 sequence_length=8 eval_every=0 folder=many/one --model $MODEL >/dev/null 2>&1)
refuse "a folder of runs" "many is a folder of runs; the newest is $TMPDIR/many/one" train finetune init="$TMPDIR/many" data="$TMPDIR/my.txt"
refuse "  for its tokenizer" "many is a folder of runs; the newest is $TMPDIR/many/one" tokens --model "$TMPDIR/many" a
printf 'a text' >"$TMPDIR/my.gguf"
is "nor is a damaged model" 0 "$(p "$TMPDIR/my.gguf" -p a | grep -c 'text file')"
printf '<!DOCTYPE html><html>' >"$TMPDIR/page"
refuse "a page of a web site" "the file is an HTML page" "$TMPDIR/page" -p a
refuse "a program" "sh: the file is a program, not a model" /bin/sh -p a
refuse "a folder without a model" "has no weights" "$TMPDIR" -p a
refuse "a command behind a model" "the command comes first: \`prattle tokens --model $MODEL\`" $MODEL tokens a
refuse "two models" "one model at a time" $MODEL other -p a
refuse "unknown kernels" "kernels" $MODEL --kernels sse -p a
refuse "beams and contrastive search" "exclude each other" $MODEL --num-beams 2 --penalty-alpha 0.5 --top-k 4 -p a
mkdir "$TMPDIR/loop"
echo "{\"peft_type\":\"LORA\",\"r\":4,\"target_modules\":[\"c_attn\"],\"base_model_name_or_path\":\"random:gpt2,tokenizer=$TMPDIR/loop\"}" >"$TMPDIR/loop/adapter_config.json"
refuse "an adapter that is its own tokenizer" "not borrowed from an adapter" "$TMPDIR/loop" -p a
refuse "a tokenizer of a tokenizer of" "nor from what borrows itself" random:gpt2,tokenizer=random:gpt2,tokenizer=x -p a
refuse "a switch of what is none" "top_k must be a whole number" $MODEL --no-top-k -p a
(cd "$TMPDIR" && p $MODEL -n 1 -p a --no-save-samples --no-stop >/dev/null)
is "a text of none is no text" "" "$(compgen -G "$TMPDIR/off*")"
refuse "a text longer than the context" "256" $MODEL -p "$(head -c 1000 /dev/zero | tr '\0' a)"

# A signal is for the thread that waits for it: all others (a library's, the team's) hold it back.
coproc waiting { exec "$PRATTLE" $MODEL -n 1 --threads 2 2>&1; }
pid=$waiting_PID
echo a >&${waiting[1]}
read -r -t 20 _ <&${waiting[0]}
masks=$(for t in /proc/$pid/task/*; do
    [ ${t##*/} == $pid ] || echo $((0x$(sed -n 's/^SigBlk:\t//p' $t/status) >> 14 & 1))
done | sort | uniq)
is "threads that hold back SIGTERM" 1 "$masks"
kill -TERM $pid
wait $pid
is "and it ends the program" 143 $?
# Wherever it comes: while standard input is waited for, or the last answer there is is being made.
ends() { # NAME ARGUMENT...
    local name=$1 pid; shift
    coproc busy { exec "$PRATTLE" "$@" 2>&1; }
    pid=$busy_PID
    printf '%0200d' 0 >&${busy[1]}
    [ "$name" == tokens ] || echo >&${busy[1]}
    sleep 0.2
    kill -TERM $pid
    for _ in $(seq 100); do kill -0 $pid 2>/dev/null || break; sleep 0.1; done
    kill -KILL $pid 2>/dev/null
    wait $pid
    is "SIGTERM ends $name" 143 $?
}
ends tokens tokens -m $MODEL
ends "the last piped line" random:gpt2,n_layer=4 --threads 1 -n 20
# nohup: what was ignored stays so, and a background job is not for the terminal's Ctrl-C.
coproc deaf { trap '' HUP INT; exec "$PRATTLE" tokens -m $MODEL 2>&1; }
pid=$deaf_PID
caught() { printf %x $((0x$(sed -n 's/^SigCgt:\t//p' /proc/$pid/status) & 0x4003)); }
for _ in $(seq 200); do
    [ /proc/$pid/exe -ef "$PRATTLE" ] && [ "$(caught)" != 0 ] && break
    sleep 0.1
done
is "HUP and INT ignored before are not caught, TERM is" 4000 "$(caught)"
kill -TERM $pid
wait $pid 2>/dev/null

has "the environment chooses the kernels" "portable" "$(PRATTLE_KERNELS=portable p devices -m $MODEL)"
has "and by a name that there is" "PRATTLE_KERNELS is abacus, this machine has: auto, portable" \
    "$(PRATTLE_KERNELS=abacus p $MODEL -p x -n 1 2>&1)"
has "a setting wins over it" "portable" "$(PRATTLE_KERNELS=abacus p devices -m $MODEL --kernels portable)"

if [ "$(nproc)" -gt 1 ]; then
    has "one thread of several processors is free" "1, not pinned" "$(p devices -m $MODEL --threads 1)"
fi
has "a thread for each is pinned" "$(nproc), pinned" "$(p devices -m $MODEL)"

export XDG_CONFIG_HOME=$TMPDIR/config
mkdir -p "$XDG_CONFIG_HOME/prattle"
f=$XDG_CONFIG_HOME/prattle/settings.yaml
printf 'seed: 3\nmax-new-tokens: 8\n' >"$f"
is "the settings file" "$one" "$(p $MODEL -p "My name is ")"
is "the command line wins over it" "$(p $MODEL -p "My name is " --seed 4)" "$(printf 'seed: 4\nmax_new_tokens: 8\n' >"$f"; p $MODEL -p "My name is ")"
printf 'seed: 3\ntop_kk: 4\n' >"$f"
printf 'seed: 3\nstop_token: no one token\n' >"$f"
refuse "a mistake that the model shows" "settings.yaml line 2: stop_token must be " $MODEL -p x
printf 'seed: 3\n\nmodel: %s\n' "$TMPDIR/none" >"$f"
refuse "a model that is not there" "settings.yaml line 3: cannot open $TMPDIR/none: No such file" -p x
printf 'seed: 3\nlora: %s\n' "$TMPDIR/none" >"$f"
refuse "nor an adapter" "settings.yaml line 2: cannot load the adapter $TMPDIR/none" $MODEL -p x
printf 'seed: 3\ntop_kk: 4\n' >"$f"
refuse "a mistake in it" "settings.yaml line 2: there is no setting top_kk; did you mean top_k?" --version
finish
