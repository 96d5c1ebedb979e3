#!/usr/bin/env bash
# make uses all processors unless told otherwise, also where it calls itself, and says nothing of it.
cd "$(dirname "$0")/../.." || exit 1
n=0 bad=0
jobs_of() { # ARGUMENTS...: the -j that a make within make has
    (unset MAKEFLAGS MFLAGS MAKELEVEL
        make --no-print-directory -f Makefile -f <(printf '%s\n' \
            'jobs_within:' '	@$(MAKE) --no-print-directory -f Makefile -f '"$TMPDIR/within.mk"' jobs_here') \
            jobs_within "$@" 2>&1)
}
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/make.XXXXXX")
trap 'rm -rf "$TMPDIR"' EXIT
printf 'jobs_here:\n\t@echo $(filter -j%%,$(MAKEFLAGS))\n' >"$TMPDIR/within.mk"
say() {
    n=$((n + 1))
    if [ "$2" = "$3" ]; then echo "ok $n - $1"; else
        bad=1; echo "not ok $n - $1"; echo "# expected: $2"; echo "# got: $3"
    fi
}
say "all processors" "-j$(nproc)" "$(jobs_of)"
say "or as many as asked for" "-j3" "$(jobs_of -j3)"
say "or one" "-j1" "$(jobs_of -j1)"
# The part for several processes is built by MPI's own compiler, and is no part of the fuzzers.
fuzzed=$(make --no-print-directory -n fuzz | grep -o '[a-z0-9_/]*\.c\b' | grep -v '^build/')
say "fuzzers have the program's sources" "train/data/tfrecord.c" "$(grep -x 'train/data/tfrecord.c' <<<"$fuzzed")"
say "and need no headers of MPI" "" "$(xargs grep -l '<mpi.h>' <<<"$fuzzed")"
exit $bad
