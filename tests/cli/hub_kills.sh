#!/usr/bin/env bash
# A download killed at 50 places: nothing is lost, and nothing looks whole that is not.
# suite: long
. "$(dirname "$0")/lib.sh.inc"
. "$(dirname "$0")/hub.sh.inc"
"$PRATTLE" convert random:gpt2,n_layer=2,n_embd=128,n_head=4,n_positions=64,vocab_size=1024@1 "$ROOT/org/tiny" >/dev/null 2>&1
serve "GET /cdn/ 0 slow 20000"
whole=0
is "kill -9 at 50 places" "" "$(kills 0.01 0.02 50)"
serve "GET /cdn/ 0 slow 200000"
is "  and at 50 near its beginning and end" "" "$(kills 0.005 0.005 50)"
finish
