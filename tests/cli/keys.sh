#!/usr/bin/env bash
# suite: long
# Keys at random on terminals of any size: no session is lost. Leaks are not looked for: Readline
# forgets a few bytes where Ctrl-C ends a search of its own. Nor are the sizes that it passes to
# memcmp, which go beyond a line's end, though what is compared differs before that.
cd "$(dirname "$0")/../.."
export PRATTLE=$PWD/build/asan/prattle ASAN_OPTIONS=detect_leaks=0:strict_memcmp=0
model=random:$PWD/tests/cli/data/config.json tools=$TOOLS
# Whatever the keys write lies there.
cd "$TMPDIR" || exit 1
seed=$(date +%s)
for half in 1 2; do
    "$tools/keys_fuzz" 500 $((seed + half * 500)) "$model" >"half$half" &
done
wait
cat half1 half2
