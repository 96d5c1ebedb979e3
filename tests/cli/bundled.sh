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
is "logits of a text: what a prompt's first token is drawn from" "$(p -p "The little dog" --greedy -n 1 --repetition-penalty 1)" \
    "$(p logits "The little dog" --top 1 | sed 's/.*"\(.*\)"/\1/')"
is "which begins with the token that begins a text" "$(p logits "The little dog" --top 3)" \
    "$(p logits --ids "0,$(p tokens "The little dog")" --top 3)"
is "and without: its tokens alone" "$(p logits "The little dog" --no-begin --top 3)" \
    "$(p logits --ids "$(p tokens "The little dog")" --top 3)"
is "greedy text of any batch" "$(p -p "The little dog" --greedy -n 20 --echo on)" \
    "$(printf 'x\nThe little dog\n' | "$PRATTLE" --greedy -n 20 | tail -n 1 | sed 's/\\n/\n/g')"

# What it is trained on: from a folder of texts, those that the preset names, and a part that is held out.
W=train/bundled PRESET=train/config/presets/bundled.yaml corpus=$TMPDIR/corpus work=$TMPDIR/work
is "the scripts are sound" "" "$(for f in $W/{corpus,pilots} weights/bundled/{samples,measure}; do sh -n $f; done 2>&1)"
rm -rf "$corpus" "$work" "$TMPDIR/empty" "$TMPDIR/none"
mkdir "$corpus" "$TMPDIR/empty"
# told WORD COUNT: documents of two paragraphs, each with a number that no other has
told() { for i in $(seq "$2"); do printf 'The %s said “%s %s” – and ran.\nIt was no %s-%s.\n<|endoftext|>\n' "$1" "$1" "$i" "$1" "$i"; done; }
told hen 200 >"$corpus/tinystories.txt"
{ told cow 100; told hen 3; } >"$corpus/stories-tiny.txt"
told fox 20 >"$corpus/stories-asp-pratham.txt"
told owl 200 | xz >"$corpus/children-easy.txt.xz"
told elk 200 | xz >"$corpus/children-books.txt.xz"
out=$($W/corpus "$corpus" "$work" 2>&1)
is "the texts are unpacked and split" "0 " "$? $(grep -i error <<<"$out")"
named=$(sed -n 's/.*path: \([^,]*\),.*/\1/p; s/^  validation: //p; s/^  tokenizer: //p' $PRESET | sort -u)
is "the preset reads a vocabulary, four texts to train on and one held out" 6 "$(wc -l <<<"$named")"
is "and all are made" "" "$(for f in $named; do [ -e "$work/$f" ] || echo "$f"; done)"
numbers() { cat "${@/#/$work/texts/}" | grep -oE '[a-z]+ [0-9]+' | sort; }
is "of the stories a twentieth is held out" 1 "$(n=$(numbers stories-validation.jsonl | wc -l); echo $((n >= 8 && n <= 22)))"
is "of the books a hundredth" 1 "$(n=$(numbers {easy,books}-validation.jsonl | wc -l); echo $((n >= 2 && n <= 8)))"
is "what is held out is nowhere to train on" "" \
    "$(comm -12 <(numbers {stories,easy,books}-validation.jsonl) <(numbers {stories,easy,books}-train.jsonl world.jsonl))"
is "all else is, each text once" "$({ for i in $(seq 200); do echo "hen $i"; echo "owl $i"; echo "elk $i"; done
    for i in $(seq 100); do echo "cow $i"; done; for i in $(seq 20); do echo "fox $i"; done; } | sort)" \
    "$(numbers {stories,easy,books}-{train,validation}.jsonl world.jsonl)"
is "the vocabulary has not seen it" "stories-train.jsonl easy-train.jsonl" "$(cd "$work/words" && ls -r | xargs)"
has "signs are those that books have" '\"fox 7\" - and ran.' "$(cat "$work/texts/world.jsonl")"
mv "$corpus/stories-tiny.txt" "$corpus/away"
is "a text that is not there ends it" refused "$($W/corpus "$corpus" "$TMPDIR/none" >/dev/null 2>&1 || echo refused)"

# By the preset, in that folder; where there is none, what it needs.
out=$(cd "$work" && p train bundled steps=2 warmup=0 n_layer=1 n_head=1 n_embd=8 n_positions=64 vocab_size=0 sequence_length=32 \
    micro_batch_size=2 eval_every=2 sample_every=0 log_every=1)
has "the preset trains on them" "[finished at step 2; runs/bundled has the checkpoints" "$out"
has "with the loss held out" "validation " "$(grep '^step 2/2' <<<"$out")"
has "elsewhere it says what it needs" "vocabulary not found: the preset bundled needs texts/ and vocabulary/, both made by \`$W/corpus CORPUS WORK\`" \
    "$(cd "$TMPDIR/empty" && p train bundled)"

is "pilots of four kinds run in it" "4x352 5x320 3x416 adamw" \
    "$($W/pilots "$work" steps=1 warmup=0 n_positions=64 vocab_size=0 sequence_length=32 micro_batch_size=1 | sed -n 's/^| \(.*\) | [0-9]*\.[0-9]* |$/\1/p' | xargs)"

# What its page says of it.
: "${TOOLS:=$PWD/build/release/tests/tools}"
printf '%s\n' '{"prompt": "My name", "text": " is Tom. I don'"'"'t like the \"sea\" at all."}' '{"prompt": "A", "text": " b c d e f g"}' >"$TMPDIR/drawn"
printf 'The hen. IS tom; I dont like\n<|endoftext|>\nthe sea at\nall b c d e\n' >"$TMPDIR/read"
shared() { "$TOOLS/shared_runs" "$TMPDIR/read" "$1" <"$TMPDIR/drawn"; }
is "runs of four words in both" "72.2 % (13 of 18 words)" "$(shared 4)"
is "of five, across no end of a text" "27.8 % (5 of 18 words)" "$(shared 5)"
is "of six" "0.0 % (0 of 18 words)" "$(shared 6)"
printf '{"prompt": "A", "text": " %s"}\n' "b c d" "b c e" "f a B c" "a b f" >"$TMPDIR/drawn"
common() { "$TOOLS/shared_runs" - "$1" <"$TMPDIR/drawn"; }
is "answers that have two, three and four words in common" "4 3 1" "$(common 2) $(common 3) $(common 4)"
# Tokens of p 0.6, 0.995 and 0.3: at temperature 0.5 the first has 0.78, and at top_p 0.75 all.
three='[{"id":1,"logprob":-0.5108},{"id":2,"logprob":-1.204},{"id":3,"logprob":-2.3026}]'
echo '{"ids":[1,4,2],"logprobs":[-0.5108,-0.005,-1.204],"top_logprobs":['"$three"',[{"id":4,"logprob":-0.005},{"id":5,"logprob":-5.3}],'"$three"']}' >"$TMPDIR/drawn"
is "tokens that were sure to come" "66.7 % as drawn, 33.3 % of the model itself (3 tokens)" "$("$TOOLS/sure_tokens" 0.5 0.75 <"$TMPDIR/drawn")"
is "where nothing is cut, the model's own" "33.3 % as drawn, 33.3 % of the model itself (3 tokens)" "$("$TOOLS/sure_tokens" 1 1 <"$TMPDIR/drawn")"
is "the page's table has a row for each" "stories,easy books,wiki.test.raw,My name is,Once upon a time" \
    "$(TOOLS=$TOOLS ANSWERS=5 weights/bundled/measure "$work/runs/bundled" "$work" "$TMPDIR/read" 2>/dev/null | sed -n 's/^| \([^|]*\) | [0-9.]*[0-9 %|].*/\1/p' | paste -sd,)"

rm -rf "$TMPDIR/root" "$TMPDIR/hf"
make -s -o build/release/prattle install DESTDIR="$TMPDIR/root" PREFIX=/opt/prattle >/dev/null
mv "$TMPDIR/root/opt/prattle" "$TMPDIR/root/moved"
is "an installation has the model" "$(md5sum <$FILE)" "$(md5sum <"$TMPDIR/root/moved/share/prattle/bundled.gguf")"
is "and finds it when moved" "$a" "$("$TMPDIR/root/moved/bin/prattle" -p "My name is" --seed 5 -n 12)"
p convert bundled "$TMPDIR/hf" >/dev/null
is "as a folder it keeps its settings" "$(cat weights/bundled/prattle.yaml)" "$(cat "$TMPDIR/hf/prattle.yaml")"
is "and its answers" "$a" "$(p "$TMPDIR/hf" -p "My name is" --seed 5 -n 12)"
finish
