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
W=train/bundled
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

# Openings, beings and beginnings: what they are made from, and what they are made to.
many() { for i in $(seq 40); do printf '%s\n<|endoftext|>\n' "$1"; done | awk -f $W/people.awk -f "$W/$2.awk" | grep -v '^<' | sort -u; }
openings=$(many "Once upon a time, there was a sad frog. It lived in a pond. The frog sang." reopen)
is "a story is opened otherwise" "A sad frog lived in a pond. The frog sang.
Once upon a time, there was a sad frog. It lived in a pond. The frog sang.
The sad frog lived in a pond. The frog sang.
There was a sad frog. It lived in a pond. The frog sang.
There was once a sad frog. It lived in a pond. The frog sang." "$openings"
has "by a name too" "Lily was a girl. She ran." "$(many "Once upon a time, there was a girl named Lily. She ran." reopen)"
has "and without one day" "Mia ran home." "$(many "One day, a girl named Mia ran home." reopen)"
others=$(many "A cat saw an owl. The cat met a boy. Cats are shy." exchange)
is "a cat becomes another being" 1 "$(($(wc -l <<<"$others") > 5))"
is "the same throughout" "" "$(grep -vE '^(A|An) ([a-z]+) saw an owl\. The \2 met a boy\. [A-Z][a-z]+s are shy\.$' <<<"$others")"
is "what only a cat does is left to it" "A cat saw an owl. The cat purred." "$(many "A cat saw an owl. The cat purred." exchange)"
begun=$(awk -v TIMES=2 -f $W/people.awk -f $W/prompts.awk "$TMPDIR/stories")
is "a beginning is asked for twice" 2 "$(grep -c '^{"prompt":"[^"]*"}$' <<<"$begun")"

# Its own stories: the sound are chosen.
sound='Once upon a time, there was a little boy named Tim. He loved to play with his ball. One day, Tim saw a big box in the park. He wanted to open it.
Tim asked his mom, "Can I open the box?" His mom said, "Yes, you can." Tim opened it and found a hat. He was very happy and they went home.'
for i in 1 2 3 4 5 6 7 8; do printf '%s\n' "$sound" "He was a girl named Amy, she told him a moral. Tim said thank you to the cat and then opened and wanted the park. Sam had learned it from her dad." "<|endoftext|>"; done >"$TMPDIR/many"
line() { # TEXT [LETTERS OF ITS BEGINNING]
    awk -v s="$1" -v n="${2:-1}" 'BEGIN {
        begun = substr(s, 1, n)
        s = substr(s, n + 1)
        gsub(/"/, "\\\"", s)
        gsub(/\n/, "\\n", s)
        printf "{\"prompt\":\"%s\",\"text\":\"%s\",\"finish_reason\":\"stop\"}\n", begun, s
    }'
}
choose() { line "$1" | awk "${@:2}" -f $W/people.awk -f $W/choose.awk "$TMPDIR/many" RS='\n' - 2>&1 >"$TMPDIR/chosen"; }
has "a sound story is chosen" "1 of 1 are sound, 1 chosen" "$(choose "$sound")"
is "as it was told" "$sound" "$(grep -v '^<' "$TMPDIR/chosen")"
refused() { has "not one $1" "$2 1" "$(choose "${@:3}")"; }
refused "that does not end" length "${sound% home.} home"
refused "that ends too soon" length "${sound%%
*}"
refused "with an open speech" "quotation marks" "${sound/can.\"/can.}"
refused "of words no story has" words "${sound/ball/zeppelin}"
refused "in no English" grammar "${sound/to open it/to opened it}"
refused "that says a sentence twice" circles "${sound/He wanted to open it./He loved to play with his ball.}"
refused "in which she comes from nowhere" "he and she" "$(sed 's/mom/dad/g; s/He was very/She was very/' <<<"$sound")"
refused "whose boy is a girl" "boys and girls" "${sound//Tim/Amy}"
refused "of somebody new" "new people" "${sound/. He was very happy/. Sam was very happy}"
refused "in which Mom speaks to Mom" talk "${sound/\"Yes, you can.\"/\"Yes, Mom.\"}"
refused "in which Tim answers himself" talk "${sound/His mom said/Tim said}"
refused "with a moral" moral "${sound/He was very happy/He learned a moral}"
refused "told in new turns" new "${sound/big box/box}" -v NEW=3
parked="The big park, Tim saw. He${sound#*. He}"
is "a beginning must do something" "0 1" "$(for n in 12 1; do line "$parked" $n | awk -f $W/people.awk -f $W/choose.awk -v LEAST=100 \
    "$TMPDIR/many" RS='\n' - 2>/dev/null | grep -c '^<'; done | paste -sd' ')"
is "own.txt has no story twice" "" "$(awk 'BEGIN { RS = "<\\|endoftext\\|>\n" } seen[$0]++' $W/own.txt)"
is "and every one is whole" "" "$(awk 'BEGIN { RS = "<\\|endoftext\\|>\n" } !/[.!?]"?\n$/ || length($0) > 700' $W/own.txt)"
is "of two alike, one" 1 "$({ line "$sound"; line "$sound"; } | awk -v PART=1 -f $W/people.awk -f $W/choose.awk "$TMPDIR/many" RS='\n' - 2>/dev/null | grep -c '^<')"

# Where the texts come from: the stories, every twentieth held out, and of the novels what is said in their words.
is "the scripts are sound" "" "$(for f in $W/{make,corpus,candidates,pilots} weights/bundled/samples; do sh -n $f; done 2>&1)"
mkdir -p "$TMPDIR/corpus"
for i in $(seq 40); do printf '%s Number %s.\n<|endoftext|>\n' "$story" "$i"; done >"$TMPDIR/corpus/tinystories.txt"
for w in Tim zeppelin; do for i in $(seq 99); do printf '%s loved his ball. ' $w; done; echo; done |
    xz >"$TMPDIR/corpus/novels.txt.xz"
$W/corpus "$TMPDIR/corpus" "$TMPDIR/texts" 2>/dev/null
is "one story in twenty is held out" "38 2" "$(cd "$TMPDIR/texts" && grep -c '|>' stories.txt validation.txt | sed 's/.*://' | paste -sd' ')"
is "the novels' passages are in the stories' words" "1 0" \
    "$(grep -c Tim "$TMPDIR/texts/novels.txt") $(grep -c zeppelin "$TMPDIR/texts/novels.txt")"
is "no novels, no texts" 1 "$(rm "$TMPDIR/corpus/novels.txt.xz"; $W/corpus "$TMPDIR/corpus" "$TMPDIR/none" >/dev/null 2>&1; echo $?)"

rm -rf "$TMPDIR/root" "$TMPDIR/hf"
make -s -o build/release/prattle install DESTDIR="$TMPDIR/root" PREFIX=/opt/prattle >/dev/null
mv "$TMPDIR/root/opt/prattle" "$TMPDIR/root/moved"
is "an installation has the model" "$(md5sum <$FILE)" "$(md5sum <"$TMPDIR/root/moved/share/prattle/bundled.gguf")"
is "and finds it when moved" "$a" "$("$TMPDIR/root/moved/bin/prattle" -p "My name is" --seed 5 -n 12)"
p convert bundled "$TMPDIR/hf" >/dev/null
is "as a folder it keeps its settings" "$(cat weights/bundled/prattle.yaml)" "$(cat "$TMPDIR/hf/prattle.yaml")"
is "and its answers" "$a" "$(p "$TMPDIR/hf" -p "My name is" --seed 5 -n 12)"
finish
