#!/usr/bin/env bash
# The model that ships: found from anywhere, small, with settings of its own, and its texts
# are those that stand beside it. After another model: weights/bundled/samples >weights/bundled/samples.txt
. "$(dirname "$0")/lib.sh.inc"
FILE=weights/bundled/bundled.gguf
p() { "$PRATTLE" "$@" 2>&1 </dev/null; }
is "it takes no more than 16 MB" 1 "$(($(stat -c %s $FILE) <= 16000000))"
is "and is the only one" $FILE "$(find weights/bundled -size +1M)"
about=$(p model --model bundled)
has "its context is 512" "context      512 tokens" "$about"
has "its vocabulary is about 4096" "vocabulary   4096 tokens" "$about"
millions=$(sed -n 's/^ *parameters *\([0-9]*\)\..*/\1/p' <<<"$about")
is "it has 3 to 8 million parameters" 1 "$((millions >= 3 && millions < 8))"

is "samples.txt is what it says" "$(cat weights/bundled/samples.txt)" "$(weights/bundled/samples "$PRATTLE")"
a=$(p bundled -p "My name is" --seed 5 -n 12)
is "prattle without a model opens it" "$a" "$(p -p "My name is" --seed 5 -n 12)"
is "by its path it is the same" "$a" "$(p $FILE -p "My name is" --seed 5 -n 12)"
is "from another folder too" "$a" "$(cd / && p -p "My name is" --seed 5 -n 12)"
is "portable kernels write the same" "$a" "$(p -p "My name is" --seed 5 -n 12 --kernels portable)"
is "prompts piped in are for it" "My name is$a" "$(echo "My name is" | "$PRATTLE" --seed 5 -n 12 | sed 's/\\n/\n/g')"
is "its tokenizer too" "$(p tokens -m $FILE "Once upon a time")" "$(p tokens "Once upon a time")"
is "a word is a token" 4 "$(p tokens "Once upon a time" | tr ',' '\n' | wc -l)"
is "greedy text of any batch" "$(p -p "The little dog" --greedy -n 20 --echo on)" \
    "$(printf 'x\nThe little dog\n' | "$PRATTLE" --greedy -n 20 | tail -n 1 | sed 's/\\n/\n/g')"

# How its stories were retold and chosen.
W=weights/bundled
story='Once upon a time, there was a little boy named Tim. He loved his ball. His mom gave him a hat. Tim smiled.'
printf '%s\n<|endoftext|>\n' "$story" >"$TMPDIR/stories"
retell() { awk -v TIMES=8 -f $W/people.awk -f $W/retell.awk "$TMPDIR/stories" "$TMPDIR/stories" 2>/dev/null; }
told=$(retell)
is "a story is told as it is" "$story" "$(head -n 1 <<<"$told")"
is "and by the one it is about" 8 "$(grep -cE '^My name is [A-Z][a-z]+\.( I am a little boy\.| I am a little girl\.)? I loved my ball\. My (mom|dad) gave me a hat\. I smiled\.$' <<<"$told")"
is "a boy stays he, a girl she" 7 "$(grep '^Once' <<<"$told" | tail -n +2 | grep -cE \
    '(boy named .*He loved his ball\. His mom gave him a hat|girl named .*She loved her ball\. Her dad gave her a hat)')"
is "the name is the same throughout" 7 "$(grep '^Once' <<<"$told" | tail -n +2 | grep -cE 'named ([A-Z][a-z]+)\. .* \1 smiled\.$')"
is "it is told the same again" "$told" "$(retell)"
for i in 1 2 3 4 5 6 7 8; do cat "$TMPDIR/stories"; echo "She."; done >"$TMPDIR/many"
whole="$story He loved a mom. There was a time, a little boy loved him. There was a hat upon his ball. A boy gave his mom his ball. He smiled upon a little hat."
line() { printf '{"prompt":"O","text":"%s","ids":[1],"logprobs":[-0.5,%s],"finish_reason":"stop"}\n' "${2#O}" "$1"; }
choose() { line "$1" "$2" | awk -f $W/people.awk -f $W/choose.awk "$TMPDIR/many" RS='\n' - 2>&1 >"$TMPDIR/chosen"; }
has "a sound story is chosen" "1 of 1 chosen" "$(choose -0.5 "$whole")"
is "as it was told" "$whole" "$(head -n 1 "$TMPDIR/chosen")"
has "not one of unlikely words" "unlikely 1" "$(choose -9 "$whole")"
has "nor one that says a sentence twice" "circles 1" "$(choose -0.5 "${whole/There was a time/He loved a mom. There was a time}")"
has "nor one in which she comes from nowhere" "he and she 1" \
    "$(choose -0.5 "$(sed 's/mom/time/g; s/He smiled upon/She smiled upon/' <<<"$whole")")"

rm -rf "$TMPDIR/root" "$TMPDIR/hf"
make -s -o build/release/prattle install DESTDIR="$TMPDIR/root" PREFIX=/opt/prattle >/dev/null
mv "$TMPDIR/root/opt/prattle" "$TMPDIR/root/moved"
is "an installation has the model" "$(md5sum <$FILE)" "$(md5sum <"$TMPDIR/root/moved/share/prattle/bundled.gguf")"
is "and finds it when moved" "$a" "$("$TMPDIR/root/moved/bin/prattle" -p "My name is" --seed 5 -n 12)"
p convert bundled "$TMPDIR/hf" >/dev/null
is "as a folder it keeps its settings" "$(cat weights/bundled/prattle.yaml)" "$(cat "$TMPDIR/hf/prattle.yaml")"
is "and its answers" "$a" "$(p "$TMPDIR/hf" -p "My name is" --seed 5 -n 12)"
finish
