#!/usr/bin/env bash
# suite: long
# No test's outcome hangs on the processor: the programs of check that do arithmetic, under each
# kernel of OpenBLAS that this processor has, and under each of the program's own.
. "$(dirname "$0")/lib.sh.inc"
flags=" $(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo | head -n 1) "
has_flags() { local f; for f; do [[ $flags == *" $f "* ]] || return 1; done; }

# under WHAT PROGRAM...: one test, which shows what failed.
under() {
    local what=$1 log=$TMPDIR/log rc
    shift
    rm -rf "$TMPDIR/work" && mkdir "$TMPDIR/work"
    TMPDIR=$TMPDIR/work "$@" >"$log" 2>&1 </dev/null
    rc=$?
    is "${*: -1} under $what" "0, nothing failed" \
        "$rc, $(grep -A 4 '^not ok' "$log" || { [ $rc = 0 ] && echo nothing failed || tail -n 20 "$log"; })"
}
# What multiplies by OpenBLAS, which is training and what it leads to.
units=(train/step/test_backward train/step/test_curve train/step/test_half model/kernels/test_kernels train/step/test_lora train/run/test_run train/run/test_run_figures train/run/test_run_skips)
trainings=(train lora)
shells=(train lora eval bundled programs batch)

cores=(Prescott)
has_flags avx && cores+=(Sandybridge)
has_flags avx2 fma && cores+=(Haswell Zen)
has_flags avx512f avx512bw avx512dq avx512vl && cores+=(SkylakeX)
for core in "${cores[@]}"; do
    export OPENBLAS_CORETYPE=$core
    for t in "${units[@]}"; do under "OpenBLAS's $core" "build/release/tests/unit/$t"; done
    for t in "${trainings[@]}"; do under "OpenBLAS's $core" bash "tests/cli/$t.sh"; done
done
unset OPENBLAS_CORETYPE
export XDG_CONFIG_HOME=$TMPDIR/config
mkdir -p "$XDG_CONFIG_HOME/prattle"
settings=$XDG_CONFIG_HOME/prattle/settings.yaml
echo "kernels: abacus" >"$settings"
has "the settings choose the kernels" "abacus" "$("$PRATTLE" $MODEL -p x -n 1 2>&1)"
kernels=(portable)
has_flags avx2 fma f16c && kernels+=(avx2)
has_flags avx512f avx512bw avx512dq avx512vl && kernels+=(avx512)
for k in "${kernels[@]}"; do
    echo "kernels: $k" >"$settings"
    for t in "${shells[@]}"; do under "kernels $k" bash "tests/cli/$t.sh"; done
done
finish
