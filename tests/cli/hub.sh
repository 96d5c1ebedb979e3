#!/usr/bin/env bash
# Models by name, from a Hub on the loopback: the cache, the list of what is in it, and removal.
. "$(dirname "$0")/lib.sh.inc"
. "$(dirname "$0")/hub.sh.inc"
unset HF_TOKEN HUGGING_FACE_HUB_TOKEN
"$PRATTLE" convert random:gpt2,n_layer=2,n_embd=128,n_head=4,n_positions=64,vocab_size=1024@1 "$ROOT/org/tiny" >/dev/null 2>&1
cp -r "$ROOT/org/tiny" "$ROOT/openai-community/gpt2"
cd "$TMPDIR" || exit 1
words() { "$PRATTLE" "$@" --temperature 0 -n 4 -p "One day" 2>&1; }
local=$(words "$ROOT/org/tiny")

cp -r "$ROOT/org/tiny" "$ROOT/org/second"
echo "One day a cat sat." >text
serve
has "settings of a run tell of its model's download" "prattle: downloading org/second, 2.1 MB" \
    "$("$PRATTLE" train show finetune init=org/second data=text 2>&1)"
rm -rf "$CACHE"
has "a model by its name" "prattle: downloading gpt2, 2.1 MB, to $CACHE/models--gpt2" "$(words gpt2)"
is "  by which it is known" "org/tiny" "$("$PRATTLE" model -m org/tiny 2>/dev/null | head -n 1)"
: >"$LOG"
is "the second time from the cache" "$local" "$(words gpt2)"
is "  by its new name too" "$local" "$(words openai-community/gpt2)"
is "  with its revision" "$local" "$(words org/tiny@main)"
is "  with its commit" "$local" "$(words org/tiny@$COMMIT)"
is "  or the beginning that lists show" "$local" "$(words org/tiny@${COMMIT:0:7})"
is "  without a request" 0 "$(requests)"
stop_server
is "and without a server" "$local" "$(words --model org/tiny)"
is "offline" "$local" "$(HF_HUB_OFFLINE=1 words org/tiny)"
is "  by option" "$local" "$(words org/tiny --offline)"
is "  what is not there" "org/other is not in the cache $CACHE, and downloads are off (--offline or HF_HUB_OFFLINE)" \
    "$(words org/other --offline)"
is "  nor of what is there another revision" "org/tiny@older is not in the cache $CACHE, and downloads are off (--offline or HF_HUB_OFFLINE)" \
    "$(words org/tiny@older --offline)"
has "without a network" "org/other is not in the cache $CACHE, and cannot be downloaded: 127.0.0.1:" "$(words org/other)"
is "  at once" 1 "$(words org/other | wc -l)"

# Of weights alone, as Python may leave them, the rest is missed and not the model.
alone=$CACHE/models--w--alone
mkdir -p "$alone/refs" "$alone/snapshots/$COMMIT" && printf $COMMIT >"$alone/refs/main"
cp "$ROOT"/org/tiny/{config.json,model.safetensors} "$alone/snapshots/$COMMIT"
ids() { "$PRATTLE" generate --ids 1,2 --output ids -n 3 --temperature 0 "$@" 2>&1; }
is "weights without a tokenizer" \
    "prattle: the tokenizer of w/alone is not in the cache: downloads are off (--offline or HF_HUB_OFFLINE)
$(ids -m org/tiny)" "$(ids -m w/alone --offline)"
has "  without a network" "prattle: the tokenizer of w/alone is not in the cache: 127.0.0.1:" "$(ids -m w/alone)"
rm -r "$alone"

# Everywhere a model is named.
has "convert" "wrote out.gguf" "$("$PRATTLE" convert gpt2 out.gguf 2>&1)"
is "  to the same model" "$local" "$(words out.gguf)"
is "tokens" "$("$PRATTLE" tokens One -m "$ROOT/org/tiny")" "$("$PRATTLE" tokens One -m gpt2)"
has "eval kl" "eval kl: gpt2" "$("$PRATTLE" eval kl org/tiny text -m openai-community/gpt2 2>&1)"
has "random's tokenizer" "random:gpt2" "$("$PRATTLE" model -m random:gpt2,n_layer=1,n_embd=32,n_head=2,tokenizer=gpt2 2>&1)"
has "train" "finished" "$("$PRATTLE" train lora init=gpt2 data=text steps=2 sequence_length=4 micro_batch_size=1 folder=run 2>&1)"
has "the adapter of a run" "$CACHE/models--gpt2/snapshots/$COMMIT" "$(grep base_model run/*/adapter_config.json)"
sed -i "s|\"base_model_name_or_path\".*|\"base_model_name_or_path\": \"openai-community/gpt2\",|" run/*/adapter_config.json
has "an adapter whose base is a name" "adapter" "$("$PRATTLE" model -m "$(echo run/step-*)" 2>&1)"

# What is here comes first.
mkdir gpt2 && cp "$ROOT"/org/tiny/* gpt2/
has "a folder of that name wins" "prattle: gpt2 is the folder of that name here; \`gpt2@main\` is the model in the cache" "$(words gpt2)"
is "  not over a revision" "$local" "$(words gpt2@main)"
is "  which is said once" 1 "$("$PRATTLE" train lora init=gpt2 data=text steps=1 sequence_length=4 micro_batch_size=1 folder=once 2>&1 |
    grep -c 'of that name here')"
mkdir org
has "a name in a folder that is here is a path" "there is no model org/nothing: a model is a folder" "$(words org/nothing)"
has "  and its own revision is not" "org/nothing is not in the cache" "$(words org/nothing@main)"
has "a word alone is no name" "there is no model my-model: a model is a folder" "$(words my-model)"
rm -r gpt2 org

# The list.
list=$("$PRATTLE" hub --format csv)
is "the list" "name,bytes,used,revisions" "$(head -n 1 <<<"$list")"
is "  has both models" "gpt2 org/tiny" "$(tail -n +2 <<<"$list" | cut -d , -f 1 | paste -sd ' ')"
is "  their sizes" "$(cat "$ROOT"/org/tiny/{config,generation_config,tokenizer}.json "$ROOT"/org/tiny/model.safetensors | wc -c)" \
    "$(sed -n 's/^gpt2,\([0-9]*\),.*/\1/p' <<<"$list" | awk '{print $1 - 40}')"
is "  their revisions" "main 607a30d" "$(sed -n 's/^gpt2,.*,//p' <<<"$list")"
serve
has "get asks the Hub again" "$CACHE/models--gpt2/snapshots/$COMMIT" "$("$PRATTLE" hub get gpt2 2>&1)"
is "  for what it has, once" "HEAD /gpt2/resolve/main/config.json" "$(head -n 1 "$LOG" | cut -d ' ' -f 1,2)"
is "  and downloads nothing twice" 0 "$(grep -c ^GET "$LOG")"
mkdir "$TMPDIR/kept" && echo mine >"$TMPDIR/kept/file"
ln -s "$TMPDIR/kept" "$CACHE/models--gpt2/snapshots/link"; ln -s "$TMPDIR/kept/file" "$CACHE/models--gpt2/blobs/link"
mkdir -p "$CACHE/.locks/models--gpt2"
exec 8>"$CACHE/.locks/models--gpt2/hash.lock" && flock 8
is "what a process is downloading stays" "another process is downloading gpt2" "$("$PRATTLE" hub remove gpt2 2>&1)"
exec 8>&-
has "removal" "removed gpt2, 2.2 MB" "$("$PRATTLE" hub remove gpt2 2>&1)"
is "  follows no link" mine "$(cat "$TMPDIR/kept/file")"
is "  leaves nothing" "" "$(ls -d "$CACHE/models--gpt2" 2>/dev/null)"
has "removal of a revision, as the list has it" "removed org/tiny@607a30d, 2.2 MB" "$("$PRATTLE" hub remove org/tiny@607a30d 2>&1)"
is "  which was its last" "" "$(ls -d "$CACHE/models--org--tiny" 2>/dev/null)"
for name in .. ../root org/../tiny / "$TMPDIR/kept" models--org--tiny .locks 'org/tiny@../..'; do
    has "removal of $name" " " "$("$PRATTLE" hub remove "$name" 2>&1 | grep -E 'is not in the cache|must be a branch')"
done
has "usage" "usage: prattle hub [get NAME|remove NAME]" "$("$PRATTLE" hub clean all 2>&1)"
is "a failure is a status" 1 "$("$PRATTLE" hub remove nothing 2>/dev/null; echo $?)"

# kill -9 while it downloads; make long has more of them.
serve "GET /cdn/ 0 slow 40000"
whole=0
is "kill -9 loses nothing and leaves nothing that looks whole" "" "$(kills 0.02 0.09 8)"
serve "GET /cdn/ 0 slow 40000"
rm -rf "$CACHE"
"$PRATTLE" hub get org/tiny >one 2>&1 &
first=$!
two=$("$PRATTLE" hub get org/tiny 2>&1)
wait $first
is "two at once download once" 1 "$(grep -c '^GET /cdn/' "$LOG")"
is "  and both have it" "$CACHE/models--org--tiny/snapshots/$COMMIT" "$(cat one <(echo "$two") | grep -v '^prattle:' | sort -u)"
serve "GET /cdn/ 1 drop 100000" "GET /cdn/ 1 status 429 0" "GET /cdn/ 1 status 503"
rm -rf "$CACHE"
said=$(words org/tiny)
has "what passes is said" "has had too many requests (HTTP 429); trying again in 0 s (3 of 6)" "$said"
has "  each time" "answers HTTP 503; trying again in 4 s (4 of 6)" "$said"
is "  and the model is there" "$(tail -n 1 <<<"$local")" "$(tail -n 1 <<<"$said")"
rm -rf "$CACHE"
serve "GET /cdn/ 1 status 429 Sat, 01 Jan 2000 00:00:00 GMT" "GET /cdn/ 1 status 429 Fri, 01 Jan 2100 00:00:00 GMT"
said=$("$PRATTLE" hub get org/tiny 2>&1)
has "a date to try again at" "(HTTP 429); trying again in 0 s (2 of 6)" "$said"
has "  that is far off" "(HTTP 429), and asks to wait 2" "$said"
"$PRATTLE" hub get org/tiny >/dev/null 2>&1
said=$(HF_HUB_CACHE=$LOG "$PRATTLE" hub 2>&1)
has "a cache that is a file is said" "$LOG, which is a file; HF_HUB_CACHE and HF_HOME name folders" "$said"
has "  of a model too" "which is a file; HF_HUB_CACHE and HF_HOME name folders" "$(HF_HUB_CACHE=$LOG "$PRATTLE" model org/other 2>&1)"
serve
rm -rf "$CACHE"
elsewhere() { find "$TMPDIR" -type f ! -path "$HF_HOME/*" ! -path "$LOG" -printf '%p %T@\n' | sort; }
before=$(elsewhere)
is "a download" "$local" "$(words org/tiny | grep -v '^prattle:')"
is "  leaves the cache and nothing else" "" "$(comm -3 <(echo "$before") <(elsewhere))"
finish
