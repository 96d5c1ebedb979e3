#!/usr/bin/env bash
# What plot takes: any figure of metrics.jsonl, one run or several, one picture.
. "$(dirname "$0")/lib.sh.inc"
work=$(mktemp -d "$TMPDIR/plot.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/one" "$work/two" "$work/bare" "$work/loss"
for step in 1 2 3; do
    echo '{"step":'$step',"tokens":'$((step * 64))',"loss":'$((9 - step))',"loss_scale":65536,"overflows":0}'
    echo '{"step":'$step',"grad_norms":{"wte":1}}'
done >"$work/one/metrics.jsonl"
echo '{"step":3,"tokens":192,"validation_loss":6.5,"wikitext_loss":5.25}' >>"$work/one/metrics.jsonl"
cp "$work/one/metrics.jsonl" "$work/two"
: >"$work/bare/metrics.jsonl"
cd "$work" || exit 1
plot() { "$PRATTLE" plot "$@" 2>&1; }

has "one figure" "loss_scale 65536" "$(plot loss_scale one)"
has "and another" "overflows 0" "$(plot overflows one)"
has "an evaluation's" "wikitext_loss 5.25" "$(plot wikitext_loss one)"
has "over another axis" "tokens" "$(plot loss over=tokens one | tail -n 1)"
has "what has an axis in common has one frame" "loss 6   ▲ validation_loss 6.5" "$(plot loss validation_loss one)"
is "a figure of its own has its own" 2 "$(plot loss wikitext_loss one | grep -c '^  *\(wikitext_\)\?loss [56]')"
is "over one axis" 1 "$(plot loss wikitext_loss one | grep -c '^ *step  1')"
has "without a name the losses that there are" "validation_loss 6.5" "$(plot one)"
there="step, tokens, loss, loss_scale, overflows, validation_loss, wikitext_loss"
is "a name that no line has" "no curve, picture or run's folder speed; the run has $there" "$(plot speed one)"
is "in numbers" "no curve, picture or run's folder grad_norms; the run has $there" "$(plot grad_norms one)"
is "an axis that no line has" "the run has no machine_hours to plot over; it has $there" \
    "$(plot loss over=machine_hours one)"
is "a file that is no picture" "no curve, picture or run's folder x.pdf; a picture is FILE.svg or FILE.png" \
    "$(plot x.pdf one)"
is "a path that is none" "no curve, picture or run's folder ./three" "$(plot loss ./three)"
is "a run without a line" "there is nothing to plot yet" "$(plot loss bare)"
has "a folder with the name of a curve is none" "loss 6" "$(plot loss one)"
sed 's/"loss":\([0-9]\)/"loss":1\1/' one/metrics.jsonl >two/metrics.jsonl
has "two runs are compared" "one loss 6   ▲ two loss 16" "$(plot loss one two)"
is "each figure in a frame" 2 "$(plot loss loss_scale one two | grep -c 'one .* two ')"
has "without a name the losses of both" "one loss 6 ▲ two loss 16 ■ one validation_loss 6.5 ◆ two validation_loss 6.5" \
    "$(plot one two | tr -s '\n ' ' ')"
mkdir -p more && cp -r one more/one
has "  of the same name by their paths" "one loss 6   ▲ more/one loss 6" "$(plot loss one more/one)"
has "  too many curves" "at most 8 curves in one picture, not 5 of each of 2 runs" "$(plot loss loss_scale tokens step overflows one two)"
is "a figure that no run has" "the run has no validation_accuracy; it has $there" "$(plot validation_accuracy one)"
is "two pictures" "one picture at a time, not a.svg and b.png" "$(plot loss one a.svg b.png)"
is "of which none is drawn" "" "$(ls | grep '\.')"
plot loss validation_loss wikitext_loss one told.svg >/dev/null
has "curves of a picture are dashed too" "stroke-dasharray" "$(cat told.svg)"
has "  and its axes have names" "step" "$(cat told.svg)"
has "    as they are read" "loss per token" "$(cat told.svg)"
plot loss_scale one over=tokens scale.svg >/dev/null
is "  an underscore is one: of the axis, the curve and its key" 3 "$(grep -c '>.*loss_scale<' scale.svg)"
mkdir empty
is "a name that is no folder, without a run" "there is no run's folder nowhere; \`prattle plot loss FOLDER\`" \
    "$(cd empty && plot nowhere)"
has "and without a name" "no run in this session" "$(cd empty && plot)"
finish
