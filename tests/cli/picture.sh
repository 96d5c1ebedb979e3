#!/usr/bin/env bash
# seconds: 600
# README's picture: what a terminal shows of bytes that are known, drawn as SVG; and the session
# that is in it, which plays with the program as it is.
. "$(dirname "$0")/lib.sh.inc"
: "${TOOLS:=$PWD/build/release/tests/tools}"
export PRATTLE
work=$(mktemp -d "$TMPDIR/picture.XXXXXX")
trap 'rm -rf "$work"' EXIT

# draw COLUMNS ROWS FORMAT: the SVG of the bytes that printf makes of it
draw() { printf -- "$3" | "$TOOLS/picture" "$1" "$2" 'a <title>' 'this & that' 2>&1; }
# runs <SVG: each run of text, "LINE,COLUMN COLUMNS CLASS|TEXT", back from XML
runs() {
    perl -ne 'next unless m|^<text x="(\d+)" y="(\d+)" textLength="(\d+)"(?: class="(.*?)")?>(.*)</text>$|;
        my ($x, $y, $n, $class, $text) = ($1, $2, $3, $4 // "-", $5);
        $text =~ s/&lt;/</g; $text =~ s/&gt;/>/g; $text =~ s/&amp;/&/g;
        printf "%g,%g %g %s|%s\n", ($y - 70) / 24, ($x - 24) / 12, $n / 12, $class, $text'
}
# screen COLUMNS ROWS FORMAT: what runs there are
screen() { draw "$@" | runs; }
paths() { draw "$@" | sed -n 's/^<path class="\(dots\|blocks\|lines\)/\1/p'; }
# faults <XML: what is not well-formed in it
faults() {
    perl -0777 -ne 's/\n\z//; while (/\G(?:([^<&]|&(?:lt|gt|amp);)+|<(\/?)([a-z]+)((?: [\w:-]+="[^"<&]*")*)(\/?)>)/gc) {
            next if defined $1;
            if ($2) {$open = pop @open; print "$3 closes $open\n" if $3 ne $open} elsif (!$5) {push @open, $3}
        }
        print "not XML: ", substr($_, pos // 0, 40), "\n" if (pos // 0) < length;
        print "not closed: @open\n" if @open'
}

is "text" "0,0 2 -|ab" "$(screen 20 4 'ab')"
is "what XML has other names for" '0,0 9 -|a<b>&"c"'"'" "$(screen 20 4 'a<b>&"c"\x27')"
is "title and description too" "a &lt;title&gt;,this &amp; that" \
    "$(draw 20 4 x | sed -n 's/^<\(title\|desc\) id="[a-z]*">\(.*\)<.*/\2/p' | paste -sd,)"
is "attributes, and their end" $'0,0 1 -|a\n0,1 1 b|b\n0,2 1 c3 b|c\n0,3 1 c3 d|d\n0,4 1 -|e\n0,5 1 c12 b d|f\n0,6 1 c12|g\n0,7 1 -|h' \
    "$(screen 20 4 'a\033[1mb\033[32mc\033[22;2md\033[me\033[1;2;93mf\033[22mg\033[39mh')"
is "a run ends at two spaces" $'0,0 3 -|a b\n0,5 1 -|c' "$(screen 20 4 'a b  c')"
is "leads no space" "0,3 1 d|a" "$(screen 20 4 '\033[2m   a   ')"
is "carriage returns and steps back" "0,0 4 -|xbyd" "$(screen 20 4 'abcd\b\by\rx')"
is "a tabulator" $'0,0 1 -|a\n0,8 1 -|b' "$(screen 20 4 'a\tb')"
is "a line is broken at the edge" $'0,0 4 -|abcd\n1,0 1 -|e' "$(screen 4 4 'abcde')"
is "not before the next character comes" "0,0 4 -|xbcd" "$(screen 4 4 'abcd\rx')"
is "wide characters" $'0,0 6 -|漢字xy\n0,6 1 b|z' "$(screen 20 4 '漢字xy\033[1mz')"
is "none is cut by the edge" $'0,0 3 -|abc\n1,0 2 -|漢' "$(screen 4 4 'abc漢')"
is "half of one is none" "0,0 3 -|a x" "$(screen 20 4 'a漢\bx')"
is "what combines" $'0,0 2 -|e\u0301x' "$(screen 20 4 'e\xcc\x81x')"
is "what scrolls off is kept" $'0,0 1 -|a\n1,0 1 -|b\n2,0 1 -|c' "$(screen 20 2 'a\r\nb\r\nc')"
is "the cursor stays on the screen" $'0,0 1 -|a\n1,0 1 -|x\n2,0 1 -|c' "$(screen 20 2 'a\r\nb\r\nc\033[9A\rx')"
is "moves" $'0,2 1 -|b\n1,0 1 -|a\n2,4 1 -|c' "$(screen 20 4 '\r\na\033[A\033[Cb\033[2B\033[5Gc')"
is "erases to the end of the line" "0,0 2 -|ab" "$(screen 20 4 'abcd\b\b\033[K')"
is "and of the screen" "0,0 1 -|a" "$(screen 20 4 'abc\r\ndef\033[A\033[2D\033[J')"
is "and all" "0,1 1 -|x" "$(screen 20 4 'a\033[2Jx')"
is "puts in and takes out" "0,0 5 -|aXYbd" "$(screen 20 4 'abcd\033[2D\033[P\033[D\033[2@XY')"
is "blocks" 'blocks c3" d="M24 54h12v20h-12zM36 54h1.5v20h-1.5zM48 67h12v9h-12z"/>' "$(paths 20 4 '\033[32m█▏▃')"
is "lines" 'lines" d="M24 64H30M30 52V76"/>' "$(paths 20 4 '┤')"
is "dots, eight a character" 'dots c7" d="M27 55h0M33 73h0"/>' "$(paths 20 4 '\033[36m⢁')"
is "signs" 'blocks" d="M30 64m-4.5-4.5h9v9h-9z"/>' "$(paths 20 4 '■')"
has "the cursor where it is" '<rect class="cursor" x="48" y="76"' "$(draw 20 4 'a\r\nbc')"
is "or not" "" "$(draw 20 4 'a\033[?25l' | grep '<rect class="cursor"')"
has "light and dark" "prefers-color-scheme:dark" "$(draw 20 4 x)"
is "well-formed" "" "$(draw 20 4 'a<b>&"c"\n█┤\033[31m⢁' | faults)"
is "which is looked at" $'b closes a\nnot XML: &c\nnot closed: x' "$(printf '<x><a>b</b>&c' | faults)"
has "nothing is guessed: a sequence" "unknown escape sequence ESC [5n" "$(draw 20 4 'a\033[5n')"
has "an attribute" "unknown escape sequence ESC [44m" "$(draw 20 4 '\033[44m')"
has "a control character" "unknown control character 0x0e" "$(draw 20 4 'a\016')"
has "what is no UTF-8" "must be UTF-8" "$(draw 20 4 'a\xff')"

# What Readline sends, where a line is longer than the terminal wide and edited in its middle.
cat >"$work/edit.txt" <<END
size 30 8
shell
expect $
send echo one two three four five six seven
expect seven
send \\x01\\x1bf\\x1bf\\x1bd 2\\x1bd
send \\x05\\x17eight\\x02\\x02\\x7fG
pause 0.3
record $work/bytes
send \\x15\\x0b
> exit 0
exit 0
END
played=$("$TOOLS/transcript" "$work/edit.txt")
is "a session is recorded" "" "$(grep -v '^ok' <<<"$played")"
is "as Readline edits" $'0,0 30 -|$ echo one 2 four five six eiG\n1,0 2 -|ht' \
    "$("$TOOLS/picture" 30 8 x x <"$work/bytes" | runs)"

# The session of README's picture, of fewer steps and on another text: the script needs nothing but
# what was built, and the program says what the session waits for.
mkdir "$work/corpus"
cp LICENSE "$work/corpus/tinyshakespeare.txt"
sed 's/ steps=150 / steps=2 /' repl/picture/session.txt >"$work/session.txt"
is "without the text it trains on" "$work/none/corpus/tinyshakespeare.txt, which the session trains on, is missing; give DATA=DIR" \
    "$(DATA=$work/none repl/picture/draw "$work/none.svg" 2>&1)"
is "the session plays" "" "$(PATIENCE=${PATIENCE:-1} DATA=$work SESSION=$work/session.txt repl/picture/draw "$work/session.svg" 2>&1)"
is "its picture is well-formed" "" "$(faults <"$work/session.svg")"
has "a curve is in it" '<path class="dots' "$(cat "$work/session.svg")"
is "the one in README is well-formed too" "" "$(faults <repl/picture/session.svg)"
is "small" 1 "$(($(wc -c <repl/picture/session.svg) < 60000))"
shown=$(runs <repl/picture/session.svg | cut -d '|' -f 2-)
is "and of this session" "" "$(sed -n 's/^> \([:A-Z].*\)/> \1/p' repl/picture/session.txt | grep -v quit |
    while IFS= read -r line; do grep -qxF -- "$line" <<<"$shown" || echo "not there: $line"; done)"
has "README shows it" "](repl/picture/session.svg)" "$(cat README.md)"
finish
