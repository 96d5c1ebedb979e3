#!/usr/bin/env bash
# The pages' tables are what the program prints, every table of the program is in a page, and
# the README is one that people read.
. "$(dirname "$0")/lib.sh.inc"
rows=$(for t in commands settings; do "$PRATTLE" help $t --format markdown; done | grep '^| `')
is "the program prints its tables" 1 "$(($(wc -l <<<"$rows") > 80))"
is "the pages have them" "" "$(PRATTLE=$PRATTLE tests/tables)"
is "each in one page" "commands presets settings systems training" \
    "$(find README.md repl train model -name '*.md' -exec cat {} + | sed -n '/table: scaling/d; /table: layout/d; s/^<!-- table: \(.*\) -->$/\1/p' | sort | xargs)"
mkdir -p "$TMPDIR/tree/tests" "$TMPDIR/tree/repl"
cp tests/tables "$TMPDIR/tree/tests/" && touch "$TMPDIR/tree/README.md"
(cd "$TMPDIR/tree" && mkdir train model sampling weights kvcache &&
    printf 'before\n<!-- table: presets -->\nstale\n<!-- end -->\nafter\n' >repl/page.md)
has "a stale table is shown" "-stale" "$("$TMPDIR/tree/tests/tables")"
"$TMPDIR/tree/tests/tables" write
is "and filled anew" "before,<!-- table: presets -->,finetune,<!-- end -->,after" \
    "$(sed 's/^| finetune |.*/finetune/; /^|/d' "$TMPDIR/tree/repl/page.md" | paste -sd,)"
is "README.md is short" 1 "$(($(wc -l <README.md) <= 250))"
is "a link leads to a file" "" "$(for page in README.md $(find repl train model weights -name '*.md'); do
    grep -oE '\]\([^)#:]+\)' "$page" | tr -d '()]' | while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
    done
done)"
help=$("$PRATTLE" help commands && "$PRATTLE" help settings)
absent=$(sed -n 's/^| `:*-*\([a-z_][a-z_-]*\).*/\1/p' <<<"$rows" | while read -r name; do
    grep -qE -- "(^  ${name//_/-}( |$)|--${name//_/-}( |$))" <<<"$help" || "$PRATTLE" help "$name" | grep -q '^:' || echo "$name"
done)
is "help has every setting and shell command" "" "$absent"
finish
