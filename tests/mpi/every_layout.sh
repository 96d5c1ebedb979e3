#!/usr/bin/env bash
# suite: long
# seconds: 3600
# Twenty steps with dropout leave the same bits by 1 to 4 replicas of 1, 2 and 4 stages, with zero=0, 1 and 2 and
# micro-batches of 1, 2 and 4 windows; and with shards in the place of stages.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
MODEL=$MODEL,n_head=4,n_layer=4,vocab_size=700
cd "$TMPDIR" || exit 1

one whole micro_batch_size=4 >/dev/null
want=$(digest whole)
for parts in 1 2 4; do
    case $parts in 1) lists=(none) ;; 2) lists=(1,3 0,4) ;; 4) lists=(1,1,1,1 0,1,2,1) ;; esac
    for replicas in 1 2 3 4; do
        got= wants=
        for zero in 0 1 2; do
            for micro in 1 2 4; do
                n=$((parts * replicas)) words="micro_batch_size=$micro zero=$zero"
                layouts=("layers_per_device=${lists[(zero + micro) % ${#lists[@]}]}")
                [ $((parts + micro)) -eq 4 ] && layouts+=("tensor_parallel=$parts")
                for layout in "${layouts[@]}"; do
                    [ $n -eq 1 ] && one some $words >log 2>err || many $n some $words $layout </dev/null >log 2>err
                    got+="$layout zero=$zero $micro $(digest some) " wants+="$layout zero=$zero $micro $want "
                done
            done
        done
        is "$replicas replicas of $parts" "$wants" "$got"
    done
done
finish
