#!/usr/bin/env bash
# seconds: 120
# What a step would take by several processes, as --plan reckons it.
. "$(dirname "$0")/lib.sh.inc"
cd "$TMPDIR" || exit 1
plan() { "$PRATTLE" train nanogpt-shakespeare data=generated --plan --threads 1 "$@" 2>&1; }
given="gflops=100 stream=40 rank_memory=64 global_batch_size=512 gradient_blocks=8"

out=$(plan ranks=8 link=1 latency=10 disk=1 $given)
has "the cluster" "8 processes, each of 100 GFLOP/s in training, 40 GB/s and 64 GB of memory; link: 1 GB/s, 10 us; disk: 1 GB/s" "$out"
has "the replicas" "as replicas: replicas=8 zero=0 gradient_blocks=8" "$out"
has "the best of its layouts" "best layout: replicas=8 zero=" "$out"
is "a curve as far as the step is divided" 1 "$(grep -c '^ *16 .*replicas=16' <<<"$out")"
has "and drawn" "times one process" "$out"
plan ranks=8 link=1 $given plot=curve.svg >/dev/null
has "or as SVG" "<svg" "$(cat curve.svg)"
has "which is not overwritten" "curve.svg" "$(plan ranks=8 link=1 $given plot=curve.svg | grep -i exist)"
# What it proposes can be typed: as settings of a plan, which has the same layers.
three="ranks=3 gflops=100 stream=40 rank_memory=64 global_batch_size=256"
out=$(plan link=1 latency=20000 $three)
words=$(sed -n 's/^best layout: //p' <<<"$out")
has "stages have their layers" "layers_per_device=2,2,2 virtual_stages=2" "$words"
has "  and wait" "bubble" "$(sed -n '/^best/,$p' <<<"$out")"
is "  which are settings of a run" "layers_per_device 2,2,2 command line" \
    "$("$PRATTLE" train show nanogpt-shakespeare data=generated global_batch_size=256 $words 2>&1 | grep layers_per_device | xargs)"
has "  and of a plan" "as given: replicas=1 zero=0 gradient_blocks=1 layers_per_device=1,1,4" \
    "$(plan link=1 $three layers_per_device=1,1,4)"
# Shards: their sums are waited for, on a slow link for long.
out=$(plan link=1 $three tensor_parallel=3)
has "shards" "as given: replicas=1 zero=0 gradient_blocks=1 tensor_parallel=3" "$out"
has "  have sums" "sums" "$out"
sums() { sed -n 's/^  sums *\([0-9]*\).*/\1/p' <<<"$1"; }
is "  which latency makes longer" 1 "$(($(sums "$(plan link=1 latency=20000 $three tensor_parallel=3)") > 5 * $(sums "$out")))"
has "  and processes that are not equally fast at every moment" "; jitter: 0.1" "$(plan link=1 $three tensor_parallel=3 jitter=0.1)"
is "    wait longer" 1 "$(($(sums "$(plan link=1 $three tensor_parallel=3 jitter=0.1)") > $(sums "$out")))"
has "  and are the best where memory is short" "tensor_parallel=4" \
    "$(plan ranks=8 link=1 $given rank_memory=0.4 | grep '^best')"
# seconds PART PLAN: of the layout as given, 0 where it has none.
seconds() { sed -n '/as given/,/a step/p' <<<"$2" | awk -v part="$1" '$1 == part { s = $2 } END { print s + 0 }'; }
both=$(plan link=1 latency=100 $given ranks=4 gradient_blocks=1 tensor_parallel=2 layers_per_device=3,3)
stages=$(plan link=1 latency=100 $given ranks=2 gradient_blocks=1 layers_per_device=3,3)
shards=$(plan link=1 latency=100 $given ranks=2 gradient_blocks=1 tensor_parallel=2)
has "  and stages of them" "as given: replicas=1 zero=0 gradient_blocks=1 tensor_parallel=2 layers_per_device=3,3" "$both"
is "    which compute half of what the stages do" 1 \
    "$(awk -v a="$(seconds compute "$both")" -v b="$(seconds compute "$stages")" 'BEGIN { print (a > b / 2 * 0.98 && a < b / 2 * 1.1) }')"
is "    wait for half of the sums of all layers, and for messages between stages" 1 \
    "$(awk -v a="$(seconds sums "$both")" -v b="$(seconds sums "$shards")" -v c="$(seconds stages "$both")" \
        'BEGIN { print (a > b / 2 * 0.9 && a < b / 2 * 1.3 && c > 0) }')"
has "    and are the best where neither alone fits" "tensor_parallel=2 layers_per_device=6,6,6,6" \
    "$(plan ranks=16 link=10 $given n_layer=24 n_embd=1024 n_head=16 micro_batch_size=1 gradient_blocks=1 rank_memory=1.6 | grep '^best')"
out=$(plan ranks=1 $given)
is "one process sends nothing" "" "$(sed -n '/^best layout/,/a step/p' <<<"$out" | grep -E 'gradients |weights|bubble|stages|sums')"
out=$(plan)
is "without words of a cluster there is none" "0 0" "$? $(grep -c cluster <<<"$out")"

# From disk, whose speed is measured where the run would have its folder.
out=$(plan ranks=1 $given phased=on disk=auto folder=runs/one)
is "the disk is measured" 1 "$(grep -cE '; disk: [0-9.]+ GB/s$' <<<"$out")"
has "  a full one is said" "no room for " "$(ulimit -f 16; plan ranks=1 $given phased=on disk=auto folder=runs/one)"
is "  where it leaves nothing" "" "$(ls -d runs 2>/dev/null)"
waits() { plan ranks=1 $given phased=on gradient_blocks=1 disk=$1 | awk '/^  disk/ { print $2 }'; }
is "  a slow one is waited for" yes "$(awk -v a="$(waits 0.001)" -v b="$(waits 0.01)" 'BEGIN { print(a > 9 * b && b > 1 ? "yes" : a " and " b) }')"
# By several a run is in memory, in whatever layout is best there.
divided() {
    plan "$@" ranks=16 link=12.5 latency=5 disk=2 gflops=100 stream=40 rank_memory=64 model.init=random:gpt2-large micro_batch_size=1 \
        gradient_accumulation=8 gradient_blocks=8 | sed -n 's/^best layout: //p'
}
best=$(divided)
has "shards are the best for some" " tensor_parallel=2" "$best"
is "  from disk for one process, too" "$best phased=off" "$(divided phased=on)"
is "  but not with what they cannot do" "" "$(divided matmul_precision=bfloat16 | grep tensor)"

is "a cluster has a link" "link=GB/s is missing: how fast processes send to each other (under mpirun link=auto measures it)" "$(plan ranks=4)"
is "and processes" "ranks=N is missing: of how many processes the cluster is" "$(plan link=4)"
# Whatever is refused, is so before anything is reckoned.
is "a picture of another kind" "pictures are written as .svg or .png" "$(plan ranks=8 link=1 $given plot=curve.gif)"
is "a picture nowhere" "cannot write none/curve.svg: No such file or directory" "$(plan ranks=8 link=1 $given plot=none/curve.svg)"
is "a hostfile that is not there" "there is no file none of hosts" "$(plan hosts=none)"
has "  which may be elsewhere, with the cluster" "prattle: there is no file none of hosts" "$(plan ranks=8 link=1 $given hosts=none)"
has "  that is planned" "best layout: " "$(plan ranks=8 link=1 $given hosts=none)"
echo "red slots=x" >hosts
is "and one that mpirun does not understand" "cannot load hosts: line 1: slots of red must be a whole number from 1 on, as in slots=2" "$(plan hosts=hosts)"
echo "red slots=2 max_slots=1" >hosts
is "  or whose slots contradict each other" "cannot load hosts: line 1: max_slots of red is 1, less than its slots (2)" "$(plan hosts=hosts)"
out=$(plan ranks=4 link=1 $given rank_memory=0.001)
has "where no layout fits, that is said" "none fits; of least memory: replicas=1 " "$out"
is "  of each number of processes" "$(grep -c '^ *[0-9]* .* times .*replicas=' <<<"$out")" "$(grep -c ' %  does not fit: replicas=' <<<"$out")"
has "whole ones" "ranks must be a whole number" "$(plan ranks=2.5 link=1)"
for word in ranks=0 ranks=-1 ranks=nan ranks= link=0 link=-1 link=x latency=-1 latency=nan disk=0 gflops=inf rank_memory=0 jitter=-1 jitter=1.1 jitter=nan; do
    is "$word is refused" 1 "$(plan ranks=2 link=1 $word | grep -c "${word%%=*} must be ")"
done
has "link=auto is between two processes" "link is auto, which is measured between two processes" "$(plan ranks=4 link=auto)"
has "  and so is jitter=auto" "jitter is auto, which is measured between two processes" "$(plan ranks=4 link=1 jitter=auto)"
# A run of these would have smaller micro-batches too, unless their size is named.
out=$("$PRATTLE" train init=random:gpt2-test data=generated --plan --threads 1 ranks=4 link=1 gflops=100 stream=40 rank_memory=8 2>&1)
has "micro-batches follow" "as replicas: replicas=4 zero=0 gradient_blocks=4" "$out"
is "too many are told of fewer, and of a larger step" \
    "a step of 1 micro-batch and 6 layers is not divided among 43 processes: ranks=42, or global_batch_size=43" \
    "$(plan ranks=43 link=1 gflops=100 stream=40 rank_memory=8 global_batch_size=1 micro_batch_size=1 | grep divided)"
has "more than there are layers and windows" "is not divided among 65536 processes" "$(plan ranks=65536 link=1 $given)"
finish
