#!/usr/bin/env bash
# What bench train says, but not how much: a time is no test.
. "$(dirname "$0")/lib.sh.inc"
rows=$("$PRATTLE" bench train=2x16 --model $MODEL --format csv 2>&1); is "training is measured" 0 $?
is "its speed, its parts, and no more" \
    "what|training, 2 x 16|training, 2 x 16|matrices|attention|LayerNorm|activation|loss|optimizer|attention to optimizer|waits|rest" \
    "$(sed 's/^"*//; s/"*,[0-9m].*//; s/"$//; s/^ *//' <<<"$rows" | paste -sd'|')"
has "several sizes are all measured" "training, 1 x 16|training, 2 x 8|" \
    "$("$PRATTLE" bench train=1x16 train=2x8 --model $MODEL --format csv 2>&1 | grep -o "training, [12] x [0-9]*" | uniq | tr '\n' '|')"
err=$("$PRATTLE" bench train=0x16 --model $MODEL 2>&1); is "a batch of none is refused" 1 $?
has "and explained" "the micro-batch must be 1 sequence or more, not 0" "$err"
err=$("$PRATTLE" bench train=4294967297x16 --model $MODEL 2>&1); is "a batch that no int holds is none" 1 $?
has "and no benchmark" "there is no benchmark or file train=4294967297x16" "$err"
err=$("$PRATTLE" bench train=1x4096 --model $MODEL 2>&1); is "a window beyond the context is refused" 1 $?
has "with both numbers" "the sequence length is 4096" "$err"
echo one >"$TMPDIR/one" && echo two >"$TMPDIR/two"
err=$("$PRATTLE" bench "$TMPDIR/one" "$TMPDIR/two" --model $MODEL 2>&1); is "two texts are refused" 1 $?
has "with both names" "give one text for the tokenizer: $TMPDIR/one or $TMPDIR/two" "$err"
err=$("$PRATTLE" bench traim --model $MODEL 2>&1); is "no such bench" 1 $?
has "and those there are" "start, train, train=BATCHxLENGTH" "$err"
out=$("$PRATTLE" bench limits 2>&1)
has "without a model named, the one that ships is measured" "bundled, " "$(head -n 1 <<<"$out")"
has "in the table of a document the model is named too" "bundled, " \
    "$("$PRATTLE" bench limits --format markdown 2>&1 | head -n 1)"
is "and for programs in each row" "model bundled bundled" \
    "$("$PRATTLE" bench limits --format csv 2>&1 | sed 's/.*,//' | paste -sd' ')"

"$PRATTLE" convert $MODEL "$TMPDIR"/$'e\e[31m' >/dev/null 2>&1
is "whose name steers no terminal" 'e\x1b[31m' \
    "$("$PRATTLE" bench limits --format csv -m "$TMPDIR"/$'e\e[31m' 2>&1 | sed -n '2s/.*[,/]//p')"

is "with the precision of weights, keys and values" "dtype,cache_dtype fp16,q8 fp16,q8" \
    "$("$PRATTLE" bench limits --format csv --cache-dtype q8 2>&1 | sed 's/,[^,]*$//; s/.*,\([^,]*,[^,]*\)$/\1/' | paste -sd' ')"
has "and for people above the table" "bundled, fp16 with q8 cache, " "$("$PRATTLE" bench limits --cache-dtype q8 2>&1 | head -n 1)"

# Others at the same work: what stands for llama-bench and for a python leaves the arguments it got.
mkdir -p "$TMPDIR/peers"
cat >"$TMPDIR/peers/llama-bench" <<'END'
#!/bin/sh
echo "$@" >>"$0.log"
head -c 4 "$2" >>"$0.log"
echo >>"$0.log"
echo '[{"avg_ts": 0.5}]'
END
cat >"$TMPDIR/peers/python" <<'END'
#!/bin/sh
echo "$@" >>"$0.log"
grep -c 'import torch' >>"$0.log"
echo 1e9
END
chmod +x "$TMPDIR/peers"/*
# peers ARGUMENTS...: bench with both, for programs.
peers() {
    PEER_LLAMA=$TMPDIR/peers/llama-bench PEER_TORCH=$TMPDIR/peers/python \
        "$PRATTLE" bench "$@" --model $MODEL --threads 2 --format csv 2>&1
}
rows=$(peers prefill decode train=2x16)
is "each has a column" "what,median,unit,min,max,share,of,/ llama.cpp,/ PyTorch,dtype,cache_dtype,model" "$(head -n 1 <<<"$rows")"
# ratio WHAT FIELD: whether the first row of that name has a number there, of the right size.
ratio() { grep -m 1 "^\"*$1" <<<"$rows" | sed 's/^"[^"]*"//' | cut -d, -f "$2" | grep -cE "$3"; }
is "decode is so many times llama.cpp's" 1 "$(ratio 'decode, one text' 8 '^[1-9][0-9]*\.[0-9]{2}$')"
is "and PyTorch's" 1 "$(ratio 'decode, one text' 9 '^0\.00$')"
is "so is prefill" 1 "$(ratio 'prefill of' 8 '^[1-9][0-9]*\.[0-9]{2}$')"
is "in training there is only PyTorch" 1 "$(ratio 'training' 8 '^$')"
is "there is" 1 "$(ratio 'training' 9 '^0\.00$')"
is "llama-bench is given threads and sizes, once a round" 5 \
    "$(grep -c -- '-t 2 -r 1 -p 0 -n 48 -o json$' "$TMPDIR/peers/llama-bench.log")"
is "and a GGUF file" 10 "$(grep -c '^GGUF' "$TMPDIR/peers/llama-bench.log")"
is "python is given work and shape" "3 - train 2 2 2 32 257 256 2 16" \
    "$(grep -c '^- train' "$TMPDIR/peers/python.log") $(grep -m 1 '^- train' "$TMPDIR/peers/python.log")"
is "and the script" 13 "$(grep -c '^1$' "$TMPDIR/peers/python.log")"
# A python of a virtual environment finds it by the path that it is run by.
echo 'tr "\0" "\n" </proc/$$/cmdline | head -n 1 >run_by; echo 1e9' >"$TMPDIR/peers/prefill"
(cd "$TMPDIR/peers" && PEER_TORCH=/bin/sh "$PRATTLE" bench prefill --model $MODEL >/dev/null 2>&1)
is "each is run by its own name" /bin/sh "$(cat "$TMPDIR/peers/run_by")"
is "the file is gone afterwards" 0 "$(ls "$TMPDIR" | grep -c prattle-peer)"
err=$(PEER_TORCH=$TMPDIR/peers/none "$PRATTLE" bench prefill --model $MODEL 2>&1 >/dev/null); is "a peer that is not there is an error" 1 $?
has "that names the variable" "PEER_TORCH cannot be run: No such file" "$err"
has "one that prints no speed too" "PEER_LLAMA does not measure llama.cpp: not JSON" \
    "$(PEER_LLAMA=/bin/true "$PRATTLE" bench decode --model $MODEL 2>&1 >/dev/null)"
has "or that of nothing" "PEER_TORCH does not measure PyTorch: it printed no speed" \
    "$(PEER_TORCH=/bin/true "$PRATTLE" bench decode --model $MODEL 2>&1 >/dev/null)"
has "or fails" "PEER_TORCH failed" "$(PEER_TORCH=/bin/false "$PRATTLE" bench decode --model $MODEL 2>&1 >/dev/null)"
printf '%s\n' '#!/bin/sh' 'echo "Traceback:" >&2' 'echo "No module named torch" >&2' 'exit 1' >"$TMPDIR/peers/bare"
chmod +x "$TMPDIR/peers/bare"
has "for the reason that it gives last" "PEER_TORCH failed: No module named torch" \
    "$(PEER_TORCH=$TMPDIR/peers/bare "$PRATTLE" bench decode --model $MODEL 2>&1 >/dev/null)"
finish
