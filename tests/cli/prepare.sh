#!/usr/bin/env bash
# data prepare: texts to token files, as the shell has it.
. "$(dirname "$0")/lib.sh.inc"
export XDG_CACHE_HOME=$TMPDIR/cache
cd "$TMPDIR" || exit 1
prepare() { "$PRATTLE" data prepare "$@" --model $MODEL 2>&1; }
field() { sed -n "s/^  $1 *//p" <<<"$2"; }

mkdir texts
printf 'One day.\n<|endoftext|>\nA second, longer text.\n<|endoftext|>\nONE DAY!' >texts/a.txt
printf '{"text": "Third."}\n' >texts/b.jsonl
said=$(prepare texts out duplicates=exact min_length=7)
is "what was read, with what is left out" "4 documents, 44 bytes of text" "$(field read "$said" | cut -d , -f 1,2)"
is "what was left out" "1 too short, 1 repeated" "$(field 'left out' "$said")"
is "what was written" "out: 2 documents, 32 tokens" "$(field wrote "$said")"
is "nothing else stays" "out.bin out.idx texts" "$(ls | paste -sd ' ')"
info=$("$PRATTLE" data info out --model $MODEL)
is "data info reads it" "Megatron 2 32, 16 a document" "$(for f in format documents tokens; do field $f "$info"; done | paste -sd ' ')"
prepare texts texts/inside >said; rm texts/inside.bin
mkdir texts/.inside.preparing; echo '{}' >texts/.inside.preparing/state.json
is "OUT in IN is no text of it" "4 documents, 44 bytes of text" "$(field read "$(rm -f texts/inside.idx; prepare texts texts/inside)" | cut -d , -f 1,2)"
prepare texts texts/inside --force >said
is "  nor one that is there, of ids" "4 documents, 44 bytes of text" "$(field read "$(cat said)" | cut -d , -f 1,2)"
prepare texts texts/inside.jsonl split=0.5,0.5 --force >said; rm texts/inside.bin texts/inside.idx
is "  or of texts" "4 documents, 44 bytes of text" "$(field read "$(prepare texts texts/inside.jsonl split=0.5,0.5 --force)" | cut -d , -f 1,2)"
rm -rf texts/inside* texts/.inside*
mkdir tokens; prepare texts tokens/a >said
is "OUT in IN of tokens" "tokens/all: 4 documents" "$(field wrote "$(prepare tokens tokens/all)" | cut -d , -f 1)"
for call in "prepare tokens" "prepare tokens/a*" "convert tokens"; do
    has "  is not read by the next call, $call" "tokens/all.bin would be read and written: name the files to read, or another OUT" \
        "$("$PRATTLE" data ${call%% *} "${call#* }" tokens/all --force --model $MODEL 2>&1)"
done
is "  but files that are named are" "tokens/all: 8 documents" "$(field wrote "$(prepare tokens/a tokens/all tokens/all --force)" | cut -d , -f 1)"
rm -r tokens
mkdir made; has "OUT may be the name of a folder" "look at made is a folder too: made.bin names what was written" "$(prepare texts made | tr -s ' \n' ' ')"
rm made.bin made.idx; prepare texts made/wiki >said; prepare texts made/two split=0.5,0.5 >said
prepare texts made/rec.tfrecord >said; prepare texts made/b.bin format=nanogpt >said; prepare texts made/l.jsonl >said
for name in wiki:wiki two:two-train rec:rec.tfrecord b:b.bin l:l.jsonl; do
    hint="prattle train finetune data=made/${name#*:}"
    has "train ${name%:*} names what was prepared" "made/${name%:*} is data, not settings: \`$hint\` trains on it" \
        "$("$PRATTLE" train made/${name%:*} 2>&1 | tr -s ' \n' ' ')"
    is "  and that is read" 0 "$("$PRATTLE" data info made/${name#*:} --model $MODEL >said 2>&1; echo $?)"
done
has "data info names a part of the split" "there is no file made/two; did you mean made/two-train?" "$("$PRATTLE" data info made/two 2>&1)"
has "  as data= does" "there is no file made/two; did you mean made/two-train?" "$("$PRATTLE" train finetune data=made/two --model $MODEL 2>&1)"
has "  and eval" "there is no evaluation and no file made/two; did you mean made/two-train?" "$("$PRATTLE" eval made/two --model $MODEL 2>&1)"
has "  which takes such a name" "perplexity" "$("$PRATTLE" eval made/two-train --model $MODEL 2>&1)"
has "an index is no data" "made/rec.tfrecord.index is an index of records: name the file that has them" "$("$PRATTLE" data info made/rec.tfrecord.index 2>&1)"
has "nothing of the kind is no data" "there is no file or preset made/none" "$("$PRATTLE" train made/none 2>&1)"
rm -r made
printf 'id,text\n1,One day\n2,"A fox, a crow"\n' >table.csv
has "CSV is not read as text without a word" "table.csv looks like CSV, and its markup counts as text; for plain text: \`prattle data prepare table.csv NEW.jsonl field=COLUMN\`" \
    "$("$PRATTLE" data info table.csv 2>&1 | tr -s ' \n' ' ')"
rm table.csv
mkdir place
for name in '' place/ place/.. .; do
    has "\"$name\" is no name" "names no file to write: a folder needs a name behind it" "$(prepare texts "$name")"
    has "  to convert to" "names no file to write" "$("$PRATTLE" data convert out "$name" 2>&1)"
done
for name in l.jsonl.gz rows.parquet ids.pkl place/a.tar; do
    has "$name is no name of what is written" "$name: no .${name##*.} is written; a name ends in .jsonl or .tfrecord, or format= says the format" "$(prepare texts $name)"
done
prepare texts place/v1.gz format=megatron >said; rm place/v1.gz.bin place/v1.gz.idx
is "but with a format" 0 $?
is "nothing is hidden" "" "$(ls -d .bin .idx ..bin place/.bin 2>/dev/null)"
rmdir place
has "an old file is not replaced" "out.bin exists already; --force overwrites it" "$(prepare texts out)"
has "but when told to" "out: 4 documents" "$(prepare texts out --force)"
for form in nanogpt:nanoGPT llmc:llm.c; do
    prepare texts x-${form%:*} format=${form%:*} >said
    is "${form#*:} is known again" "${form#*:}" "$(field format "$("$PRATTLE" data info x-${form%:*}.bin)")"
    is "  and its documents" "4" "$(field documents "$("$PRATTLE" data info x-${form%:*}.bin --model $MODEL)")"
    said=$("$PRATTLE" data convert x-${form%:*}.bin x-back --force --model $MODEL 2>&1)
    is "  and gives back" "x-back: 4 documents" "$(field wrote "$said" | cut -d , -f 1)"
    is "  without that" "" "$(field 'look at' "$said")"
done
# Which tokenizer the ids are of stands in an attribute of the file, where the file system has such.
if [ "$(perl -e '$n = `uname -m` =~ /x86_64/ ? 188 : 5; ($f, $k, $v) = ("attribute", "user.a", "b"); open F, ">$f";
    print syscall($n, $f, $k, $v, 1, 0)')" = 0 ]; then
    begins() { field begins "$("$PRATTLE" data info "$@" 2>&1)"; }
    mkdir noted; prepare texts/b.jsonl noted/m >said.m; prepare texts/b.jsonl noted/t.tfrecord >said.m
    is "data info knows the tokenizer by itself" "$(begins noted/m --model $MODEL)" "$(begins noted/m)"
    is "  which shows the words" "Third." "$(begins noted/m | cut -d '<' -f 1)"
    is "  and of a record file" "$(begins noted/m)" "$(begins noted/t.tfrecord)"
    "$PRATTLE" data convert noted/m noted/c.bin format=nanogpt >said.m 2>&1
    "$PRATTLE" data prepare noted/m noted/s shuffle=on >said.m 2>&1
    is "  and of what is made of it" "$(begins noted/m) $(begins noted/m)" "$(begins noted/c.bin) $(begins noted/s)"
    is "  of several files" "$(begins noted/m)$(begins noted/m)" "$(begins noted/m,noted/c.bin)"
    mv noted/m.bin noted/n.bin; mv noted/m.idx noted/n.idx
    is "  under another name" "$(begins noted/c.bin)" "$(begins noted/n)"
    "$PRATTLE" tokenizer train "$OLDPWD/README.md" vocabulary --vocab-size 300 >said.m 2>&1
    "$PRATTLE" data prepare texts/b.jsonl noted/v tokenizer=vocabulary >said.m 2>&1
    is "a folder's tokenizer, from anywhere" "Third." "$(cd noted; begins v | cut -d '<' -f 1)"
    "$PRATTLE" data convert noted/v noted/v.jsonl >said.m 2>&1
    is "convert reads the text by it" '{"text":"Third."}' "$(cat noted/v.jsonl)"
    is "  which is nothing to look at" "" "$(grep 'look at' said.m)"
    "$PRATTLE" data convert noted/v noted/v.bin format=nanogpt --force >said.m 2>&1
    "$PRATTLE" data convert noted/v.bin noted/v --force >said.m 2>&1
    is "  and where documents end" "" "$(grep 'look at' said.m)"
    has "another one is named" "look at the ids are of another tokenizer, that of" "$("$PRATTLE" data info noted/v --model $MODEL | tr -s ' ')"
    is "and not where it is the same" "" "$("$PRATTLE" data info noted/v tokenizer=vocabulary | grep another)"
    "$PRATTLE" tokenizer train "$OLDPWD/LICENSE" vocabulary --vocab-size 300 --force >said.m 2>&1
    has "one that has changed shows no words" "$TMPDIR/vocabulary, which is not there now or has changed" \
        "$("$PRATTLE" data info noted/v | tr -s ' \n' ' ')"
    has "  but how to see them" "--model PATH" "$(begins noted/v)"
    rm -r vocabulary
    has "nor one that is gone" "$TMPDIR/vocabulary, which is not there now or has changed" "$("$PRATTLE" data info noted/v | tr -s ' \n' ' ')"
    rm -r noted said.m
else
    echo "# left out: which tokenizer ids are of (needs a file system with extended attributes)"
fi
rm -f attribute
# Copied, they have no attributes, as those of other programs.
cat x-nanogpt.bin >copy; mv copy x-nanogpt.bin
is "nanoGPT's documents only with the tokenizer" "known only with the tokenizer" "$(field documents "$("$PRATTLE" data info x-nanogpt.bin)")"
has "which convert says" "look at where documents end only the tokenizer of these ids says" \
    "$("$PRATTLE" data convert x-nanogpt.bin x-back --force 2>&1 | tr -s ' \n' ' ')"
is "llm.c's by the token it begins with" "x-back: 4 documents" "$("$PRATTLE" data convert x-llmc.bin x-back --force | sed -n 's/^  wrote *\([^,]*\),.*/\1/p')"
is "llm.c's documents begin with the end of text, others end with it" "$(od -An -tu2 -w2 x-nanogpt.bin | tail -n 1) $(od -An -tu2 -w2 x-nanogpt.bin | head -n -1 | paste -sd ' ')" \
    "$(od -An -tu2 -w2 -j 1024 x-llmc.bin | paste -sd ' ')"
has "where it is not known, convert says so" "llm.c's documents begin with the end-of-text token, others end with it: without a tokenizer=PATH that has one it stays where it is" \
    "$("$PRATTLE" data convert x-nanogpt.bin y.bin format=llmc --force 2>&1 | tr -s ' \n' ' ')"
is "data check compares them with their texts" "4 documents, which give the same tokens" \
    "$("$PRATTLE" data check x-llmc.bin texts --model $MODEL 2>&1 | sed -n 's/^  texts *//p')"
prepare texts lines.jsonl >said
is "JSON lines" '{"text":"One day."}' "$(head -n 1 lines.jsonl)"
printf '%s\n' '{"text": "a \ud83d\ude00"}' '{"text": "b \ud83d c"}' '{"text": "\udc00"}' >half.jsonl
said=$(prepare half.jsonl halves.jsonl)
is "half a surrogate pair becomes U+FFFD" '{"text":"a 😀"} {"text":"b � c"} {"text":"�"}' "$(paste -sd ' ' halves.jsonl)"
has "and is told once" "2 JSON lines have half a surrogate pair, replaced by U+FFFD; the first is half.jsonl line 2" "$said"
line() { printf "$1" >json.json; prepare json.json no-lines; }
has "a list of objects is no JSON lines" "json.json line 1: expected a whole object; jq -c '.[]' FILE > NEW.jsonl makes lines" "$(line '[{"text": "a"}]')"
has "  over several lines too" "line 1: expected a whole object; jq -c '.[]' FILE" "$(line '[ \n{"text": "a"}]')"
has "  as some write it" "line 1: expected a whole object; jq -c '.[]' FILE" "$(line '[{"text": "a"},\n{"text": "b"}]')"
has "nor is an object over several" "line 1: expected a whole object; jq -c . FILE > NEW.jsonl" "$(line '{\r\n"text": "a"}')"
has "other fields are named" "whose field text is a string, it has content, title; \`prattle data prepare FILE NEW.jsonl field=NAME\` takes one" "$(line '{"content": "a", "n": 1, "title": "b"}')"
is "  where there are such" "json.json line 2: expected an object whose field text is a string, not null" "$(line '{"text": "a"}\n{"text": null}' | head -n 1)"
has "  of lists too, with what they are" "a string, it has messages (a list), id (a number)" "$(line '{"messages": [], "id": 3}')"
is "  without the advice where a field was named" "json.json line 1: expected an object whose field body is a string, it has content" \
    "$(line '{"content": "a"}' >all; prepare json.json no-lines field=body | tail -n 1)"
has "  few" "z...; \`prattle data prepare FILE NEW.jsonl field=NAME\`" "$(line "{\"$(printf %200s '' | tr ' ' z)\": \"a\", \"$(printf %200s '' | tr ' ' y)\": \"b\"}" | sed 's/ (200 bytes)//g')"
prepare texts/a.txt texts/b.jsonl tf.tfrecord >said
is "TFRecord has an index" 4 "$(wc -l <tf.tfrecord.index)"
is "data check compares it" "4 records, each where it says" "$(field index "$("$PRATTLE" data check tf.tfrecord)")"
cp tf.tfrecord.index right; entry() { sed "$1" right >tf.tfrecord.index; "$PRATTLE" data check tf.tfrecord 2>&1; }
read -r at length <<<"$(sed -n 3p right)"
has "and names the first entry that is wrong" \
    "tf.tfrecord.index: line 3 says offset $at and length 7, the record is at $at and has $length bytes" "$(entry "3,4s/ .*/ 7/")"
has "one that is missing" "tf.tfrecord.index has no more entries than the 3 first records of tf.tfrecord" "$(entry 4d)"
has "one too many" "tf.tfrecord.index has more entries than the 4 records of tf.tfrecord" "$(entry '$p')"
has "one that is none" "tf.tfrecord.index: line 2 is x, must be an offset and a length" "$(entry 2s/.*/x/)"
rm tf.tfrecord.index; mkfifo tf.tfrecord.index
has "one that is no file" "tf.tfrecord.index is a pipe, not a regular file" "$(timeout 60 "$PRATTLE" data check tf.tfrecord 2>&1)"
mv -f right tf.tfrecord.index
said=$(prepare texts/a.txt texts/b.jsonl parts split=0.5,0.25,0.25 shuffle=on)
is "a split is three files" "parts-test.bin parts-train.bin parts-validation.bin" "$(ls parts*.bin | paste -sd ' ')"
is "of its shares" "parts-train: 2 documents" "$(field wrote "$said" | cut -d , -f 1)"
has "an empty part is named" "look at parts-test has no document: 1 is too few for these shares" \
    "$(prepare texts/b.jsonl parts split=0.5,0.25,0.25 --force | tr -s ' ' | grep test.has)"
"$PRATTLE" data prepare texts/b.jsonl shipped >said 2>&1
for end in bin idx; do cat shipped.$end >copy; mv copy shipped.$end; done # without the tokenizer's note
said=$("$PRATTLE" data convert shipped back.jsonl 2>&1)
is "texts again, by the tokenizer that ships" '{"text":"Third."}' "$(cat back.jsonl)"
has "which is said" "the tokenizer of the model that ships with prattle" "$(tr -s ' \n' ' ' <<<"$said")"
tar --sort=name -cf - texts | xz >texts.tar.xz; tar -cf nested.tar texts.tar.xz
prepare nested.tar nested >said; prepare texts plain >said
is "archives in archives give the same" "$(sha256sum <plain.bin)" "$(sha256sum <nested.bin)"
mkdir nothing; tar -cf nothing/none.tar -T /dev/null; gzip -k nothing/none.tar
cp nothing/none.tar.gz nothing/none.tgz; printf 'PK\5\6%018d' 0 | tr 0 '\0' >nothing/none.zip
for f in none.tar none.tar.gz none.tgz none.zip; do
    is "an archive of nothing is empty: $f" "nothing/$f is empty" "$(prepare nothing/$f none)"
done
has "  a folder of such, too" "the folder nothing has no files to read" "$(prepare nothing none)"
cp texts/a.txt nothing; (cd nothing; tar -cf all.tar none.* a.txt; rm none.* a.txt)
prepare nothing some >said
is "  in an archive with a text, that is read" "$(prepare texts/a.txt one >said; sha256sum <one.bin)" "$(sha256sum <some.bin)"
rm -r nothing some.* one.*
"$PRATTLE" data convert tf.tfrecord back >said 2>&1
has "what was converted" "back: 4 documents" "$(cat said)"
is "there and back" "$(sha256sum <plain.bin; sha256sum <plain.idx)" "$(sha256sum <back.bin; sha256sum <back.idx)"
printf x | dd of=tf.tfrecord bs=1 seek=40 conv=notrunc 2>/dev/null
has "damage is named" "tf.tfrecord: the record at byte 0 has data whose checksum is wrong" "$("$PRATTLE" data info tf.tfrecord 2>&1)"
cp "$OLDPWD"/tests/golden/pickle/{lists-4,uint16-2}.pkl .
is "pickled lists are token files" "pickled lists 4 15, 4 a document" \
    "$(info=$("$PRATTLE" data info lists-4.pkl); for f in format documents tokens; do field $f "$info"; done | paste -sd ' ')"
for f in lists-4 uint16-2; do "$PRATTLE" data convert $f.pkl $f >said 2>&1; done
has "they are converted" "uint16-2: 4 documents, 15 tokens" "$(cat said)"
is "an array of NumPy is a list" "$(sha256sum <lists-4.bin)" "$(sha256sum <uint16-2.bin)"
printf '\200\2](]K\1a]K\2ae.' >two.pkl; "$PRATTLE" data convert two.pkl two --model $MODEL >said 2>&1
has "a tokenizer's end follows each" "two: 2 documents, 4 tokens" "$(cat said)"
is "a run reads them" 0 "$("$PRATTLE" train finetune data=two.pkl,two.pkl,plain steps=1 sequence_length=16 folder=run-pickle --model $MODEL >/dev/null 2>&1; echo $?)"
for form in nanogpt llmc; do
    has "bounds that $form's files cannot have are told" "look at some are one now" \
        "$("$PRATTLE" data convert lists-4.pkl bounds.bin format=$form --force 2>&1 | tr -s ' \n' ' ' | sed 's/look at.*: some/look at some/')"
    lacks=$("$PRATTLE" data convert out bounds.bin format=$form --force 2>&1)
    is "  and no others" "" "$(grep 'look at' <<<"$lacks")"
done
printf '\223NUMPY\1\0\106\0%-69s\n\1\0\0\0\373\377\377\377' "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }" >minus.npy
printf '\0\1\0\1A\0\0\1' >void.bin
is "documents without text are no lines, and not counted" "1 void.jsonl: 1 document" \
    "$("$PRATTLE" data convert void.bin void.jsonl --model $MODEL >said 2>&1; echo "$(wc -l <void.jsonl) $(field wrote "$(cat said)" | cut -d , -f 1)")"
printf '\223NUMPY\1\0\106\0%-69s\n\0\0\47\74\125\0\1\0' "{'descr': '<u2', 'fortran_order': False, 'shape': (4,), }" >like.npy
has "ids that spell a type of texts are ids" "vocabulary   ids 0 to 15399" "$("$PRATTLE" data info like.npy 2>&1)"
has "a negative id is none" "minus.npy: token 1 is -5, which is not a token ID: expected 0 to 2147483647" "$("$PRATTLE" data info minus.npy 2>&1)"
has "nor one of a model" "minus.npy: token 1 is -5, expected 0 to 256 with this vocabulary" "$("$PRATTLE" data check minus.npy --model $MODEL 2>&1)"
printf A >single.txt
is "one byte" "1 document, 1 byte of text" "$(field read "$(prepare single.txt single)" | cut -d , -f 1,2)"
gzip -k two.pkl
is "compressed too" "$(field tokens "$("$PRATTLE" data info two.pkl)")" "$(field tokens "$("$PRATTLE" data info two.pkl.gz)")"
mkdir pickles; cp two.pkl pickles/; printf '\200\2}.' >pickles/meta.pkl
is "other pickles of a folder are left out" "pickled lists" "$(field format "$("$PRATTLE" data info pickles 2>/dev/null)")"
has "which is said" "left out: pickles/meta.pkl is not a pickled list of lists of token ids" "$("$PRATTLE" data info pickles 2>&1)"
gzip -k pickles/meta.pkl
is "compressed too" "pickled lists" "$(field format "$("$PRATTLE" data info pickles 2>/dev/null)")"
is "one token is singular" "1 token each" "$(field lengths "$("$PRATTLE" data info pickles 2>/dev/null)")"
has "which is said of both" "also pickles/meta.pkl.gz" "$("$PRATTLE" data info pickles 2>&1)"
has "one of them is refused" "pickles/meta.pkl is not a pickled list of lists of token ids" "$("$PRATTLE" data info pickles/meta.pkl 2>&1)"
"$PRATTLE" data convert two.pkl by-convert >said 2>&1
is "prepare takes them as convert does" "again: $(sed -n 's/^  wrote *by-convert: //p' said)" "$(field wrote "$("$PRATTLE" data prepare two.pkl again 2>&1)")"
cmp again.bin by-convert.bin && cmp again.idx by-convert.idx
is "  to the last byte" 0 $?
"$PRATTLE" data prepare two.pkl two.tfrecord >said 2>&1
is "  and what it made of them" "again2: $(field wrote "$("$PRATTLE" data prepare two.tfrecord again2 2>&1)" | sed 's/^again2: //')" \
    "again2: $(field wrote "$("$PRATTLE" data convert two.pkl again3 2>&1)" | sed 's/^again3: //')"
cmp again2.bin again.bin
is "  with the same tokens" 0 $?
said=$("$PRATTLE" data prepare two.pkl two.pkl parts-of split=0.5,0.5 2>&1)
is "files of tokens are split" "4 documents, 4 tokens, end-of-text tokens not counted" "$(field read "$said")"
is "  into as many files" "parts-of-train.bin parts-of-validation.bin" "$(ls parts-of*.bin | paste -sd ' ')"
"$PRATTLE" data convert two.pkl two.pkl parts-of split=0.5,0.5 --force >converted 2>&1
is "  which convert does too" "$said" "$(cat converted)"
said=$("$PRATTLE" data prepare two.pkl two.pkl once duplicates=exact min_length=1 shuffle=on --model $MODEL 2>&1)
is "repeated ones are left out" "2 repeated" "$(field 'left out' "$said")"
is "  so are short ones, by their tokens" "4 too short" "$("$PRATTLE" data prepare two.pkl two.pkl none min_length=2 --model $MODEL 2>&1 | sed -n 's/.*all doc.* min_length/4 too short/p')"
printf '\200\2](]K\ta](K\tK\te](K\1K\1K\1ee.' >three.pkl
said=$("$PRATTLE" data prepare three.pkl longer min_length=2 --model $MODEL 2>&1)
is "  and no others" "1 too short" "$(field 'left out' "$said")"
is "  which were read as well" "$(field read "$("$PRATTLE" data prepare three.pkl shorter shuffle=on --model $MODEL 2>&1)")" "$(field read "$said")"
has "  but are not what a split has too little of" "uneven-validation has no document: 2 are too few for these shares" \
    "$("$PRATTLE" data prepare three.pkl uneven min_length=2 split=0.9,0.1 --model $MODEL 2>&1)"
mkdir as
for form in nanogpt:longer.bin llmc:longer.bin tfrecord:longer.tfrecord; do
    "$PRATTLE" data convert longer as/${form#*:} format=${form%:*} --force --model $MODEL >said 2>&1
    "$PRATTLE" data prepare as/${form#*:} again4 shuffle=on seed=5 --force --model $MODEL >said 2>&1
    "$PRATTLE" data prepare longer again5 shuffle=on seed=5 --force --model $MODEL >said 2>&1
    cmp again4.bin again5.bin && cmp again4.idx again5.idx
    is "${form%:*} is shuffled like others" 0 $?
done
"$PRATTLE" data prepare shipped in-order.jsonl duplicates=exact >said 2>&1
is "texts are made of tokens" '{"text":"Third."}' "$(cat in-order.jsonl)"
has "  by the tokenizer that ships, which is said" "the tokenizer of the model that ships with prattle" "$(tr -s ' \n' ' ' <said)"
has "what only texts have is refused" "field is a setting of texts, and the input has tokens" "$("$PRATTLE" data prepare two.pkl parts-of field=body 2>&1)"
has "so are both in one" "two.pkl has tokens already, single.txt is a text: prepare each by itself" "$("$PRATTLE" data prepare two.pkl single.txt both 2>&1)"
has "documents must be known" "where the documents of these files end only the tokenizer of their ids says" "$("$PRATTLE" data prepare x-nanogpt.bin both split=0.5,0.5 2>&1)"

# A tokenizer is named, and has no end-of-text token: characters of nanoGPT.
characters=tokenizer=$OLDPWD/tests/golden/foreign/nanogpt-char
printf 'a\0b\0' | tr ab '\4\5' >letters.bin
is "a tokenizer without end of text knows none" "not known: the tokenizer has no end-of-text token" "$(field documents "$("$PRATTLE" data info letters.bin "$characters" 2>&1)")"
has "  nor for convert" "where documents end is not known: the tokenizer has no end-of-text token; each file is one document" \
    "$("$PRATTLE" data convert letters.bin as-letters "$characters" 2>&1 | tr -s ' \n' ' ')"
has "  nor to split" "where the documents of these files end is not known: the tokenizer has no end-of-text token" \
    "$("$PRATTLE" data prepare letters.bin split-letters split=0.5,0.5 "$characters" 2>&1 | tr -s ' \n' ' ')"

# Token files in archives: one after the other.
mkdir packed; cp two.pkl packed/1.pkl; cp three.pkl packed/2.pkl; cp pickles/meta.pkl texts/a.txt packed
(cd packed; for i in 1 2; do "$PRATTLE" data convert $i.pkl $i.tfrecord >said 2>&1; done; rm said
    tar -cf - 1.pkl meta.pkl 2.pkl | xz >lists.tar.xz; gzip -k 2.pkl; tar -cf lists.tar 1.pkl 2.pkl.gz
    tar -czf records.tgz [12].tfrecord [12].tfrecord.index a.txt; gzip -c 1.tfrecord >one.tfrecord)
"$PRATTLE" data prepare packed/1.pkl packed/2.pkl plain-lists shuffle=on seed=2 >said 2>&1
for f in packed/lists.tar.xz packed/lists.tar packed/records.tgz; do
    "$PRATTLE" data prepare $f from-archive shuffle=on seed=2 --force >said 2>&1
    cmp from-archive.bin plain-lists.bin && cmp from-archive.idx plain-lists.idx
    is "$f is prepared as its files are" 0 $?
done
has "what else is there is left out" "left out: packed/records.tgz: a.txt is not a TFRecord file" "$(cat said)"
is "compressed as TensorFlow does it" "2 documents, 2 tokens" "$("$PRATTLE" data prepare packed/one.tfrecord from-archive --force 2>&1 | sed -n 's/.*archive: //p')"
is "a run reads such too" "5" "$(field documents "$("$PRATTLE" data info packed/records.tgz 2>/dev/null)")"
is "data check too, without an index" "5 " "$(said=$("$PRATTLE" data check packed/records.tgz 2>/dev/null); echo "$(field documents "$said") $(field index "$said")")"
(cd packed; cp a.txt 0.txt; "$PRATTLE" data convert 1.pkl m >said 2>&1; tar -cf first.tar 0.txt 1.pkl 1.tfrecord 1.tfrecord.index m.bin m.idx)
said=$(prepare packed/first.tar of-texts)
has "behind a text tokens are left out, which is said" "left out: packed/first.tar: 1.pkl has tokens, and only an archive that begins with tokens is read for them: unpack it first; also packed/first.tar: 1.tfrecord, packed/first.tar: m.bin, packed/first.tar: m.idx" "$said"
is "  and the text is prepared" "of-texts: 3 documents" "$(field wrote "$said" | cut -d , -f 1)"
has "files of Megatron in an archive are named" "left out: mega.tar: m.bin is not text; of token files only .pkl and .tfrecord are read packed: unpack it first; also mega.tar: m.idx" \
    "$(tar -cf mega.tar -C packed m.bin m.idx; prepare mega.tar none)"
mkdir tf2idx; for i in 1 2; do cp packed/$i.tfrecord tf2idx; cp packed/$i.tfrecord.index tf2idx/$i.index; done
mv tf2idx/2.index tf2idx/2.idx; tar -cf tf2idx.tar -C tf2idx 1.index 1.tfrecord 2.idx 2.tfrecord
for f in tf2idx tf2idx.tar; do
    is "$f: no index of others is a text" "TFRecord 5" "$(said=$("$PRATTLE" data info $f 2>&1); echo "$(field format "$said" | cut -d , -f 1) $(field documents "$said")")"
done
is "  and data check compares it" "5 records, each where it says" "$(field index "$("$PRATTLE" data check tf2idx)")"
sed -i '2s/^/1/' tf2idx/2.idx
has "  and names its faults" "tf2idx/2.idx: line 2 says offset" "$("$PRATTLE" data check tf2idx 2>&1)"
printf x | dd of=packed/2.tfrecord bs=1 seek=20 conv=notrunc 2>/dev/null; (cd packed; tar -czf records.tgz [12].tfrecord)
has "damage is named there" "packed/records.tgz: 2.tfrecord: the record at byte 0 has data whose checksum is wrong" "$("$PRATTLE" data info packed/records.tgz 2>&1)"

# A tokenizer by itself: a folder of its files.
"$PRATTLE" tokenizer train "$OLDPWD/README.md" words --vocab-size 300 >said 2>&1
said=$("$PRATTLE" data prepare texts/a.txt named tokenizer=words)
has "a tokenizer can be named" "ids of a vocabulary of 300" "$said"
"$PRATTLE" data prepare texts/a.txt named-2 --model words >said 2>&1
cmp named.bin named-2.bin
is "  as a model is" 0 $?
has "data info takes one" "of the tokenizer's 300" "$("$PRATTLE" data info named tokenizer=words)"
is "  or as a model" "$("$PRATTLE" data info named tokenizer=words)" "$("$PRATTLE" data info named --model words)"
has "  its files as other programs take them" "words/vocab.json is not a folder: tokenizer= takes one with vocab.json and merges.txt" \
    "$("$PRATTLE" data info named tokenizer=words/vocab.json 2>&1)"
has "  for a text too" "of the tokenizer's 300" "$("$PRATTLE" data info texts/a.txt tokenizer=words)"
has "data check too" "which give the same tokens" "$("$PRATTLE" data check named texts/a.txt tokenizer=words)"
has "  which need not be named again" "which give the same tokens" "$("$PRATTLE" data check named texts/a.txt 2>&1)"
has "data convert too" '"One day."' "$("$PRATTLE" data convert named named.jsonl tokenizer=words >/dev/null; cat named.jsonl)"
has "written with -- it says how" "tokenizer is a data setting, written without --: tokenizer=VALUE" "$("$PRATTLE" data info named --tokenizer words 2>&1)"
has "  as do others" "split is a data setting, written without --: split=VALUE" "$("$PRATTLE" data prepare texts o --split 0.5,0.5 2>&1)"
mkdir empty; has "one that is not there" "empty has neither weights nor a tokenizer" "$("$PRATTLE" data prepare texts o tokenizer=empty 2>&1)"
prepare half.jsonl by-prepare >said
"$PRATTLE" data convert half.jsonl of-lines --model $MODEL >said 2>&1
cmp of-lines.bin by-prepare.bin && cmp of-lines.idx by-prepare.idx
is "convert takes JSON lines as prepare does" 0 $?
has "  and no other text" "single.txt is a text; data prepare makes tokens of it" "$("$PRATTLE" data convert single.txt of-text 2>&1)"
"$PRATTLE" train finetune data=plain steps=1 sequence_length=16 folder=run --model $MODEL >said 2>&1
is "a run reads it" 0 $?
printf 'caf\351' >texts/c.txt
said=$(prepare texts faulty)
has "a file at fault is named" "texts/c.txt is not UTF-8: byte 3 is e9" "$said"
has "and what to do" "what was read stays; the same command continues when the cause is gone" "$said"
rm texts/c.txt
is "without it the command goes on" "4 documents" "$(prepare texts faulty | sed -n 's/^  wrote .*: \([0-9]* documents\).*/\1/p')"
"$PRATTLE" help data >said
has "the help names its settings" "shares of training, validation and test documents" "$(cat said)"
has "a setting that is none" "there is no setting splitt; did you mean split?" "$(prepare texts o splitt=1)"
has "usage" "usage: prattle data prepare IN ... OUT [KEY=VALUE ...]" "$(prepare texts)"

if [ -n "$DATA" ]; then
    # A set that Megatron-LM made: to the last token, there and back.
    real=$DATA/megatron/meg-gpt2-openwebtext_text_document
    for out in real.tfrecord real-llmc.bin real-nanogpt.bin; do
        form=${out#real-} form=${form%.bin}
        "$PRATTLE" data convert "$real" $out $([ $out = real.tfrecord ] || echo format=$form) >said 2>&1
        has "a real data set as $out" "1000 documents, 1361845 tokens" "$(cat said)"
        "$PRATTLE" data convert $out real-back --force >said 2>&1
        is "its ids, back from $out" "$(sha256sum <"$real.bin")" "$(sha256sum <real-back.bin)"
    done
    "$PRATTLE" data convert real.tfrecord real-back --force >said 2>&1
    is "and its documents" "$(tail -c 8008 "$real.idx" | sha256sum)" "$(tail -c 8008 real-back.idx | sha256sum)"
else
    echo "# left out: a data set of Megatron-LM through all formats (needs DATA)"
fi

# Killed at any time: what has its name is whole, and the same command goes on to the same bytes.
yes 'a text of some length that is said again and again<|endoftext|>' | head -n 60000 >many.txt
prepare many.txt whole >said
for s in 0.05 0.1 0.2 0.3; do
    timeout -s KILL $s "$PRATTLE" data prepare many.txt part --model $MODEL --force >said 2>&1
    if [ -e part.bin ]; then cmp -s part.bin whole.bin && cmp -s part.idx whole.idx || echo "# half a file after $s" >>half; fi
done
is "no half file looks whole" "" "$(cat half 2>/dev/null)"
# A kill may leave these, and the one that was killed last may not be gone yet.
mkdir -p .part.preparing && touch .part.preparing/state.json.Xy12Zw.tmp .part.preparing/runs
for i in $(seq 100); do prepare many.txt part --force >said; grep -q "another process" said || break; sleep 0.1; done
is "it goes on to the same bytes" "$(sha256sum <whole.bin)" "$(sha256sum <part.bin)"
is "and leaves nothing" "part.bin part.idx" "$(ls -dA .part.* part.* 2>/dev/null | paste -sd ' ')"
touch part.tfrecord.Xy12Zw.tmp part.tfrecord.index.Xy12Zw.tmp part.tfrecord.Used01.tmp
{
    flock -n 9
    "$PRATTLE" data convert part part.tfrecord >said 2>&1
} 9<part.tfrecord.Used01.tmp
is "a conversion takes away what kills left, and not what is in use" "part.tfrecord part.tfrecord.Used01.tmp part.tfrecord.index" \
    "$(LC_ALL=C ls -d part.tfrecord* | paste -sd ' ')"
echo precious >plain.txt
has "a prefix that is another file's name" "plain.txt.bin and .idx: 1 document" "$("$PRATTLE" data prepare plain.txt plain.txt --model $MODEL 2>&1)"
is "  which stays" precious "$(cat plain.txt)"
printf 'id,text\n1,hello\n\n2\n' >short.csv
has "a record without the text's field" "short.csv record 4 ends before its text, which is field 2 as the first record names them" \
    "$("$PRATTLE" data prepare short.csv short.jsonl 2>&1)"
finish
