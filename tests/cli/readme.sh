#!/usr/bin/env bash
# README.md has a row for every command and every setting, and no other rows; they are
# what `prattle help --format markdown` prints; so are the tables of training.
. "$(dirname "$0")/lib.sh.inc"
rows=$("$PRATTLE" help --format markdown | grep '^| `')
is "the program prints its tables" 1 "$(($(wc -l <<<"$rows") > 80))"
missing=$(while IFS= read -r row; do grep -qxF -- "$row" README.md || echo "$row"; done <<<"$rows")
is "every command and setting is in README.md" "" "$missing"
surplus=$(grep '^| `' README.md | while IFS= read -r row; do grep -qxF -- "$row" <<<"$rows" || echo "$row"; done)
is "README.md has no other rows of that form" "" "$surplus"
for topic in presets training systems; do
    missing=$("$PRATTLE" help "$topic" --format markdown | sed 's/  */ /g' |
        while IFS= read -r row; do grep -qxF -- "$row" README.md || echo "$row"; done)
    is "the table of $topic is in README.md" "" "$missing"
done
help=$("$PRATTLE" --help)
absent=$(sed -n 's/^| `:*-*\([a-z_]*\).*/\1/p' <<<"$rows" | while read -r name; do
    grep -qE -- "(^  ${name//_/-} |--${name//_/-}( |$))" <<<"$help" || "$PRATTLE" help "$name" | grep -q '^:' || echo "$name"
done)
is "--help has every setting and shell command" "" "$absent"
finish
