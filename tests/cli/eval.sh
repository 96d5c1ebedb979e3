#!/usr/bin/env bash
# eval in the shell: what a program gets, the data folder, how it fails and stops.
. "$(dirname "$0")/lib.sh.inc"
export XDG_CACHE_HOME=$TMPDIR/cache XDG_DATA_HOME=$TMPDIR/data XDG_STATE_HOME=$TMPDIR/state
own=tests/golden/eval
measure() { "$PRATTLE" eval "$@" --model $MODEL 2>&1; }
figures() { grep -oE '"(loss|perplexity|accuracy)": *\{[^}]*\}' <<<"$1"; }
# all_figures ARGUMENTS...: of an evaluation.
all_figures() { measure "$@" --json | grep -o '"figures": .*"tokens": [0-9]*'; }

json=$("$PRATTLE" eval wikitext $own/wiki.txt --json --model $MODEL 2>/dev/null)
is "one object" 1 "$(wc -l <<<"$json" | tr -d ' ')"
has "its definition" '"definition": "as Megatron-LM' "$json"
has "a figure with its error" '"error":' "$(figures "$json" | head -n 1)"
is "batch and threads change nothing" "$(figures "$json")" \
    "$(figures "$("$PRATTLE" eval wikitext $own/wiki.txt --json -m $MODEL -t 1 -b 1)")"
mkdir -p "$TMPDIR/data/prattle/wikitext" "$TMPDIR/other/lambada"
cp $own/wiki.txt "$TMPDIR/data/prattle/wikitext/wiki.test.raw"
cp $own/lambada.jsonl "$TMPDIR/other/lambada/lambada_test.jsonl"
is "the data folder is looked into" "$(figures "$json")" "$(figures "$(measure wikitext --json)")"
is "and another by --data-dir" "$(measure lambada $own/lambada.jsonl | grep correct)" \
    "$(measure lambada --data-dir "$TMPDIR/other" | grep correct)"
is "which may have the file itself" "$(measure lambada $own/lambada.jsonl | grep correct)" \
    "$(measure lambada --data-dir "$TMPDIR/other/lambada" | grep correct)"
is "a folder that has the file stands for it" "$(measure lambada $own/lambada.jsonl | grep correct)" \
    "$(measure lambada "$TMPDIR/other" | grep correct)"
mkdir "$TMPDIR/raw" && cp $own/wiki.txt "$TMPDIR/raw/wiki.test.raw"
is "so for wikitext" "$(figures "$json")" "$(figures "$(measure wikitext "$TMPDIR/raw" --json)")"
is "and by --data-dir" "$(figures "$json")" "$(figures "$(measure wikitext --json --data-dir "$TMPDIR/raw")")"
has "a folder without it" "$TMPDIR/raw is a folder, not a file" "$(measure lambada "$TMPDIR/raw")"
has "a file that is not there" "lambada_test.jsonl not found: \`prattle data get lambada\` downloads it; or download https://" "$(measure lambada)"
said=$("$PRATTLE" data get lambada --data-dir "$TMPDIR/raw/wiki.test.raw/of" 2>&1)
has "a place that cannot be is said" "lambada cannot be downloaded: " "$said"
is "  and not what else to do with the text" "" "$(grep "without a network" <<<"$said")"
has "nor this" "cannot open $TMPDIR/none: No such file" "$(measure wikitext "$TMPDIR/none")"
is "a failure is a status" 1 "$(measure lambada >/dev/null; echo $?)"
is "a file alone is a text" "$(measure text $own/wiki.txt | grep loss)" "$(measure $own/wiki.txt | grep loss)"
# As a service's user has it, without a home folder.
homeless() { env -u XDG_CACHE_HOME -u XDG_STATE_HOME HOME=/dev/null "$@"; }
said=$(homeless "$PRATTLE" eval text $own/wiki.txt --model $MODEL 2>&1)
is "without a cache folder the figures are the same" "$(measure text $own/wiki.txt | grep loss)" "$(grep loss <<<"$said")"
has "  and it says where texts go" "prattle-$(id -u)/data is used for encoded texts" "$said"
has "  and that the result is not kept" "the result is not kept for eval history: cannot make the folder /dev/null" "$said"
is "  the second time it is there" "" "$(homeless "$PRATTLE" eval text $own/wiki.txt --model $MODEL 2>&1 | grep "encoded texts")"
chmod 777 "$TMPDIR/prattle-$(id -u)"
has "  not where others may write" "is not a folder that you alone may write in" \
    "$(homeless "$PRATTLE" eval text $own/wiki.txt --model $MODEL 2>&1)"
has "  nor where there is no place" "no folder for encoded texts (XDG_CACHE_HOME=DIR names one): cannot make the folder /dev/null" \
    "$(TMPDIR=/dev/null homeless "$PRATTLE" eval text $own/wiki.txt --model $MODEL 2>&1)"
rm -r "$TMPDIR/prattle-$(id -u)"
cp $own/wiki.txt "$TMPDIR/a, b.txt"
is "a comma in its name" "$(measure text $own/wiki.txt | grep loss)" "$(measure text "$TMPDIR/a, b.txt" | grep loss)"
mkdir "$TMPDIR/texts" && cp $own/*.txt $own/lambada.jsonl "$TMPDIR/texts"
has "a folder of texts" "in 41 documents" "$(measure text "$TMPDIR/texts" | tr -s ' \n' ' ')"
has "a pattern: what matches it" "in 2 documents" "$(measure "$TMPDIR/texts/*.txt" | tr -s ' \n' ' ')"
has "and by its name" "in 2 documents" "$(measure text "$TMPDIR/texts/*.txt" | tr -s ' \n' ' ')"
has "one that matches nothing" "no file matches $TMPDIR/texts/*.tex" "$(measure "$TMPDIR/texts/*.tex")"
has "what the shell made of a pattern" "eval reads one text, one folder, or all files that match a pattern in quotes" \
    "$(measure $own/wiki.txt "$TMPDIR/a, b.txt")"
p() { "$PRATTLE" "$@" 2>&1 </dev/null; }
p convert $MODEL "$TMPDIR/wordless" >/dev/null
rm -f "$TMPDIR"/wordless/{vocab.json,merges.txt,tokenizer.json}
for e in wikitext lambada choice text; do
    has "$e of a model without a tokenizer" "tokenizer" "$(p eval $e $own/wiki.txt --model "$TMPDIR/wordless")"
done
printf '{"text": "a b"}\n{"txt": "a b"}\n' >"$TMPDIR/bad.jsonl"
has "a line without a text" "bad.jsonl line 2: expected an object whose field text is a string" "$(measure lambada "$TMPDIR/bad.jsonl")"
printf '{"ctx": "a", "endings": ["b", "c"], "label": 0}\n{"ctx": "a"\n' >"$TMPDIR/bad.jsonl"
has "a line that is no JSON, its number once" "bad.jsonl line 2: not JSON: '}' expected near end of file at column 11" "$(measure choice "$TMPDIR/bad.jsonl")"
printf '{"ctx": "a\\u0000b", "endings": ["b", "c"], "label": 0}\n' >"$TMPDIR/bad.jsonl"
has "a NUL in it" "bad.jsonl line 1: not JSON: \\u0000 is not allowed" "$(measure choice "$TMPDIR/bad.jsonl")"
has "sizes that do not fit" "overlap must be 1 to seq_length (8), not 9" "$(measure wikitext $own/wiki.txt --overlap 9 --seq-length 8)"
has "usage" "usage: prattle eval wikitext [FILE]" "$(measure wikitext a b)"

# A file is its text, whatever it is in.
printf 'My lord, the king is dead\n' >"$TMPDIR/king.txt"
printf '{"text": "My lord, the king is dead"}\n' >"$TMPDIR/king.jsonl"
printf '{"ctx": "a", "endings": ["b", "c"], "label": 0}\n' >"$TMPDIR/letters.jsonl"
for as in "wikitext king.txt" "ptb king.txt" "lambada king.jsonl" "choice letters.jsonl"; do
    set -- $as
    plain=$(all_figures $1 "$TMPDIR/$2")
    { printf '\xff\xfe'; iconv -f UTF-8 -t UTF-16LE "$TMPDIR/$2"; } >"$TMPDIR/wide.$2"
    { printf '\xef\xbb\xbf'; cat "$TMPDIR/$2"; } >"$TMPDIR/marked.$2"
    gzip -c "$TMPDIR/$2" >"$TMPDIR/$2.gz"
    tar -C "$TMPDIR" -cf "$TMPDIR/$2.tar" "$2"
    is "$1 of a packed, marked or wide file" "1 1 1 1" "$(for f in "$2.gz" "$2.tar" "marked.$2" "wide.$2"; do
        [ "$(all_figures $1 "$TMPDIR/$f")" == "$plain" ] && [ -n "$plain" ] && echo 1; done | xargs)"
done
tar -C "$TMPDIR" -cf "$TMPDIR/both.tar" king.jsonl letters.jsonl
has "not of several texts" "both.tar has several texts: unpack it, and name one" "$(measure lambada "$TMPDIR/both.tar")"
has "an answer that is one ending and may be another" 'letters.jsonl line 1: the right ending is "1", which is the text of ending 0' \
    "$(printf '{"ctx": "a", "choices": ["1", "0"], "answer": "1"}\n' >"$TMPDIR/letters.jsonl"; measure choice "$TMPDIR/letters.jsonl")"
printf '{"ctx": "a", "choices": ["4", "3"], "answer": "3"}\n' >"$TMPDIR/letters.jsonl"
by_text=$(all_figures choice "$TMPDIR/letters.jsonl")
printf '{"ctx": "a", "choices": ["4", "3"], "answer": 1}\n' >"$TMPDIR/letters.jsonl"
is "one that is an ending is that" "$(all_figures choice "$TMPDIR/letters.jsonl")" "${by_text:-nothing}"

has "a perplexity that is cut is told" "perplexities are cut at exp(20), as Megatron-LM has them" "$(measure wikitext "$TMPDIR/king.txt")"
# Of a file that was written anew there are two results, which are not of one evaluation.
echo '{"text":"My lord, the king is dead"}' >"$TMPDIR/anew.jsonl"
measure lambada "$TMPDIR/anew.jsonl" >/dev/null
echo '{"text":"My lord, the king is alive"}' >"$TMPDIR/anew.jsonl"
"$PRATTLE" eval lambada "$TMPDIR/anew.jsonl" --model $MODEL@2 >/dev/null
beside=$("$PRATTLE" eval history anew.jsonl)
is "a file that was written anew is another" "[1] [2]" "$(grep -o '^lambada \[[0-9]\]' <<<"$beside" | cut -d ' ' -f 2 | xargs)"
has "  and is told by what it had in it" "; of the file whose SHA-256 begins with $(sha256sum <"$TMPDIR/anew.jsonl" | cut -c 1-8)" "$beside"

is "a setting that an evaluation does not read is refused" "eval text does not take --overlap
eval kl does not take --last-n
eval wikitext does not take --last-n
eval choice does not take --seq-length
eval lambada does not take --no-detokenize
eval text does not take --detokenize" "$(measure text $own/wiki.txt --overlap 4; measure kl $MODEL $own/wiki.txt --last-n 3
    measure wikitext $own/wiki.txt --last-n 8; measure choice $own/wiki.txt --seq-length 8; measure lambada $own/lambada.jsonl --no-detokenize
    measure text $own/wiki.txt --detokenize=off)"
is "choice takes --no-detokenize, of which HellaSwag's text is as written" "HellaSwag's text made ready as lm-eval does" \
    "$(printf '%s\n' '{"activity_label": "Sea", "ctx_a": "The sea [title] is", "ctx_b": "blue", "endings": ["a", "b"], "label": 0}' >"$TMPDIR/swag.jsonl"
    measure choice "$TMPDIR/swag.jsonl" | grep -o "HellaSwag.*does"; measure choice "$TMPDIR/swag.jsonl" --no-detokenize | grep -o "HellaSwag.*does\|does not take.*")"
# kl reads documents as training does, whatever they are in.
printf 'The sea is wide.<|endoftext|>And the sky is blue.' >"$TMPDIR/two.txt"
printf '{"text": "The sea is wide."}\n{"text": "And the sky is blue."}\n' >"$TMPDIR/two.jsonl"
mkdir "$TMPDIR/two"; printf 'The sea is wide.' >"$TMPDIR/two/a.txt"; printf 'And the sky is blue.' >"$TMPDIR/two/b.txt"
gzip -k "$TMPDIR/two.jsonl"
kl() { measure kl $MODEL "$TMPDIR/$1" --other-dtype fp32 --json | grep -o '"figures": .*"tokens": [0-9]*'; }
has "two documents are compared" '"targets": 37' "$(kl two.txt)"
for file in two.jsonl two.jsonl.gz two; do is "  the same in $file" "$(kl two.txt)" "$(kl $file)"; done

# A number ends where its standard error does, two digits of which are shown.
table=$(measure kl $MODEL $own/wiki.txt --other-dtype fp32)
is "figures of kl with errors" 1 "$(($(grep -c ' +- \| ± ' <<<"$table") > 6))"
is "they have the digits that these justify" "" "$(sed -n 's#^.* \([-0-9.e][-0-9.e]*\) *\(+-\|±\) *\([0-9.e-]*\)$#\1 \3#p' <<<"$table" | awk '
    function shape(x) {sub(/^-?[0-9]*/, "", x); gsub(/[0-9]/, "0", x); return x}
    {a = $1; b = $2; ea = eb = ""
     if (match(a, /e.*/)) {ea = substr(a, RSTART); a = substr(a, 1, RSTART - 1)}
     if (match(b, /e.*/)) {eb = substr(b, RSTART); b = substr(b, 1, RSTART - 1)}
     digits = b; gsub(/[^0-9]/, "", digits); sub(/^0*/, "", digits)
     if (ea != eb || shape(a) != shape(b) || (b ~ /[.]/ && length(digits) != 2)) print $0}')"

# SIGINT once a line of progress is due: there is a result, and it says what it is.
for _ in $(seq 200); do cat README.md; done >"$TMPDIR/long.txt"
: >"$TMPDIR/err"
set -m # or it would be a background job, which Ctrl-C is not for
"$PRATTLE" eval wikitext "$TMPDIR/long.txt" --overlap 1 --model $MODEL >"$TMPDIR/out" 2>"$TMPDIR/err" &
until grep -q 'to read: about' "$TMPDIR/err" || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
kill -INT $!
wait $!
is "stopped, it says so by its status" 130 $?
has "and in its result" "PARTIAL, stopped:" "$(cat "$TMPDIR/out")"
finish
