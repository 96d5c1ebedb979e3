#!/usr/bin/env bash
# Repositories of GGUF files, from a Hub on the loopback.
. "$(dirname "$0")/lib.sh.inc"
. "$(dirname "$0")/hub.sh.inc"
unset HF_TOKEN
mkdir -p "$ROOT"/org/{one,several,both}
tiny=random:gpt2,n_layer=2,n_embd=64,n_head=4,n_positions=64,vocab_size=512@1
"$PRATTLE" convert "$tiny" "$ROOT/org/one/tiny.gguf" >/dev/null 2>&1
for d in F16:fp16 Q8_0:q8; do "$PRATTLE" convert "$tiny" "$ROOT/org/several/tiny.${d%:*}.gguf" --dtype ${d#*:} >/dev/null 2>&1; done
cp "$ROOT/org/several/tiny.F16.gguf" "$ROOT/org/several/other-f16.gguf"
"$PRATTLE" convert "$tiny" "$ROOT/org/plain" >/dev/null 2>&1
cp "$ROOT/org/plain/config.json" "$ROOT/org/one/tiny.gguf" "$ROOT/org/both/"
echo "# A repository" >"$ROOT/org/several/README.md"
cd "$TMPDIR" || exit 1
words() { "$PRATTLE" "$@" --temperature 0 -n 4 -p "One day" 2>&1 | grep -v downloading; }
serve
is "the only file is the model" "$(words "$ROOT/org/one/tiny.gguf")" "$(words org/one)"
: >"$LOG"
is "  from the cache, the second time" "$(words "$ROOT/org/one/tiny.gguf")" "$(words org/one)"
is "  by its name" "$(words "$ROOT/org/one/tiny.gguf")" "$(words org/one/tiny.gguf)"
is "  and by revision" "$(words "$ROOT/org/one/tiny.gguf")" "$(words org/one/tiny.gguf@main)"
is "  without a request" 0 "$(requests)"
several="org/several has 3 GGUF files: name one as org/several/FILE.gguf, or as org/several:Q8_0; there are other-f16.gguf, tiny.F16.gguf, tiny.Q8_0.gguf"
is "of several one is named" "$several" "$(words org/several)"
is "by quantization" "$(words "$ROOT/org/several/tiny.Q8_0.gguf")" "$(words org/several:q8_0)"
has "  which may be of two" "org/several has 2 GGUF files of F16: name one as org/several/FILE.gguf" "$(words org/several:F16)"
has "  or of none" "org/several has no GGUF file of Q4_0; there are other-f16.gguf, tiny.F16.gguf, tiny.Q8_0.gguf" "$(words org/several:Q4_0)"
is "by its file" "$(words "$ROOT/org/several/tiny.F16.gguf")" "$(words --model org/several/tiny.F16.gguf)"
has "  which is not there" "org/several has no nothing.gguf; there are other-f16.gguf" "$(words org/several/nothing.gguf)"
has "  nor is the repository" "has no model org/none, or it is private" "$(words org/none/tiny.gguf)"
is "beside a config.json" "$(words "$ROOT/org/one/tiny.gguf")" "$(words org/both)"
is "weights of Hugging Face come first" "0" "$(cp "$ROOT/org/one/tiny.gguf" "$ROOT/org/plain/"; : >"$LOG"; words org/plain >/dev/null; grep -c gguf "$LOG")"
rm -rf "$CACHE" && mkdir "$ROOT/org/empty" && echo text >"$ROOT/org/empty/README.md"
has "no model at all" "org/empty has no config.json: it is not a model that prattle loads" "$(words org/empty)"
has "no GGUF" "org/empty has no GGUF files" "$(words org/empty:Q8_0)"
has "get" "$CACHE/models--org--one/snapshots/$COMMIT/tiny.gguf" "$("$PRATTLE" hub get org/one 2>&1)"
has "in the list" "org/one" "$("$PRATTLE" hub --format csv | tail -n +2 | cut -d , -f 1)"
has "a file of it is not removed alone" "org/one/tiny.gguf is not in the cache" "$("$PRATTLE" hub remove org/one/tiny.gguf 2>&1)"
stop_server
is "offline" "$(words "$ROOT/org/one/tiny.gguf")" "$(words org/one --offline)"
has "  what is not there" "org/several:Q8_0 is not in the cache $CACHE, and downloads are off" "$(words org/several:Q8_0 --offline)"
has "  nor without a network" "; without a network, fetch the Q8_0 GGUF file of https://huggingface.co/org/several and load that" \
    "$(words org/several:Q8_0@v1)"
has "    by its file" "org/several/x.gguf@v1 is not in the cache" "$(words org/several/x.gguf@v1)"
has "    which is to be fetched" "; without a network, fetch x.gguf of https://huggingface.co/org/several and load that" \
    "$(words org/several/x.gguf@v1)"
serve
for f in other-f16 tiny.Q8_0; do words org/several/$f.gguf >/dev/null; done
stop_server
for where in --offline --seed=1; do
    has "several in the cache ($where)" "; of its files the cache $CACHE has other-f16.gguf, tiny.Q8_0.gguf: name one as org/several/FILE.gguf" \
        "$(words org/several $where)"
done
has "  and another is wanted" "org/several:Q4_0 cannot be downloaded: downloads are off (--offline or HF_HUB_OFFLINE); of its files" "$(words org/several:Q4_0 --offline)"
is "  by quantization" "$(words "$ROOT/org/several/tiny.Q8_0.gguf")" "$(words org/several:Q8_0 --offline)"
mkdir -p org/one && cp "$ROOT/org/several/tiny.Q8_0.gguf" org/one/tiny.gguf
is "a file of that name comes first" "$(words "$ROOT/org/several/tiny.Q8_0.gguf")" "$(words org/one/tiny.gguf | tail -n 1)"
finish
