#!/usr/bin/env bash
# suite: long
# Fifty kills at random instants, and the weights of the run that nothing stopped.
. "$(dirname "$0")/lib.sh.inc"
STEPS=2400
. tests/cli/train.sh.inc
cd "$TMPDIR" || exit 1
train whole >/dev/null
is "fifty kills" 50 "$(kill_run killed 50)"
is "and the weights of the run never killed" "$(remains whole)" "$(remains killed)"
is "nor is a step told twice" "$(grep -o '"step":[0-9]*' whole/metrics.jsonl)" \
    "$(grep -o '"step":[0-9]*' killed/metrics.jsonl)"
finish
