#!/usr/bin/env bash
# SentencePiece models as tokenizers, against the library's own tools.
. "$(dirname "$0")/lib.sh.inc"
export XDG_CACHE_HOME=$TMPDIR/cache
golden=$PWD/tests/golden/sentencepiece config=$PWD/tests/cli/data/config.json
cd "$TMPDIR" || exit 1

# Where it is missing: one sentence, which says what to install. A program alone has no part.
mkdir alone && cp "$PRATTLE" alone/
has "without the library" "a SentencePiece model needs prattle-sentencepiece.so, which make builds where libsentencepiece is (Debian and Ubuntu: apt-get install g++ libsentencepiece-dev)" \
    "$(alone/prattle tokens x --model "$golden/bytes.model" 2>&1)"
echo "no library" >alone/prattle-sentencepiece.so
has "or with a part that does not load" "a SentencePiece model needs libsentencepiece: install it (Debian and Ubuntu: apt-get install libsentencepiece0)" \
    "$(alone/prattle tokens x --model "$golden/bytes.model" 2>&1)"
rm -r alone
if [ ! -f "$(dirname "$PRATTLE")/prattle-sentencepiece.so" ]; then
    echo "# left out: SentencePiece (libsentencepiece-dev or g++ is not installed)"
    finish
fi

for kind in bytes words; do
    while IFS= read -r line; do
        "$PRATTLE" tokens --model "$golden/$kind.model" "$line" | tr , ' '
    done <"$golden/texts.txt" >$kind.ids
    is "$kind: the library's ids" "$(cat "$golden/$kind.ids")" "$(cat $kind.ids)"
    # Documents there and back: each begins with the space that the model puts before a text.
    sed 's/["\\]/\\&/g; s/\t/\\t/; s/.*/{"text":"&"}/' "$golden/texts.txt" >texts.jsonl
    "$PRATTLE" data prepare texts.jsonl $kind --model "$golden/$kind.model" >said 2>&1
    "$PRATTLE" data convert $kind $kind.jsonl --model "$golden/$kind.model" >said 2>&1
    is "$kind: the library's texts" "$(sed '/^ /!s/^/ /; s/^  */ /' "$golden/$kind.back")" \
        "$(sed 's/^{"text":"//; s/"}$//; s/\\"/"/g; s/\\t/\t/; s/^  */ /' $kind.jsonl)"
done

# Pieces of a text give the ids of the whole one: a long document, encoded a part at a time.
for i in $(seq 400); do sed "s/little/little $i/" "$golden/texts.txt"; done >long.txt
for i in $(seq 12); do cat long.txt; done >longer.txt
"$PRATTLE" data prepare longer.txt longer format=nanogpt document_separator=file --threads 1 --model "$golden/bytes.model" >said 2>&1
"$PRATTLE" tokens --model "$golden/bytes.model" <longer.txt | tr , '\n' >whole
is "a long document in parts" "$(sha256sum <whole)" \
    "$(od -An -v -tu2 -w2 longer.bin | tr -d ' ' | head -n -1 | sha256sum)"
# Where the model joins spaces, in all parts. It has no piece for a line break, which stays where it is.
perl -e 'print "the  cat sat   on.\n  A dog. " x 120000' >spaced.txt
"$PRATTLE" data prepare spaced.txt spaced format=nanogpt document_separator=file --model "$golden/words.model" >said 2>&1
"$PRATTLE" tokens --model "$golden/words.model" <spaced.txt | tr , '\n' >whole
is "  joined spaces" "$(sha256sum <whole)" "$(od -An -v -tu2 -w2 spaced.bin | tr -d ' ' | head -n -1 | sha256sum)"
XDG_CACHE_HOME=$TMPDIR/other "$PRATTLE" data info spaced.txt --model "$golden/words.model" >said 2>&1
has "  as in training" "tokens       $(($(wc -l <whole) + 1))" "$(cat said)"

# The tokenizer of a model: its size is checked, text is streamed, and it is saved with the model.
random=random:$config,tokenizer=$golden/bytes.model
is "a model of as many tokens" "400" "$("$PRATTLE" convert "$random" model >/dev/null 2>&1; sed -n 's/.*"vocab_size": *\([0-9]*\).*/\1/p' model/config.json)"
is "its folder has the file" "$(sha256sum <"$golden/bytes.model")" "$(sha256sum <model/tokenizer.model)"
is "and no other" "tokenizer.model" "$(cd model; ls | grep -e token -e vocab -e merges)"
is "it encodes as before" "325,364,343,340,356,335" "$("$PRATTLE" tokens "Once upon" --model ./model)"
ids=$("$PRATTLE" generate Once upon --output ids --max_new_tokens 40 --seed 3 --model ./model 2>/dev/null)
text=$("$PRATTLE" generate Once upon --max_new_tokens 40 --seed 3 --model ./model 2>/dev/null | wc -c)
tr , '\n' <<<"$ids" | perl -ne 'print pack("v", $_)' >answer.bin
has "an answer is its ids' text" "1 document, $((text - 1)) bytes" "$("$PRATTLE" data convert answer.bin answer.jsonl --model ./model 2>&1)"
has "a run trains on it" "step 1" "$("$PRATTLE" train finetune data=longer.txt steps=1 sequence_length=16 eval_every=0 folder=run --model ./model 2>&1)"
"$PRATTLE" convert "random:$config" small >/dev/null 2>&1 && rm small/{vocab,tokenizer}*.json small/merges.txt && cp model/tokenizer.model small/
has "too many pieces" "tokenizer.model: it has 400 pieces, the model 257 tokens" "$("$PRATTLE" tokens x --model ./small 2>&1)"
has "GGUF has no place for it" "a GGUF file does not hold the SentencePiece tokenizer of this model: name a folder" \
    "$("$PRATTLE" convert "$random" model.gguf 2>&1)"
has "it is not a model" "bytes.model: it is a SentencePiece model, which is a tokenizer without weights" \
    "$("$PRATTLE" generate x --model "$golden/bytes.model" 2>&1)"

# Damage: one sentence, and no signal.
odd=
size=$(stat -c %s "$golden/bytes.model")
for at in $(seq 1 311 "$size") $((size - 1)); do
    head -c "$at" "$golden/bytes.model" >cut.model
    said=$("$PRATTLE" tokens x --model cut.model 2>&1)
    rc=$?
    [ $rc -le 1 ] && { [ $rc -eq 0 ] || [ "$(grep -vc 'LOG(INFO)' <<<"$said")" = 1 ]; } || odd+=" $at:$rc:$said"
done
is "a model cut off" "" "$odd"
printf '\nnot a model' >bad.model
has "what is none" "bad.model: libsentencepiece does not take the file" "$("$PRATTLE" tokens x --model bad.model 2>&1)"
finish
