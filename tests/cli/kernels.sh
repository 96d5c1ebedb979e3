#!/usr/bin/env bash
# suite: long
# seconds: 14400
# No test's outcome hangs on the processor: all that the release build is tested with, under each
# kernel of OpenBLAS that this processor has, and under each of the program's own.
. "$(dirname "$0")/lib.sh.inc"
flags=" $(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo | head -n 1) "
has_flags() { local f; for f; do [[ $flags == *" $f "* ]] || return 1; done; }

# under WHAT VARIABLE=VALUE: one test, which shows what failed.
under() {
    local log=$TMPDIR/log summary
    rm -rf "$TMPDIR/work" && mkdir "$TMPDIR/work"
    env -u ONLY PATIENCE=8 "$2" TMPDIR="$TMPDIR/work" tests/run release "$DATA" >"$log" 2>&1 </dev/null
    summary=$(tail -n 1 "$log")
    has "$1: all tests are run" "tests/cli/train.sh" "$(cat "$log")"
    is "$1: $summary" "0 failed" "$(grep -A 8 '^not ok' "$log")${summary#*passed, }"
}

cores=(Prescott)
has_flags avx && cores+=(Sandybridge)
has_flags avx2 fma && cores+=(Haswell Zen)
has_flags avx512f avx512bw avx512dq avx512vl && cores+=(SkylakeX)
kernels=(portable)
has_flags avx2 fma f16c && kernels+=(avx2)
has_flags avx512f avx512bw avx512dq avx512vl && kernels+=(avx512)
# A system may show AMX and not lend its registers.
has_flags amx_tile amx_bf16 avx512_bf16 && PRATTLE_KERNELS=none "$PRATTLE" -p x 2>&1 | grep -qw amx && kernels+=(amx)
for core in "${cores[@]}"; do under "OpenBLAS's $core" "OPENBLAS_CORETYPE=$core"; done
for k in "${kernels[@]}"; do under "kernels $k" "PRATTLE_KERNELS=$k"; done
finish
