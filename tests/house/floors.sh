#!/usr/bin/env bash
# Libraries with one owner are included by that owner alone; only repl/ prints, and the program
# ends nowhere but where main returns. Who may include whom: rooms.sh.
cd "$(dirname "$0")/../.." || exit 1
n=0 bad=0
say() { n=$((n + 1)); if [ -z "$2" ]; then echo "ok $n - $1"; else bad=1; echo "not ok $n - $1"; sed 's/^/# /' <<<"$2"; fi; }

files=$(find model weights kvcache sampling train repl -name '*.[ch]')

owner() { # HEADER FILES...
    local header=$1; shift
    local allowed=" $* "
    grep -l "#include <$header" $files | while read -r f; do [[ $allowed == *" $f "* ]] || echo "$f includes <$header>"; done
}
say "readline is line.c's and keys.c's" "$(owner readline/ repl/terminal/line.c repl/terminal/keys.c)"
say "libyaml is yaml_pairs.c's and yaml_tree.c's" "$(owner yaml.h model/base/yaml_pairs.c model/base/yaml_tree.c)"
say "OpenMP is par.c's" "$(owner omp.h model/base/par.c; grep -l '#pragma omp' $files | grep -v model/base/par.c)"
say "JSON is printed into our memory" "$(grep -nE '\bjson_dump[bs] *\(' $files)"
# A child that was forked ends by _exit: what its parent has still to write is not its own. A process
# whose world has lost a rank ends so too: its main thread may wait for ever.
say "nothing exits but by main's return, forked children of repl/, panel_write, cleaner, start and loss" \
    "$(grep -nE '\b(exit|abort|_exit|quick_exit) *\(' $files | grep -vE '^(repl/|weights/panel_write\.c:|train/parallel/(cleaner|start|loss)\.c:).*\b_exit *\(')"
say "nothing below repl/ prints" "$(grep -nE '\b(v?printf|puts|putchar|perror) *\(|\bstd(out|err)\b' $(grep -v '^repl/' <<<"$files"))"
if [ ! -e .git ] || ! command -v git >/dev/null; then
    echo "# left out: how large files are (no git, or not a checkout of it)"
else
    say "nothing large but the model that ships" \
        "$(git ls-files -z | xargs -0 ls -l | awk '$5 > 1000000 && $NF != "weights/bundled/bundled.gguf" {print $NF, $5}')"
fi
say "no typedef of a struct" "$(grep -nE 'typedef +struct' $files)"
exit $bad
