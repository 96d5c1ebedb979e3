#!/usr/bin/env bash
# data info: what training would read.
. "$(dirname "$0")/lib.sh.inc"
export XDG_CACHE_HOME=$TMPDIR/cache
info() { "$PRATTLE" data info "$@" 2>&1; }
field() { sed -n "s/^  $1 *//p" <<<"$2"; }

mkdir -p "$TMPDIR/texts"
printf 'One day.\n<|endoftext|>\nA second, longer text.\n' >"$TMPDIR/texts/a.txt"
printf '{"text": "Third."}\n' >"$TMPDIR/texts/b.jsonl"
text=$(info "$TMPDIR/texts" --model $MODEL)
is "a folder is read as text" "text, 2 files" "$(field format "$text")"
is "of JSON lines alone as such" "JSON lines" "$(field format "$(XDG_CACHE_HOME=$TMPDIR/other info "$TMPDIR/texts/b.jsonl" --model $MODEL)")"
is "a text alone as text" "text" "$(field format "$(XDG_CACHE_HOME=$TMPDIR/other info "$TMPDIR/texts/a.txt" --model $MODEL)")"
is "its documents" 3 "$(field documents "$text")"
is "its tokens: bytes and an end each" "40, 13 a document" "$(field tokens "$text")"
is "its ids" "ids 11 to 256, of the model's 257" "$(field vocabulary "$text")"
is "its lengths" "7 to 24 tokens, median 9" "$(field lengths "$text")"
has "few bars" "        16 to 31  #" "$(LC_ALL=C info "$TMPDIR/texts" --model $MODEL)"
has "its vocabulary" "of 257 ids" "$(field used "$text")"
printf '\n\n%30s\n\n\tOnce.  Then.\n' "A Title" >"$TMPDIR/title.txt"
is "one document has no mean" "$(wc -c <"$TMPDIR/title.txt" | awk '{print $1 + 1}')" "$(field tokens "$(XDG_CACHE_HOME=$TMPDIR/other info --model $MODEL "$TMPDIR/title.txt")")"
is "blanks are one space there" "A Title Once. Then." "$(field begins "$(XDG_CACHE_HOME=$TMPDIR/other info --model $MODEL "$TMPDIR/title.txt")" | sed 's/<|.*//; s/ *$//')"
has "its beginning" "One day." "$(field begins "$text")"
for k in $(seq 5 60); do
    head -c $k /dev/zero | tr '\0' a >"$TMPDIR/short.txt"; printf '<|endoftext|>b' >>"$TMPDIR/short.txt"
    XDG_CACHE_HOME=$TMPDIR/other info "$TMPDIR/short.txt" --model $MODEL
done | grep '^  begins' | sed 's/<|endoftext|>//g' >"$TMPDIR/begins"
is "which does not end inside of <|endoftext|>" "56 0" "$(wc -l <"$TMPDIR/begins") $(grep -c '[<|]' "$TMPDIR/begins")"
is "text is encoded once" 1 "$(ls "$TMPDIR"/cache/prattle/data/*.idx | wc -l)"
cp "$TMPDIR"/cache/prattle/data/*.idx "$TMPDIR/set.idx"; cp "$TMPDIR"/cache/prattle/data/*.bin "$TMPDIR/set.bin"
is "the same as a Megatron set" "$(sed 's/text, 2 files/Megatron/' <<<"$text")" "$(info "$TMPDIR/set" --model $MODEL)"
is "  named by a pattern, of one of its files or both" "3 3 3" "$(for p in idx bin '*'; do field documents "$(info "$TMPDIR/se?.$p" --model $MODEL)"; done | xargs)"
cp "$TMPDIR/set.bin" "$TMPDIR/alone.bin"
alone=$(info "$TMPDIR/alone.bin")
is "ids alone are nanoGPT's" nanoGPT "$(field format "$alone")"
is "which need no model" "ids 11 to 256" "$(field vocabulary "$alone")"
is "documents by the end of text" 3 "$(field documents "$(info "$TMPDIR/alone.bin" --model $MODEL)")"
ln -s nowhere "$TMPDIR/texts/c.txt"
is "a link to nothing is passed over" "$text" "$(info "$TMPDIR/texts" --model $MODEL)"
for f in "$TMPDIR"/cache/prattle/data/*.bin; do printf xyz | dd of="$f" bs=1 seek=5 conv=notrunc 2>/dev/null; done
again=$(info "$TMPDIR/texts" --model $MODEL)
has "a cache that was written over is noticed" "the encoded text in the cache is damaged and is encoded again" "$again"
is "and made again" "$text" "$(info "$TMPDIR/texts" --model $MODEL)"
printf '\xff\xff' >"$TMPDIR/big.bin"
is "ids the model has not" "ids 65535 to 65535: not for this model of 257" "$(field vocabulary "$(info "$TMPDIR/big.bin" -m $MODEL)")"
made=$(info generated --model $MODEL)
is "generated: as a run has it" "generated 1024 1048576, 1024 a document ids 0 to 256, of the model's 257" \
    "$(for f in format documents tokens vocabulary; do field $f "$made"; done | paste -sd ' ')"
has "generated ids are a model's" "data=generated needs a model for its vocabulary: load one" "$(info generated)"
printf '<mediawiki>\n<page><title>Cat</title><revision><text>A [[cat]].</text></revision></page>\n' >"$TMPDIR/wiki.xml"
wiki="$TMPDIR/wiki.xml looks like a MediaWiki dump, and its markup counts as text; for plain text: \`prattle data prepare $TMPDIR/wiki.xml NEW.jsonl\`"
has "a dump is named, with what makes text of it" "prattle: $wiki" "$(info "$TMPDIR/wiki.xml" --model $MODEL)"
is "and read as any text" text "$(field format "$(info "$TMPDIR/wiki.xml" --model $MODEL)")"
printf 'one\r\ntwo\r\nthree\r\n' >"$TMPDIR/dos.txt"
has "lines of Windows are told of" "dos.txt: lines end in CR LF, and the CR counts as text; without it: \`tr -d '\r' < $TMPDIR/dos.txt > NEW\`" \
    "$(info "$TMPDIR/dos.txt" --model $MODEL)"
iconv -f UTF-8 -t UTF-16 "$TMPDIR/dos.txt" >"$TMPDIR/dos16.txt"
has "  in UTF-16 too" "dos16.txt: lines end in CR LF, and the CR counts as text; without it: \`iconv -f UTF-16 -t UTF-8 $TMPDIR/dos16.txt | tr -d '\r' > NEW\`" \
    "$(info "$TMPDIR/dos16.txt" --model $MODEL)"
printf '{"text": "one\\r\\ntwo\\r\\n"}\n{"text": "three\\r\\nfour"}\n' >"$TMPDIR/dos.jsonl"
has "  in JSON" "without it: \`sed 's/\\\\r\\\\n/\\\\n/g' $TMPDIR/dos.jsonl > NEW\`" "$(info "$TMPDIR/dos.jsonl" --model $MODEL)"
is "  which does" '{"text": "one\ntwo\n"}' "$(sed 's/\\r\\n/\\n/g' "$TMPDIR/dos.jsonl" | head -1)"
tr -d '\r' <"$TMPDIR/dos.txt" >"$TMPDIR/unix.txt"
tar -cf "$TMPDIR/dos.tar" -C "$TMPDIR" unix.txt dos.txt
has "  behind another in an archive" "dos.tar: dos.txt: lines end in CR LF" "$(info "$TMPDIR/dos.tar" --model $MODEL)"
is "  others are not" "" "$(info "$TMPDIR/unix.txt" --model $MODEL | grep CR)"
gzip -c "$TMPDIR/wiki.xml" >"$TMPDIR/wiki.xml.gz"
has "packed too" "$TMPDIR/wiki.xml.gz looks like a MediaWiki dump" "$(info "$TMPDIR/wiki.xml.gz" --model $MODEL)"
mkdir "$TMPDIR/marked"
printf '<!doctype html><p>One day' >"$TMPDIR/marked/a.html"; cp "$TMPDIR/wiki.xml" "$TMPDIR/marked/"
is "many are named once" "prattle: $TMPDIR/marked/a.html and 1 more look like markup (HTML), which counts as text" \
    "$(info "$TMPDIR/marked" --model $MODEL | grep markup | sed 's/;.*//')"
for i in $(seq 40); do cat "$TMPDIR/wiki.xml"; done >"$TMPDIR/long.xml"
has "a run names it when it begins" "long.xml looks like a MediaWiki dump" \
    "$("$PRATTLE" train finetune data="$TMPDIR/long.xml" steps=1 sequence_length=16 folder="$TMPDIR/run" --model $MODEL 2>&1)"
is "plain text is not named" "" "$(info "$TMPDIR/texts" --model $MODEL | grep 'looks like')"
has "a text without a model is read by the one that ships" ", of the model's 4096" "$(info "$TMPDIR/texts")"
has "so are those of a pattern" "text, 2 files" "$(info "$TMPDIR/texts/[ab].*")"
printf 'P5\0\0' >"$TMPDIR/marked/p.pgm"
"$PRATTLE" logits x --model $MODEL --out "$TMPDIR/marked/l.npy" >/dev/null
is "what is left out is said once" 1 "$(info "$TMPDIR/marked" | grep -c 'left out')"
has "an array is named alone" "l.npy has no token IDs: its numbers are not whole ones" "$(info "$TMPDIR/marked/l.npy" 2>&1)"
is "  and markup" 1 "$(info "$TMPDIR/marked" | grep -c 'looks\? like')"
printf '\377\377\1\0' >"$TMPDIR/other.bin"
of_other=$(info "$TMPDIR/other.bin" --model bundled)
has "ids of another vocabulary" "not for this model of 4096" "$of_other"
is "  are not counted in the model's" "2 different ids" "$(sed -n 's/^  used *//p' <<<"$of_other")"
is "  nor is its end-of-text looked for" "" "$(grep 'end-of-text' <<<"$of_other")"
printf '\0\0\5\0\0\0\x50\xc4\7\0\x50\xc4' >"$TMPDIR/other.bin"
is "  and documents end as they do in GPT-2's" 2 "$(info "$TMPDIR/other.bin" --model bundled | sed -n 's/^  documents *//p')"
has "a file that is not there" "cannot open $TMPDIR/none: No such file" "$(info "$TMPDIR/none")"
printf '\1\0\2\0' >"$TMPDIR/ids.bin"
has "without a model: what shows the text" "begins       --model PATH, of the model with its tokenizer, shows the text" "$(info "$TMPDIR/ids.bin")"
printf '\1\0\x50\xc4' >"$TMPDIR/ids.bin"
has "of GPT-2's ids too" "begins       the ids are GPT-2's: --model gpt2 shows the text" "$(info "$TMPDIR/ids.bin")"
has "usage" "usage: prattle data info PATH|check PATH [TEXTS ...] [KEY=VALUE ...]|get NAME" "$("$PRATTLE" data show "$TMPDIR/set" 2>&1)"
is "a failure is a status" 1 "$("$PRATTLE" data info "$TMPDIR/none" 2>/dev/null; echo $?)"
# Plain text is wanted of what is prepared, and of what a tokenizer is trained on.
for i in $(seq 9); do echo "<p>One day $i a fox met a crow.</p>"; done >"$TMPDIR/a page.html"
page="$TMPDIR/a page.html looks like HTML, and its markup counts as text; for plain text: \`pandoc -f html -t plain --wrap=none '$TMPDIR/a page.html' > NEW\`"
has "markup is named where it is prepared" "$page" "$("$PRATTLE" data prepare "$TMPDIR/a page.html" "$TMPDIR/page" --model $MODEL 2>&1)"
has "  where a tokenizer is trained" "$page" "$("$PRATTLE" tokenizer train "$TMPDIR/a page.html" "$TMPDIR/page-tokens" --vocab-size 258 2>&1)"
is "  but not what preparing makes plain" "" \
    "$("$PRATTLE" data prepare "$TMPDIR/wiki.xml" "$TMPDIR/wiki" --model $MODEL 2>&1 | grep 'looks like')"
# Programs that unpack are not started for what a file has within.
mkdir "$TMPDIR/unpackers"
for program in lrzip lzop grzip; do
    printf '#!/bin/sh\necho %s >>"%s"\n' $program "$TMPDIR/started" >"$TMPDIR/unpackers/$program"
    chmod +x "$TMPDIR/unpackers/$program"
done
for head in 'LRZI\0\6' '\x89LZO\0\r\n\x1a\n\x10\x30\x20\xa0\x09\x40' 'GRZipII\0\2\4:)'; do
    (printf "$head"; head -c 32 /dev/zero; echo words) | gzip >"$TMPDIR/within.txt.gz"
    has "no program unpacks what begins with ${head:0:7}" "within.txt.gz is not text" \
        "$(PATH=$TMPDIR/unpackers:$PATH info "$TMPDIR/within.txt.gz" --model $MODEL 2>&1)"
done
is "  nor is one started" "" "$(cat "$TMPDIR/started" 2>/dev/null)"
# A run in the folder of its texts: its own files are none of them.
mkdir "$TMPDIR/own" && cp "$TMPDIR/long.xml" "$TMPDIR/own/a.txt"
own() { (cd "$TMPDIR/own" && "$PRATTLE" train "$@" 2>&1); }
own finetune data=. steps=1 sequence_length=16 --model $MODEL >/dev/null
has "a run on the folder it lies in goes on" "[finished at step 2" "$(own resume steps=2)"
has "  and another begins there" "left out: ./runs/finetune is the folder of a run, not of texts" \
    "$(own finetune data=. steps=1 sequence_length=16 folder=second --model $MODEL)"
# Data that has moved or changed since.
resumed() { "$PRATTLE" train resume "$@" 2>&1; }
has "data named from another folder" "no files to read; if the run began in another folder, data=PATH says where its data is" \
    "$(mkdir "$TMPDIR/none" && cd "$TMPDIR/none" && resumed "$TMPDIR/own/runs/finetune" steps=3)"
has "  may be named again" "[finished at step 3" "$(cd "$TMPDIR/none" && resumed "$TMPDIR/own/runs/finetune" steps=3 data="$TMPDIR/own")"
echo "more" >"$TMPDIR/own/b.txt"
has "a file that is new is named" "the data has changed since the checkpoint: $TMPDIR/own/b.txt is newer than it; $TMPDIR/own is not what the run was trained on; begin another run with folder=DIR" \
    "$(own resume steps=4)"
finish
