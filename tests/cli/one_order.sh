#!/usr/bin/env bash
# seconds: 1200
# One order of sums in training: twenty steps with dropout leave weights and state with the same
# bits, those written here, whatever the number of threads, the set of kernels, the micro-batch, the
# recomputation and the serialisation, and also where the run was stopped, killed or went on otherwise.
. "$(dirname "$0")/lib.sh.inc"
STEPS=20
. tests/cli/train.sh.inc
cd "$TMPDIR" || exit 1
# Windows of no round length: a run of 32 rows does not end with one.
ordered() {
    train "$1" sequence_length=45 micro_batch_size=4 gradient_accumulation=2 dropout=0.1 matrices=own \
        schedule=constant warmup=0 save_every=7 "${@:2}"
}
digest() {
    (cd "$1/step-$(printf %06d $STEPS)" && cat model.safetensors adapter_model.safetensors training.safetensors) \
        2>/dev/null | sha256sum | cut -c1-16
}
# begun ARGUMENTS...: leaves a run of 15 steps; gone_on ARGUMENTS...: ends a copy of it, and prints its digest.
# The portable kernels, twenty times slower, do no more than that: a chain of theirs in another order
# shows in the first step.
begun() { rm -rf begun; ordered begun "$@" steps=15 >log 2>&1; }
gone_on() {
    cp -r begun run
    "$PRATTLE" train resume run steps=$STEPS "$@" >log 2>&1
    digest run
    rm -rf run
}
# The kernels that this processor has.
sets=$(PRATTLE_KERNELS=none "$PRATTLE" -p x 2>&1 | sed -n 's/.*: //p')
declare -A blocks=([float32]=689de7067160fddd [float16]=2fbb950c67f6e222 [lora]=0f29930ce8ab2bbe)
declare -A expected=([float32]=800d20e6e0953273 [float16]=ed33a7c463dc5b8a [lora]=a1a253db0a0b507a)
for kind in float32 float16 lora; do
    case $kind in
    lora) extra=(lora.rank=4 lora_dropout=0.1) ;;
    *) extra=(precision=$kind) ;;
    esac
    one=${expected[$kind]}
    same() { ordered run "${extra[@]}" "${@:2}" >log 2>&1; is "$kind, $1" "${expected[$kind]}" "$(digest run)"; rm -rf run; }
    same "one thread" --threads 1
    same "three threads" --threads 3
    same "micro-batches of 1" micro_batch_size=1 gradient_accumulation=8
    same "micro-batches of 8, two threads" micro_batch_size=8 gradient_accumulation=1 --threads 2
    same "layers recomputed" recompute=all
    same "moments on disk, two threads" phased=on --threads 2
    same "moments on disk, micro-batches of 1" phased=on micro_batch_size=1 gradient_accumulation=8 --threads 1
    same "logits of 37 positions at a time" serialized_seq_len=37
    same "the vocabulary in two blocks" embedding_serialization_factor=2
    same "attention in 5 pieces" attention_serialisation=5
    for k in avx2 avx512 amx; do
        grep -qw $k <<<"$sets" || continue
        PRATTLE_KERNELS=$k same "kernels $k"
    done
    expected[$kind]=${blocks[$kind]}
    same "4 blocks" gradient_blocks=4 micro_batch_size=1 gradient_accumulation=8
    same "4 blocks in micro-batches of 2" gradient_blocks=4 micro_batch_size=2 gradient_accumulation=4
    same "4 blocks, moments on disk" gradient_blocks=4 micro_batch_size=2 gradient_accumulation=4 phased=on
    expected[$kind]=$one
    begun "${extra[@]}"
    is "$kind, stopped at step 15 and gone on in micro-batches of 2" "$one" \
        "$(gone_on micro_batch_size=2 gradient_accumulation=4 --threads 3)"
    is "$kind, gone on with kernels portable" "$one" "$(gone_on --kernels portable)"
    is "$kind, gone on with moments on disk" "$one" "$(gone_on phased=on)"
    ordered run "${extra[@]}" steps=9 phased=on >log 2>&1
    is "$kind, no working file is left" "" "$(find run -name '.nameless-*')"
    "$PRATTLE" train resume run steps=$STEPS phased=off >log 2>&1
    is "$kind, nine steps with moments on disk, the rest in memory" "${expected[$kind]}" "$(digest run)"
    rm -rf run
done
# Factors in bfloat16, whose chains are in groups of 32 rows; the last of a window of 64 ends with it.
# Muon's own products are too.
declare -A rounded=([adamw]=1085e3a6f61aa8ca [muon]=c1b03f91c6160e8f)
for optimizer in adamw muon; do
    extra=(matmul_precision=bfloat16 sequence_length=64 optimizer=$optimizer)
    same() { ordered run "${extra[@]}" "${@:2}" >log 2>&1; is "bfloat16, $optimizer, $1" "${rounded[$optimizer]}" "$(digest run)"; rm -rf run; }
    for k in $(tr -d , <<<"${sets#auto, }"); do
        [ $k = portable ] || PRATTLE_KERNELS=$k same "kernels $k" --threads 1
    done
    same "three threads, micro-batches of 1" micro_batch_size=1 gradient_accumulation=8 --threads 3
    begun "${extra[@]}"
    is "bfloat16, $optimizer, gone on in micro-batches of 2" "${rounded[$optimizer]}" \
        "$(gone_on micro_batch_size=2 gradient_accumulation=4 --threads 3)"
    is "bfloat16, $optimizer, gone on with kernels portable" "${rounded[$optimizer]}" "$(gone_on --kernels portable)"
    [ $optimizer = adamw ] || continue
    same "layers recomputed" recompute=all
    same "logits of 32 positions at a time" serialized_seq_len=32
    same "the vocabulary in two blocks" embedding_serialization_factor=2
    same "on disk, two threads" phased=on --threads 2
done
# Muon, whose matrices have products of their own.
declare -A muon=([float32]=f1ec1cf3afa446db [float16]=c4e1e2e7a8c567ac)
for precision in float32 float16; do
    extra=(precision=$precision optimizer=muon)
    expected[muon]=${muon[$precision]}
    same() { ordered run "${extra[@]}" "${@:2}" >log 2>&1; is "muon, $precision, $1" "${expected[muon]}" "$(digest run)"; rm -rf run; }
    same "one thread" --threads 1
    same "three threads, micro-batches of 1" micro_batch_size=1 gradient_accumulation=8 --threads 3
    for k in avx2 avx512 amx; do
        grep -qw $k <<<"$sets" || continue
        PRATTLE_KERNELS=$k same "kernels $k"
    done
    begun "${extra[@]}"
    is "muon, $precision, gone on in micro-batches of 2" "${expected[muon]}" \
        "$(gone_on micro_batch_size=2 gradient_accumulation=4 --threads 3)"
    is "muon, $precision, gone on with kernels portable" "${expected[muon]}" "$(gone_on --kernels portable)"
done
# With weights in float16; and beside an adapter, whose own products are not rounded.
declare -A mixed=([float16]=78afd2e508b2be0f [lora]=934e16f97b51644d)
for kind in float16 lora; do
    case $kind in
    lora) extra=(lora.rank=4 lora_dropout=0.1) ;;
    *) extra=(precision=$kind) ;;
    esac
    extra+=(matmul_precision=bfloat16 sequence_length=64)
    same() { ordered run "${extra[@]}" "${@:2}" >log 2>&1; is "bfloat16, $kind, $1" "${mixed[$kind]}" "$(digest run)"; rm -rf run; }
    same "two threads" --threads 2
    begun "${extra[@]}"
    is "bfloat16, $kind, gone on in micro-batches of 1 with kernels portable" "${mixed[$kind]}" \
        "$(gone_on micro_batch_size=1 gradient_accumulation=8 --kernels portable)"
done
finish
