#!/usr/bin/env bash
# suite: long
# Fifty kills at random instants in each precision, and the weights of the run that nothing
# stopped.
. "$(dirname "$0")/lib.sh.inc"
STEPS=2400
. tests/cli/train.sh.inc
cd "$TMPDIR" || exit 1
train whole >/dev/null
is "fifty kills" 50 "$(kill_run killed 50)"
is "of which one at least was gone on from" 1 "$(resumed)"
is "and the weights of the run never killed" "$(remains whole)" "$(remains killed)"
is "nor is a step told twice" "$(grep -o '"step":[0-9]*' whole/metrics.jsonl)" \
    "$(grep -o '"step":[0-9]*' killed/metrics.jsonl)"
train half precision=float16 >/dev/null
is "fifty kills in float16" 50 "$(kill_run half_killed 50 precision=float16)"
is "and the same weights there" "$(remains half)" "$(remains half_killed)"
is "twenty kills with moments on disk" 20 "$(kill_run disk_killed 20 phased=on)"
is "and the same weights again" "$(remains whole)" "$(remains disk_killed)"
is "and no working file" "" "$(find disk_killed -name '.nameless-*')"
finish
