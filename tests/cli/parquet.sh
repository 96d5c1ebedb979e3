#!/usr/bin/env bash
# Parquet's columns of texts, through a stand-in for Apache Arrow's library (tests/parts).
. "$(dirname "$0")/lib.sh.inc"
export XDG_CACHE_HOME=$TMPDIR/cache ARROW_LOG=$TMPDIR/log
parts=$(dirname "$PRATTLE")/tests/parts
cd "$TMPDIR" || exit 1
field() { sed -n "s/^  $1 *//p" <<<"$2"; }
with() { LD_LIBRARY_PATH=$parts "$PRATTLE" "$@" 2>&1; }

printf '%s\n' PAR1 'columns id text long n3' group $'1\tOne "day".\tA long text.\t3' $'2\t\\N\tAnother.\t4' \
    $'3\tTwo\\nlines.\tThird.\t5' group $'4\tFour.\t\\N\t6' >x.parquet
has "without the library" "Parquet files need Apache Arrow's library parquet-glib, which is not installed (libparquet-glib-dev of Arrow's own repository, https://arrow.apache.org/install); JSON lines and CSV need none" \
    "$("$PRATTLE" data prepare x.parquet none --model $MODEL 2>&1)"
is "nothing is left then" "" "$(ls none* 2>/dev/null)"
said=$(with data prepare x.parquet out.jsonl --model $MODEL)
is "its rows with a text are documents" "3 documents, 25 bytes of text" "$(field read "$said")"
is "  which are" '{"text":"One \"day\"."} {"text":"Two\nlines."} {"text":"Four."}' "$(paste -sd ' ' out.jsonl)"
is "a row group at a time, and nothing stays" "0 objects left, at most 1 tables" "$(sort -u log)"
said=$(with data prepare x.parquet long.jsonl field=long --model $MODEL)
is "another column, of long texts" '{"text":"A long text."} {"text":"Another."} {"text":"Third."}' "$(paste -sd ' ' long.jsonl)"
has "a column that is not there" "x.parquet has no column body, it has id, text, long, n3; field=NAME chooses one" "$(with data prepare x.parquet o field=body --model $MODEL)"
has "a column of numbers" "x.parquet: the column n3 has no texts (GArrowInt64Array)" "$(with data prepare x.parquet o field=n3 --model $MODEL)"
printf 'Five.' >y.txt; cp x.parquet z.parquet; tar -cf packed.tar x.parquet y.txt z.parquet
tar -cJf inner.tar.xz x.parquet y.txt; tar -cf outer.tar inner.tar.xz y.txt
gzip -k x.parquet; xz -k x.parquet
# zip FILE...: an archive of files that are stored, whose CRCs gzip knows.
zip() {
    perl -e 'for (@ARGV) { open F, "<", $_; local $/; $d = <F>; $at = length $o; $n++;
        $sizes = pack "VVVvv", unpack("V", substr(`gzip -c $_`, -8)), length $d, length $d, length, 0;
        $o .= "PK\3\4" . pack("vvvV", 20, 0, 0, 0) . $sizes . $_ . $d;
        $x .= "PK\1\2" . pack("vvvvV", 0x314, 20, 0, 0, 0) . $sizes . pack("vvvVV", 0, 0, 0, 0x81a40000, $at) . $_ }
        print $o, $x, "PK\5\6", pack "vvvvVVv", 0, 0, $n, $n, length $x, length $o, 0' "$@"
}
zip y.txt x.parquet z.parquet >packed.zip
rows='{"text":"One \"day\"."} {"text":"Two\nlines."} {"text":"Four."}' five='{"text":"Five."}'
: >log
packed() { rm -f packed.jsonl; with data prepare "$@" packed.jsonl --model $MODEL >said || cat said; paste -sd ' ' packed.jsonl; }
for p in gz xz; do is "compressed: $p" "$rows" "$(packed x.parquet.$p)"; done
is "in a tar, with the others" "$rows $five $rows" "$(packed packed.tar)"
is "in a zip" "$five $rows $rows" "$(packed packed.zip)"
is "in an archive in another" "$rows $five $five" "$(packed outer.tar)"
is "  nothing stays" "0 objects left, at most 1 tables" "$(sort -u log)"
is "  on the disk" "" "$(find cache -type f)"
rm packed.jsonl
said=$(with data prepare packed.tar packed.jsonl field=long --model $MODEL)
has "another column beside a text" '{"text":"A long text."} {"text":"Another."} {"text":"Third."} {"text":"Five."}' "$(paste -sd ' ' packed.jsonl)"
is "training data as it is" "text 7" "$(info=$(with data info packed.tar --model $MODEL); for f in format documents; do field $f "$info"; done | paste -sd ' ')"
has "without the library" "Parquet files need Apache Arrow's library" "$("$PRATTLE" data prepare packed.tar none --model $MODEL 2>&1)"
has "a column that is not there" "packed.tar: x.parquet has no column body, it has id, text, long, n3; field=NAME chooses one" \
    "$(with data prepare packed.tar none field=body --model $MODEL)"
head -c -12 x.parquet.gz >cut.parquet.gz
has "cut off" "cut.parquet.gz is cut off after" "$(with data prepare cut.parquet.gz none --model $MODEL)"
is "  nothing is written" "" "$(ls none* 2>/dev/null)"
# The stand-in reads as far as a NUL.
{ cat x.parquet; head -c 300M /dev/zero; } >large.parquet; tar -cf large.tar large.parquet
is "a large one is unpacked on disk, not in memory" "$rows" "$(ulimit -d 250000; packed large.tar)"
# Ctrl-C while it is unpacked, which is seen by the file without a name.
{ cat x.parquet; perl -e 'srand 1; print "\0"; printf "%08x", rand 2**32 for 1..3e6'; } >large.parquet
tar -cf - y.txt large.parquet x.parquet | xz -0 >large.tar.xz; rm large.parquet large.tar
: >log; find cache -type f | sort >cached
set -m # or it would be a background job, which Ctrl-C is not for
LD_LIBRARY_PATH=$parts "$PRATTLE" data prepare large.tar.xz stopped.jsonl --model $MODEL >said 2>&1 &
until ls -l /proc/$!/fd 2>/dev/null | grep -q 'cache.*deleted' || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
kill -INT $!
wait $!
is "stopped while a file is unpacked" 130 $?
set +m
has "  it says what goes on" "[stopped; the same command continues]" "$(cat said)"
is "  Arrow never had the file" "" "$(cat log)"
is "  nothing stays but what was read" ".stopped.jsonl.preparing" "$(ls -dA stopped* .stopped* 2>/dev/null; find cache -type f | sort | diff cached -)"
said=$(with data prepare large.tar.xz stopped.jsonl --model $MODEL)
is "  the same command goes on" "$five $rows $rows" "$(paste -sd ' ' stopped.jsonl)"
is "  and then nothing stays" "stopped.jsonl" "$(ls -dA stopped* .stopped* 2>/dev/null; find cache -type f | sort | diff cached -)"
rm -f large.*
sed -i 's/^columns/nested 3\n&/' x.parquet
: >log
is "behind a nested column" '{"text":"One \"day\"."} {"text":"Two\nlines."} {"text":"Four."}' \
    "$(with data prepare x.parquet nested.jsonl --model $MODEL >said; paste -sd ' ' nested.jsonl)"
is "  too nothing stays" "0 objects left, at most 1 tables" "$(sort -u log)"
info=$(with data info x.parquet --model $MODEL)
is "it is training data as it is" "text 3" "$(for f in format documents; do field $f "$info"; done | paste -sd ' ')"
mkdir folder; cp x.parquet folder/; printf 'Five.' >folder/y.txt
is "in a folder" "text, 2 files 4" "$(info=$(with data info folder --model $MODEL); for f in format documents; do field $f "$info"; done | paste -sd ' ')"
for i in 1 2; do printf 'group\n9\tMore.\n'; done >>x.parquet
has "damage in the middle" "x.parquet: Apache Arrow cannot read it: [parquet][arrow][file-reader][read-row-group]: IOError: truncated" \
    "$(with data prepare x.parquet damaged --model $MODEL)"
is "  leaves nothing" "0 objects left, at most 1 tables" "$(tail -n 1 log)"
printf 'PAR1 and no more' >bad.parquet
has "what is none" "bad.parquet: Apache Arrow cannot read it: [parquet][arrow][file-reader][new-path]: Invalid: magic bytes not found" \
    "$(with data prepare bad.parquet o --model $MODEL)"
printf '%s\n' PAR1 'columns id prompt completion n3' group $'1\tQ: a\\n\t b\t3' $'2\t\\N\t c\t4' $'3\tQ: d\t\\N\t5' \
    $'4\tQ: "e"\t f\t6' group $'5\tQ: g\t h\t7' >pairs.parquet
printf '%s\n' '{"prompt": "Q: a\n", "completion": " b"}' '{"prompt": "Q: \"e\"", "completion": " f"}' \
    '{"prompt": "Q: g", "completion": " h"}' >pairs.jsonl
told() { with data info "$1" --model $MODEL | grep -v format; }
: >log
is "prompts and completions, in whole rows" "$(told pairs.jsonl)" "$(told pairs.parquet)"
is "  nothing stays" "0 objects left, at most 1 tables" "$(sort -u log)"
perl -ne 'print /\t/ ? join("\t", (split /\t/)[0, 2, 3, 1]) =~ s/\n//r . "\n" : s/prompt (.*)/$1 prompt/r' pairs.parquet >turned.parquet
is "  the columns apart" "$(told pairs.jsonl)" "$(told turned.parquet)"
sed -i 's/^columns/nested 3\n&/' pairs.parquet
is "  behind a nested column" "$(told pairs.jsonl)" "$(told pairs.parquet)"
sed 's/^columns.*/columns id question answer n3/' turned.parquet >other.parquet
has "  and what is neither" "other.parquet has no column text, it has id, question, answer, n3; the settings data_field, or data_prompt_template and data_completion_template, name others" \
    "$(with data info other.parquet --model $MODEL)"
sed '/^columns/s/prompt completion/question answer/' pairs.parquet >other.parquet
as=(--data-prompt-template '{question}' --data-completion-template '{answer}')
is "columns that templates name" "$(told pairs.jsonl)" "$(with data info other.parquet --model $MODEL "${as[@]}" | grep -v format)"
is "  compressed too" "$(told pairs.jsonl)" "$(gzip -k other.parquet; with data info other.parquet.gz --model $MODEL "${as[@]}" | grep -v format)"
sed 's/^\(columns.*\) n3/\1 text/' other.parquet >texts.parquet
is "  before a column of texts" "$(told pairs.jsonl)" "$(with data info texts.parquet --model $MODEL "${as[@]}" | grep -v format)"
has "  of which one is missing" "other.parquet has no column reply, it has id, question, answer, n3; prompt_template and completion_template name the columns of prompts and completions" \
    "$(with data info other.parquet --model $MODEL "${as[@]:0:3}" '{reply}')"
has "  or has numbers" "other.parquet: the column n3 has no texts" "$(with data info other.parquet --model $MODEL "${as[@]:0:3}" '{n3}')"
has "a column of another name" "documents    4" "$(with data info other.parquet --model $MODEL --data-field answer)"
has "  that is not there" "other.parquet has no column none, it has id" "$(with data info other.parquet --model $MODEL --data-field none)"
has "one column where one is asked for" "pairs.parquet has no column text, it has id, prompt, completion, n3; field=NAME chooses one" \
    "$(with data prepare pairs.parquet none --model $MODEL)"
{ printf 'PAR1\ncolumns id text\ngroup\n'; for i in $(seq 3000); do printf '%d\tRow %d.\n' $i $i; done; } >many.parquet
said=$(with data prepare many.parquet many.jsonl --model $MODEL)
is "many rows" "$(for i in $(seq 3000); do printf '{"text":"Row %d."}\n' $i; done | sha256sum)" "$(sha256sum <many.jsonl)"
finish
