#!/usr/bin/env bash
# The program's own specifications: each entry runs with its command and patterns, on a model made
# tiny, so that a pattern which no longer finds what is printed, or finds another number, fails here.
. "$(dirname "$0")/lib.sh.inc"
export XDG_STATE_HOME=$TMPDIR/state
VOCABULARY=300 LENGTH=16
shape="n_layer=2 n_embd=32 n_head=2 n_positions=32 vocab_size=$VOCABULARY"
# small SPEC: with small models and windows and all else as it is.
small() {
    sed -E "s/n_layer=[0-9]+/n_layer=2/; s/n_embd=[0-9]+/n_embd=32/; s/n_head=[0-9]+/n_head=2/
        s/head_dim=[0-9]+/head_dim=8/; s/n_positions=[0-9]+/n_positions=32/; s/vocab_size=[0-9]+/vocab_size=$VOCABULARY/
        s/(random:gpt2[-a-z]*) /\1,${shape// /,} /; s/^( +log_every=1 .*)/\1 $shape/
        s/train=1x[0-9]+/train=1x$LENGTH/; s/length: '[0-9]+'/length: '$LENGTH'/
        s/length: \[.*/length: [8, $LENGTH]/; s/batch: \[.*/batch: [1, 2]/" "$1"
}
# figures NAME: what the specification says to show of an entry, in its order.
figures() {
    case $1 in
        graphcore*_train_gen) echo tokens loss accuracy throughput ;;
        graphcore*_infer_gen) echo tokens latency ;;
        popxl*_train_gen) echo tokens loss throughput ;;
        popxl*_infer_gen) echo prefill decode ;;
        languini*) echo tokens flops hours6 ;;
    esac
}
# odd: rows of CSV whose number is none that the figure can have. The loss of a model that knows
# nothing is near that of a guess.
odd() {
    awk -F, -v vocabulary=$VOCABULARY -v length_=$LENGTH '
        function near(a, b) {return a > 0.9 * b && a < 1.1 * b}
        function fits(figure, x) {
            if (figure == "loss") return near(x, log(vocabulary))
            if (figure == "accuracy") return x < 0.5
            if (figure == "throughput") return near(x, tokens / length_)
            if (figure == "hours6") return near(x, tokens * 21600)
            return x > 0
        }
        $2 == "tokens" {tokens = $3}
        $3 !~ /^[0-9.]+(e[+-]?[0-9]+)?$/ || $9 != 1 || !fits($2, $3)'
}
for spec in repl/bench/specs/*.yaml; do
    file=$(basename "$spec") copy=$TMPDIR/$(basename "$spec")
    small "$spec" >"$copy"
    is "all models of $file are small" "$(grep -c '^  cmd:' "$copy")" \
        "$(grep -c -e 'n_layer=2[ ,]n_embd=32[ ,]n_head=2[ ,]' -e '{model}' "$copy")"
    names=$("$PRATTLE" bench "$copy" nothing 2>&1 | sed -n 's/.*the specification has //p' | tr -d ,)
    is "$file has as many benchmarks as commands" "$(grep -c '^  cmd:' "$copy")" "$(wc -w <<<"$names")"
    out=$("$PRATTLE" bench "$copy" repeats=1 --format csv --model $MODEL 2>"$TMPDIR/err"); status=$?
    is "$file: all entries run" "0 " "$status $(cat "$TMPDIR/err")"
    out=${out//"$MODEL"/M}
    for name in $names; do
        times=1; [[ $name == *_sweep ]] && times=4 # 2 lengths, 2 batches
        is "$name: all figures are read" "$(for _ in $(seq $times); do figures $name | tr ' ' '\n'; done)" \
            "$(sed -n "s/^$name[ ,]/,&/p" <<<"$out" | cut -d, -f3)"
    done
    is "$file: they are numbers that can be" "" "$(sed 1d <<<"$out" | odd)"
done

# A sweep of throughput over batch and length, drawn: a curve for each length.
"$PRATTLE" bench "$TMPDIR/languini.yaml" languini_mini_sweep repeats=1 "$TMPDIR/sweep.svg" >/dev/null 2>&1; is "a sweep is drawn" 0 $?
for length in 8 $LENGTH; do
    has "with a curve of length $length" ">tokens length=$length<" "$(cat "$TMPDIR/sweep.svg")"
done
finish
