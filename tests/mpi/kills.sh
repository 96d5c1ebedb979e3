#!/usr/bin/env bash
# suite: long
# seconds: 7200
# A hundred kills at random instants: of mpirun, the launcher, rank 0 and others; each run that has come
# to its end in spite of them has the bits of one that lost nothing, and nothing is left of it.
. "$(dirname "$0")/../cli/lib.sh.inc"
: "${STEPS:=1200}" "${KILLS:=100}"
. tests/mpi/mpi.sh.inc
cd "$TMPDIR" || exit 1
RANDOM=${SEED:-$$}
echo "# SEED=${SEED:-$$}"

# start WORDS...: in the background.
start() { "$PRATTLE" "$@" replicas=$((RANDOM % 3 + 2)) elastic=on >>log 2>err & launcher=$!; disown; }
# begin_or_resume FOLDER
begin_or_resume() {
    if [ -n "$(newest "$1")" ]; then
        start train resume "$TMPDIR/$1" zero=$((RANDOM % 2))
    else
        start $(words "$TMPDIR/$1" micro_batch_size=$((1 << RANDOM % 3)) save_every=20 log_every=100000)
    fi
}
# kill_one: somebody, whoever is there.
kill_one() {
    find_processes || return 1
    case $((RANDOM % 8)) in
        0) victim=launcher pid=$launcher ;;
        1 | 2) victim=mpirun pid=$mpirun ;;
        3 | 4) victim="rank 0" pid=${ranks[0]} ;;
        *) victim=rank pid=${ranks[RANDOM % ${#ranks[@]}]} ;;
    esac
    kill -9 "$pid" 2>/dev/null
}

one whole micro_batch_size=2 >/dev/null
want=$(digest whole)
kills=0 runs=0
until [ $kills -ge "$KILLS" ] || [ $bad -ne 0 ]; do
    runs=$((runs + 1)) victims=
    rm -rf run log
    begin_or_resume run
    while :; do
        sleep 0.$(printf %03d $((RANDOM % 900)))
        if ! kill -0 $launcher 2>/dev/null; then
            gone "$TMPDIR/run" >"$TMPDIR/gone"
            [ -e run/step-$(printf %06d "$STEPS") ] && break
            begin_or_resume run
        elif [ "$(wc -l <<<"$victims")" -le 8 ] && [ $((RANDOM % 3)) -gt 0 ] && kill_one; then
            kills=$((kills + 1)) victims+="$victim, "$'\n'
        fi
    done
    is "run $runs, $kills kills so far: ${victims//$'\n'/}the bits of one that lost nothing" "$want" "$(digest run)"
    is "  and nothing is left" "0 " "$(gone "$TMPDIR/run") $(left)"
done
finish
