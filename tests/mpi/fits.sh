#!/usr/bin/env bash
# seconds: 120
# A run that the machine does not hold is refused before it begins: a new one, one that goes on, and all
# processes of several on this machine together.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
MODEL=${MODEL%%,*},n_layer=4,n_embd=128,n_head=4,vocab_size=2000
tools=${TOOLS:-$PWD/build/release/tests/tools}
cc -D_GNU_SOURCE -shared -fPIC -o "$TMPDIR/machine.so" tests/cli/data/machine.c -ldl || { echo "not ok 1 - cc makes machine.so"; exit 1; }
cd "$TMPDIR" || exit 1
STEPS=1
sizes="micro_batch_size=4 gradient_blocks=4"

# planned WORDS...: MiB of the one process, or of each.
planned() { "$PRATTLE" $(words planned $sizes "$@") --plan | sed -nE 's/^  total +([0-9]+)\.[0-9] MiB.*/\1/p'; }
# planned_stages WORDS...: MiB of all processes of a pipeline together.
planned_stages() { "$PRATTLE" $(words planned $sizes "$@") --plan | sed -nE 's/^  [0-9] .* ([0-9]+)\.[0-9] MiB$/\1/p' | awk '{n += $1} END {print n}'; }
mkdir -p machine/proc/self
# memory MIB: a machine of so much, without swap, and without control groups.
memory() { echo "MemTotal: $(($1 * 1024)) kB" >machine/proc/meminfo; : >machine/proc/self/cgroup; }
# on MIB COMMAND...: on such a machine; how that ended, without the sizes.
on() { memory "$1"; ended "${@:2}"; }
ended() {
    MACHINE=$TMPDIR/machine LD_PRELOAD=$TMPDIR/machine.so "$@" 2>&1 | sed -nE 's/[0-9.]+ MiB/SIZE/g; s/.*(the run takes .*)/\1/p; s/.*(\[finished at step [0-9]+).*/\1/p'
}
alone="the run takes SIZE of memory, this machine has SIZE: phased=on trains it from disk, recompute=all or a smaller micro_batch_size takes less (--plan shows the parts)"
several() { echo "the run takes SIZE of memory with $1 processes here, this machine has SIZE: fewer of them, recompute=all or a smaller micro_batch_size takes less (--plan shows the parts)"; }

one=$(planned)
is "the plan of one process is some MiB" yes "$([ "$one" -gt 20 ] && echo yes || echo "$one")"
is "a run is refused" "$alone" "$(on $((one / 2)) one run $sizes)"
is "  before there is a folder" "" "$(ls run 2>/dev/null)"
is "  and fits into a little less than what is planned" "[finished at step 1" "$(on $((one * 19 / 20)) one run $sizes)"
resume() { "$PRATTLE" train resume run "$@"; }
is "so is one that goes on" "$alone" "$(on $((one / 2)) resume steps=2)"
is "  with nothing done" "step-000001" "$(cd run && echo step-*)"
is "  also by the folder that a new run would have" "$alone" \
    "$(on $((one / 2)) "$PRATTLE" $(words run $sizes resume=on steps=2))"
memory $((one / 2))
printf '%s\n' 'size 250 24' shell "> MACHINE=$TMPDIR/machine LD_PRELOAD=$TMPDIR/machine.so exec \"\$PRATTLE\" $MODEL" 'expect :help' \
    '> :train resume run steps=2' 'expect the run takes ' '> :quit' 'exit 0' >resume.txt
"$tools/transcript" resume.txt >said 2>&1
is "  at the prompt" "0 " "$? $(grep '^not ok' said)"
is "  and where it fits it goes on" "[finished at step 2" "$(on $one resume steps=2)"

# In a container of less than the machine has.
# in_group MIB COMMAND...: within a group that has more, of either version.
in_group() {
    local mib=$1 version groups=machine/sys/fs/cgroup; shift
    for version in 2 1; do
        memory 1000000; rm -rf machine/sys; mkdir -p $groups/box/own $groups/memory/box/own
        if [ $version = 2 ]; then
            echo 0::/box/own >machine/proc/self/cgroup
            echo max >$groups/box/own/memory.max; echo $((mib << 20)) >$groups/box/memory.max
        else
            echo 5:memory:/box/own >machine/proc/self/cgroup
            echo $((mib << 30)) >$groups/memory/box/own/memory.limit_in_bytes
            echo $((mib << 20)) >$groups/memory/box/memory.limit_in_bytes
        fi
        ended "$@" | sed "s/^/$version: /"
    done
}
group=${alone/this machine/this control group}
is "a container's limit is the machine's" "2: $group"$'\n'"1: $group" "$(in_group $((one / 2)) resume steps=3)"
is "  and enough is enough" "2: [finished at step 1"$'\n'"1: [finished at step 1" "$(in_group $((one * 19 / 20)) one box $sizes)"
has "  the plan says so" " of $((one / 2)).0 MiB in this control group: it does not fit" \
    "$(in_group $((one / 2)) true; MACHINE=$TMPDIR/machine LD_PRELOAD=$TMPDIR/machine.so "$PRATTLE" $(words planned $sizes) --plan 2>&1)"

# Several on this machine: each takes as much, but for what is divided.
two=$(planned replicas=2) sliced=$(planned replicas=2 zero=2)
is "of two processes each is planned" yes "$([ "$two" -gt 20 ] && [ "$sliced" -lt "$two" ] && echo yes || echo "$two $sliced")"
is "two do not fit where one does" "$(several 2)" "$(on $((two * 3 / 2)) one run2 $sizes replicas=2)"
is "  before there is a folder" "" "$(ls run2 2>/dev/null)"
is "  and do in twice as much" "[finished at step 1" "$(on $((two * 2)) one run2 $sizes replicas=2)"
is "going on with two" "$(several 2)" "$(on $((two * 3 / 2)) resume steps=3 replicas=2)"
is "  where slices take less" "[finished at step 3" "$(on $((sliced * 2)) resume steps=3 replicas=2 zero=2)"
is "  and more do not fit" "$(several 4)" "$(on $((two * 2)) resume steps=4 replicas=4 zero=0)"
is "processes of mpirun are counted too" "$(several 2)" "$(on $((two * 3 / 2)) many 2 run3 $sizes)"
stages=$(planned_stages layers_per_device=[2,2])
is "  each with what it has of a model" "[finished at step 1" "$(on $stages many 2 run3 $sizes layers_per_device=[2,2])"
is "  which may be too much" "$(several 2)" "$(on $((stages * 4 / 5)) many 2 run4 $sizes layers_per_device=[2,2])"
is "  or a prompt that starts them" "$(several 2)" "$(on $((stages * 4 / 5)) one run4 $sizes layers_per_device=[2,2])"
finish
