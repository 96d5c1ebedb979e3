#!/usr/bin/env bash
# Every header compiles alone.
cd "$(dirname "$0")/../.." || exit 1
n=0 bad=0
for h in $(find model weights kvcache sampling train repl tests/lib -name '*.h' | sort); do
    n=$((n + 1))
    if out=$(echo "#include \"$h\"" | gcc -std=c17 -D_GNU_SOURCE -I. -Wall -Wextra -Werror -fsyntax-only -xc - 2>&1)
    then echo "ok $n - $h compiles alone"
    else bad=1; echo "not ok $n - $h compiles alone"; sed 's/^/# /' <<<"$out"; fi
done
exit $bad
