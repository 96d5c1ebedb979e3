#!/usr/bin/env bash
# Rooms and circles: a file needs files of its own room or of rooms below it, and no two files
# need each other, directly or through others. What a file needs is what it includes and what
# its object calls (nm), so that a declaration written by hand hides nothing. A file here is
# NAME.c with NAME.h. The order of rooms is ROOMS of the Makefile, from the ground up.
#
#   rooms.sh [ROOT]      of another tree
cd "${1:-$(dirname "$0")/../..}" || exit 1
objects=build/release
n=0 bad=0
say() { n=$((n + 1)); if [ -z "$2" ]; then echo "ok $n - $1"; else bad=1; echo "not ok $n - $1"; sed 's/^/# /' <<<"$2"; fi; }

rooms=$(sed -n '/^ROOMS *:=/,/[^\\]$/p' Makefile | tr -d '\\' | sed 's/^ROOMS *:=//' | xargs -n 1)
floors=$(cut -d / -f 1 <<<"$rooms" | uniq)
sources=$(find $floors -name '*.[ch]' | sort)
say "every folder with sources is a room of the Makefile's order" \
    "$(comm -3 <(sort <<<"$rooms") <(sed 's|/[^/]*$||' <<<"$sources" | sort -u) | tr -d '\t')"

# Objects of now: of each source, and none older than it.
compiled=$(grep '\.c$' <<<"$sources")
stale=$(for c in $compiled; do
    o=$objects/${c%.c}.o
    if [ ! -f "$o" ]; then echo "$o is missing"; elif [ "$c" -nt "$o" ]; then echo "$o is older than its source"; fi
done)
say "the objects are those of the sources" "$stale"

# "a b why": a needs b.
read_needs() {
    grep -H '^#include "' $sources | sed -E 's/^(.*)\.[ch]:#include "(.*)\.[a-z]+"/\1 \2 include/'
    (cd "$objects" && ls -d $(sed 's/c$/o/' <<<"$compiled") 2>/dev/null | xargs nm -A) |
        awk '{
            file = $1; sub(/\.o:.*/, "", file)
            if ($(NF - 1) == "U") {from[++n] = file; name[n] = $NF}
            else if ($(NF - 1) ~ /^[TDBRVC]$/) owner[$NF] = file
        }
        END {for (i = 1; i <= n; i++) if (name[i] in owner) print from[i], owner[name[i]], name[i]}'
}
say "every include is a path from the root" "$(grep -Hn '^#include "' $sources | while IFS= read -r line; do
    path=${line#*\"} path=${path%\"*}
    [ -f "$path" ] || echo "$line"
done)"
needs=$(read_needs | awk '$1 != $2')
say "what they call was read" "$(grep -qv ' include$' <<<"$needs" || echo "no object calls another")"

# kvcache stands behind weights, but does not know it.
say "what a file needs lies in its room or below" "$(awk -v rooms="$rooms" '
    BEGIN {n = split(rooms, r, "\n"); for (i = 1; i <= n; i++) rank[r[i]] = i; apart["kvcache", "weights"] = 1}
    function room(f) {sub("/[^/]*$", "", f); return f}
    function floor(f) {sub("/.*", "", f); return f}
    {
        a = room($1); b = room($2)
        if (a != b && (!(b in rank) || rank[b] > rank[a] || (floor(a), floor(b)) in apart)) print $1 " needs " $2 ": " $3
    }' <<<"$needs" | sort -u)"

# An edge whose end leads back to its beginning is part of a circle.
say "no circle of files" "$(awk '
    !(($1, $2) in edge) {edge[$1, $2]; next_of[$1] = next_of[$1] " " $2}
    END {
        for (from in next_of) {
            queue[n = 1] = from
            for (i = 1; i <= n; i++) {
                many = split(next_of[queue[i]], to, " ")
                for (k = 1; k <= many; k++)
                    if (!((from, to[k]) in leads)) {leads[from, to[k]]; queue[++n] = to[k]}
            }
        }
        for (e in edge) {split(e, end, SUBSEP); if ((end[2], end[1]) in leads) print end[1] " -> " end[2]}
    }' <<<"$needs" | sort)"

# A function is all of it, from the line its head begins with to its last brace. Long ones say in the
# comment above them why they are one function.
say "no function over 60 lines" "$(awk '
    FNR == 1 {head = body = why = 0}
    !body && /^[A-Za-z_]/ {head = /[{;]$/ ? 0 : head ? head : FNR}
    !body && (/^$/ || /^#/ || /;$/) {head = 0}
    /^{$/ && head {body = 1}
    /^}/ {if (body && FNR - head + 1 > 60 && !why) print FILENAME ": " FNR - head + 1 " lines at " head; head = body = 0}
    /^\/\*|^ \*/ {if (/one function/) why = 1; next}
    /^$/ && !body {why = 0}' $sources)"

# All this finds what is wrong: in a tree where each thing is.
if [ $# -eq 0 ]; then
    tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
    mkdir -p "$tree"/{low/attic,high,build/release/low,build/release/high}
    printf 'ROOMS := low \\\n         high\n' >"$tree/Makefile"
    echo 'int b(void); int a(void) { return b(); }' >"$tree/low/a.c"
    echo 'int a(void); int b(void) { return a(); }' >"$tree/low/b.c"
    echo 'int h(void); int call(void) { return h(); }' >"$tree/low/call.c"
    echo '#include "high/h.h"' >"$tree/low/up.c"
    echo '#include "h.h"' >"$tree/high/h.c"
    echo 'int h(void) { return 1; }' >>"$tree/high/h.c"
    touch "$tree"/{high/h.h,low/late.c}
    function_of() { echo 'int'; echo "$1(void)"; echo '{'; seq -f '%g;' $(($2 - 4)); echo '}'; echo; }
    { function_of fits 60; function_of long_one 61; echo '/* In one function. */'; function_of said 61
        echo 'int table[] = {'; seq -f '%g,' 61; echo '};'; } >"$tree/high/long.c"
    touch "$tree/low/attic/old.h"
    for f in low/a low/b low/call low/up high/h high/long; do
        gcc -I"$tree/high" -I"$tree" -c "$tree/$f.c" -o "$tree/build/release/$f.o"
    done
    say "what is wrong is found" "$(diff - <(bash "$0" "$tree" | grep '^#') <<'END'
# low/attic
# build/release/low/late.o is missing
# high/h.c:1:#include "h.h"
# high/h needs h: include
# low/call needs high/h: h
# low/up needs high/h: include
# low/a -> low/b
# low/b -> low/a
# high/long.c: 61 lines at 62
END
    )"
fi
exit $bad
