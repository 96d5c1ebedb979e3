#!/usr/bin/env bash
# data check: whether a tokenized data set is whole.
. "$(dirname "$0")/lib.sh.inc"
export XDG_CACHE_HOME=$TMPDIR/cache
golden=$PWD/tests/golden
cd "$TMPDIR" || exit 1
check() { "$PRATTLE" data check "$@" 2>&1; }
field() { sed -n "s/^  $1 *//p" <<<"$2"; }

# Languini's books: a folder of .npy files, and the list that names them.
cp -r "$golden/books" books
said=$(check books/bytes_400)
is "a folder's files" "2, 420 bytes" "$(field files "$said")"
is "the sum is that of Languini's integrity test" "$(cat books/integrity.txt), SHA-256 of sizes and names" "$(field sum "$said")"
is "its lists" "1 list of 2 files: all are there, and as long as said" "$(field lists "$said")"
is "its documents" 2 "$(field documents "$said")"
is "its tokens" "82, ids 131 to 368" "$(field tokens "$said")"
is "data info reads them" "NumPy, 2 files 2 82, 41 a document" \
    "$(info=$("$PRATTLE" data info books/bytes_400); for f in format documents tokens; do field $f "$info"; done | paste -sd ' ')"
is "they are converted" "books.out: 2 documents, 82 tokens" "$("$PRATTLE" data convert books/bytes_400 books.out 2>&1 | sed -n 's/^  wrote *//p')"
has "a list of files is no data" "file_list_train.npy is an array of texts, not of token ids" "$(check books/file_list_train.npy)"
mv books/bytes_400/files/two.npy .
has "a file that is missing" "files/two.npy is not there, which books/bytes_400/../file_list_train.npy names" "$(check books/bytes_400)"
cp books/bytes_400/files/one.npy books/bytes_400/files/two.npy
has "or is another" "files/two.npy has 44 tokens, books/bytes_400/../file_list_train.npy says 38" "$(check books/bytes_400)"
head -c -2 two.npy >books/bytes_400/files/two.npy
has "or cut off" "two.npy has 74 bytes of elements, its header says 76" "$(check books/bytes_400)"
{ cat two.npy; printf '\1\1'; } >books/bytes_400/files/two.npy
has "or goes on behind its elements" "two.npy has 78 bytes of elements, its header says 76" "$(check books/bytes_400)"
mv two.npy books/bytes_400/files/
if [ -f "$(dirname "$PRATTLE")/prattle-sentencepiece.so" ]; then
    said=$(check books/bytes_400 books/texts --model "$golden/sentencepiece/bytes.model")
    is "their texts" "2 documents, which give the same tokens" "$(field texts "$said")"
    is "their vocabulary" "82, ids 131 to 368, all in the vocabulary of 400" "$(field tokens "$said")"
    has "data info with the tokenizer alone" "ids 131 to 368, of the tokenizer's 400 54 of 400 ids" \
        "$(info=$("$PRATTLE" data info books/bytes_400 --model "$golden/sentencepiece/bytes.model"); for f in vocabulary used; do field $f "$info"; done | paste -sd ' ')"
else
    echo "# left out: the books' texts (libsentencepiece-dev or g++ is not installed)"
fi

# What data prepare made, in each format.
mkdir texts
printf 'One day.\n<|endoftext|>\nA second, longer text.\n<|endoftext|>\nThird.' >texts/a.txt
printf '{"text": "Fourth."}\n' >texts/b.jsonl
for out in mega tokens.tfrecord flat.bin; do
    "$PRATTLE" data prepare texts $out $([ $out = flat.bin ] && echo format=nanogpt) --model $MODEL >said 2>&1
    said=$(check $out texts --model $MODEL)
    is "$out: its texts" "4 documents, which give the same tokens" "$(field texts "$said")"
done
printf 'Once.\n' >once.txt
"$PRATTLE" data prepare once.txt once --model $MODEL >said 2>&1
is "one text" "1 document, which gives the same tokens" "$(field texts "$(check once once.txt --model $MODEL)")"
is "its tokens" "47, ids 11 to 256, all in the vocabulary of 257" "$(field tokens "$said")"
is "a file has no sum" "" "$(field sum "$said")"
printf 'One.\n--\nTwo.\n' >cut.txt
printf '{"body": "Three."}\n' >body.jsonl
"$PRATTLE" data prepare cut.txt body.jsonl cut document_separator=-- field=body --model $MODEL >said 2>&1
has "texts are read as they were, by the usual separator" "cut.txt: document 1 has 4 tokens, its text has more" "$(check cut cut.txt body.jsonl --model $MODEL)"
is "by the field and the separator" "3 documents, which give the same tokens" \
    "$(field texts "$(check cut cut.txt body.jsonl field=body document_separator=-- --model $MODEL)")"
has "what says nothing about that is refused" "shuffle is a setting of \`data prepare\`" "$(check cut cut.txt shuffle=on --model $MODEL)"
has "and what is no setting" "there is no setting feld" "$(check cut cut.txt feld=body --model $MODEL)"
sed -i 's/Third/Fhird/' texts/a.txt
has "a text that is another" "texts/a.txt: token 1 of document 3 is 51, the text gives 37" "$(check mega texts --model $MODEL)"
sed -i 's/Fhird/Third and more/' texts/a.txt
has "or longer" "texts/a.txt: token 6 of document 3 is 13, the text gives 220" "$(check mega texts --model $MODEL)"
sed -i 's/Third and more\./Thi/' texts/a.txt
has "or shorter" "texts/a.txt: document 3 has 6 tokens, its text only 3" "$(check mega texts --model $MODEL)"
sed -i 's/Thi$/Third./' texts/a.txt
has "too few texts" "the data has 4 documents, the texts 3" "$(check mega texts/a.txt --model $MODEL)"
printf '{"text": "Fifth."}\n' >texts/c.jsonl
has "too many" "texts/c.jsonl has more documents than the 4 of the data" "$(check mega texts --model $MODEL)"
# Texts of other kinds, as data prepare reads them.
printf 'id,text\n1,"One, day."\n2,\n3,Two\n' >table.csv
printf '<doc id="1" title="A">\nA\n\nText.\n</doc>\n<doc id="2" title="B">\n</doc>\n<doc id="3" title="C">\nC\n</doc>\n' >wiki_00
page() { echo "<page><title>$1</title><ns>0</ns><revision><timestamp>2020-01-01T00:00:00Z</timestamp><text>$2</text></revision></page>"; }
{ echo '<mediawiki>' && page A "It is a '''[[page]]''' of some words." && page B '{{empty}}' && page C 'More of them.' && echo '</mediawiki>'; } >dump.xml
for in in table.csv wiki_00 dump.xml; do
    "$PRATTLE" data prepare $in kind --model $MODEL --force >said 2>&1
    is "texts of $in" "2 documents, which give the same tokens" "$(field texts "$(check kind $in --model $MODEL)")"
done
printf '\377\177\1\0' >other.bin
has "an id of no vocabulary" "other.bin: token 0 is 32767, expected 0 to 256 with this vocabulary" "$(check other.bin --model $MODEL)"
has "any vocabulary" "2, ids 1 to 32767" "$(check other.bin)"
has "texts without a tokenizer" "texts need the tokenizer that made the tokens: load a model that has it, or give tokenizer=PATH" "$(check other.bin texts)"
is "a difference is a status" 1 "$(check mega texts --model $MODEL >/dev/null; echo $?)"
has "usage" "usage: prattle data check PATH [TEXTS ...]" "$(check field=a)"
echo "Once upon a time" >text.txt
is "texts have the tokens of the model that opens by itself" "$(field documents "$(check text.txt --model bundled)") $(field tokens "$(check text.txt --model bundled)")" \
    "$(field documents "$(check text.txt)") $(field tokens "$(check text.txt)")"
has "  and some" "ids " "$(field tokens "$(check text.txt)")"
finish
