#!/usr/bin/env bash
# suite: long
# seconds: 3600
# Three hosts, as namespaces of this machine: the bits of one process whatever their links do, and which
# sentence comes of a host that is gone.
cd "$(dirname "$0")/../.." && . tests/mpi/hosts.sh.inc
own_network tests/mpi/hosts.sh || { echo "# left out: several hosts, whose networks are made on this one ($why)"; exit 0; }
. tests/cli/lib.sh.inc
. tests/mpi/mpi.sh.inc
cd "$TMPDIR" || exit 1
make_network red green blue $(can_delay && echo gray:100)
hosts=$TMPDIR/hosts
printf '%s\n' red green blue >"$hosts"
own="micro_batch_size=2 log_every=100000 save_every=0"

# three FOLDER ARGUMENTS...: a run by one process on each host, from the first; log has all it says.
three() {
    local folder=$1; shift
    rm -rf "$folder"
    at red "$PRATTLE" $(words "$TMPDIR/$folder" $own replicas=3 hosts="$hosts" "$@") >log 2>&1
}
# start FOLDER ARGUMENTS...: the same in the background, once it has a checkpoint.
start() {
    local folder=$1; shift
    rm -rf "$folder"
    EXEC=exec at red "$PRATTLE" $(words "$TMPDIR/$folder" $own save_every=50 replicas=3 hosts="$hosts" "$@") >log 2>&1 &
    launcher=$!
    until_newer "$folder" ""
}
# lasts SECONDS: how long until the run tells of a loss, in words.
lasts() {
    local from=$SECONDS
    until grep -q 'lost: ' log || ! kill -0 $launcher 2>/dev/null; do sleep 0.1; done
    [ $((SECONDS - from)) -le "$1" ] && echo "in time" || echo "after $((SECONDS - from)) s"
}
left_on() { list_left | grep -E "/(ompi|prted|prattle)\.$1\.[^/]*$"; }

# ---- links ----
one whole $own >/dev/null
three run
is "three hosts" "0 $(digest whole)" "$? $(digest run)"
for host in red green blue; do
    at $host ip link add virbr0 type bridge && at $host ip address add 192.168.122.1/24 dev virbr0 && at $host ip link set virbr0 up
done
EXEC="timeout -k 9 60" three run
is "  each with a network of its own under the same address" "0 $(digest whole)" "$? $(digest run)"
if can_delay; then
    printf '%s\n' red gray >late
    three run replicas=2 hosts="$TMPDIR/late"
    is "  one behind a link with a latency" "0 $(digest whole)" "$? $(digest run)"
else
    echo "# left out: a link with a latency (/dev/net/tun cannot be used)"
fi
for rate in 1gbit 100mbit; do
    slow_links $rate
    three run
    is "  links of $rate" "0 $(digest whole)" "$? $(digest run)"
    three run zero=1
    is "    which weights pass while the next step begins" "0 $(digest whole)" "$? $(digest run)"
done
lose_packets 2
three run
is "  which lose 2 % of the packets" "0 $(digest whole)" "$? $(digest run)"
three run zero=2
is "    of gradients and weights on their way meanwhile" "0 $(digest whole)" "$? $(digest run)"
lose_packets 0
slow_links ""

# ---- what the file says ----
printf '%s\n' '# ours' 'red slots=1' 'blue slots=2 # large' >slots
three run hosts="$TMPDIR/slots"
is "slots" "0 $(digest whole)" "$? $(digest run)"
three run hosts="$TMPDIR/slots" replicas=4
has "  are fewer than processes" "the hosts have slots for fewer than 4 processes" "$(cat log)"
printf '%s\n' red green nowhere >missing
three run hosts="$TMPDIR/missing" elastic=off
has "a host that is not there" "host nowhere cannot be used: connect to host nowhere: No route to host" "$(cat log)"
three run hosts="$TMPDIR/missing"
has "  is left out where the run is elastic" "[begins with 2 processes on the others]" "$(cat log)"
is "  with the same bits" "$(digest whole)" "$(digest run)"
mkdir own && cp "$PRATTLE" "${PRATTLE%/*}"/*.so own
at green mount -t tmpfs none own
PRATTLE=$TMPDIR/own/prattle three run elastic=off
has "  one without the program" "host green cannot be used: this program is not there under the same path as here" "$(cat log)"
at green cp "$PRATTLE" "$TMPDIR/own"
PRATTLE=$TMPDIR/own/prattle three run elastic=off
has "  one without its part" "host green cannot be used: prattle-mpi.so is not there under the same path as here" "$(cat log)"

# ---- a link that is cut ----
STEPS=1000
one whole $own >/dev/null
start run elastic=off
is "one on each, and one that cleans up behind it; the launcher on the first" "3 2 2" "$(echo $(for host in red green blue; do
    for pid in $(host_processes $host); do readlink /proc/$pid/exe; done | grep -cx "$PRATTLE"; done))"
cut_link green; sleep 5; mend_link green
wait $launcher
is "a link that is cut for 5 s" "0 $(digest whole)" "$? $(digest run)"
is "  of which nothing is said" "" "$(grep lost log)"
STEPS=1000000 start run elastic=off zero=1
cut_link green
is "one that is cut for good is named" "in time" "$(lasts 15)"
wait $launcher
has "  with its host" "rank 1 (green) was lost: it has not been heard of for 7 s, so it is stopped or its host is gone; \`prattle train resume" "$(cat log)"
is "  and nothing is left, on the other side neither" "0 " "$(gone "$TMPDIR/run") $(left)"
mend_link green
has "  the newest checkpoint is whole" "[finished at step" "$("$PRATTLE" train resume run budget_hours=1e-9 replicas=1)"

# ---- a host that is gone ----
start run
lose_host green
is "a host that is gone is named" "in time" "$(lasts 15)"
has "  and the others go on" "[rank 1 (green) was lost: it has not been heard of for 7 s, so it is stopped or its host is gone; continues with 2 processes from step " "$(cat log)"
wait $launcher
is "  to the same bits" "0 $(digest whole)" "$? $(digest run)"
rm -rf $(left_on green) # as its disk is
is "  and leave nothing" "0 " "$(gone "$TMPDIR/run") $(left)"
at red "$PRATTLE" train resume "$TMPDIR/run" steps=$((STEPS + 20)) >log 2>&1
has "without it" "[host green cannot be used: connect to host green: No route to host]" "$(cat log)"
has "  the run goes on later" "[finished at step $((STEPS + 20))" "$(cat log)"
find_host green
at red "$PRATTLE" train resume "$TMPDIR/run" steps=$((STEPS + 40)) replicas=3 >log 2>&1
has "with it again too" "[finished at step $((STEPS + 40))" "$(cat log)"
is "  without a word" "" "$(grep -E 'cannot|begins' log)"

# ---- a second one ----
STEPS=2000
one whole $own >/dev/null
start run
lose_host green
lasts 15 >/dev/null
until_newer run "$(newest run)"
lose_host blue
wait $launcher
is "two hosts are gone, one after another: the last goes on to the same bits" "0 $(digest whole)" "$? $(digest run)"
has "  from where the two were" "[rank 1 (green) was lost: it has not been heard of for 7 s, so it is stopped or its host is gone; continues with 2 processes from step " "$(cat log)"
has "  and then the one" "[rank 1 (blue) was lost: it has not been heard of for 7 s, so it is stopped or its host is gone; continues with 1 process from step " "$(cat log)"
find_host green; find_host blue
rm -rf $(left_on green) $(left_on blue)
is "  and leaves nothing" "0 " "$(gone "$TMPDIR/run") $(left)"
start run
lose_host green; lose_host blue
is "both at once" "in time" "$(lasts 15)"
wait $launcher
is "  to the same bits" "0 $(digest whole)" "$? $(digest run)"
has "  one of them is named" " was lost: it has not been heard of for 7 s, so it is stopped or its host is gone; continues with 1 process from step " "$(cat log)"
is "  and not as if it were the other's" "" "$(grep 'of its host' log)"
find_host green; find_host blue
rm -rf $(left_on green) $(left_on blue)
is "  and leaves nothing of both" "0 " "$(gone "$TMPDIR/run") $(left)"
finish
