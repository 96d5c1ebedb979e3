#!/usr/bin/env bash
# dtype=q8: the same answers from a file and from memory, on any kernels, alone and in batches.
. "$(dirname "$0")/lib.sh.inc"
p() { "$PRATTLE" "$@" 2>&1 </dev/null; }
cd "$TMPDIR" || exit 1
small=random:gpt2,n_layer=2,n_head=3,n_embd=96,n_inner=160,n_positions=64,vocab_size=300

has "convert writes Q8_0" "wrote b.gguf" "$(p convert bundled b.gguf --dtype q8)"
has "and says how its cost is measured" '`prattle eval kl bundled TEXT --model c.gguf`' "$(p convert bundled c.gguf --dtype q8)"
has "model" "Q8_0 in the file, q8 in memory" "$(p model --model b.gguf)"
has "another precision by name" "Q8_0 in the file, fp16 in memory" "$(p model --model b.gguf --dtype fp16)"
has "devices" "q8 weights; fp16 keys and values; fp32 sums" "$(p devices --model b.gguf)"
is "it is a little over half as large" yes \
    "$([ "$(stat -c %s b.gguf)" -lt $(($(p convert bundled f.gguf --dtype fp16 >/dev/null; stat -c %s f.gguf) * 57 / 100)) ] && echo yes)"
is "copied, it is the same file" "$(md5sum <b.gguf)" "$(p convert b.gguf d.gguf >/dev/null; md5sum <d.gguf)"
prompt="Once upon a time there was a little girl. She liked her red ball."
# What fails, or says nothing, is told by its words: no two of those are the same.
logits() { rm -f l.npy; "$PRATTLE" logits "$prompt" --all --out l.npy "$@" >/dev/null 2>&1 && md5sum <l.npy || echo "none: $*"; }
want=$(logits --model b.gguf)
is "of the file as of the model quantized in memory" "$want" "$(logits --model bundled --dtype q8)"
for kernels in portable $("$PRATTLE" devices | grep -o 'avx[25][0-9]*' | sort -u); do
    for threads in 1 2 3; do
        is "$kernels, $threads threads" "$want" \
            "$(PRATTLE_KERNELS=$kernels logits --model b.gguf --threads $threads)"
    done
done
fp16=$(logits --model bundled)
is "fp16 has others" yes "$([[ $fp16 != none:* && $fp16 != "$want" ]] && echo yes)"

lines=("One day" "The dog" "$prompt" "Tom and Sam")
answers() {
    printf '%s\n' "${lines[@]}" | "$PRATTLE" b.gguf -n 24 --seed 3 "$@" 2>/dev/null >said && [ -s said ] && md5sum <said || echo "none: $*"
}
is "a batch gives what single prompts do" "$(answers --batch-size 1)" "$(answers --batch-size 4)"
is "drafts change nothing" "$(answers --speculate off)" "$(answers --speculate lookup)"

"$PRATTLE" bundled --prompt "$prompt" -n 400 --seed 5 >story.txt 2>/dev/null
cost=$(p convert bundled b.gguf story.txt --dtype q8 --force --limit 1)
has "the cost on a text" "(story.txt, 1 window of 512)" "$cost"
is "is small" yes "$(grep -o 'difference [-0-9.]*' <<<"$cost" | awk '{print ($2 < 0.002 && $2 > -0.002) ? "yes" : $2}')"
mkdir data && cp story.txt data/wiki.test.raw
has "the text is found in the data folder" "(wiki.test.raw, " "$(p convert bundled b.gguf --dtype q8 --force --data-dir data)"
is "eval kl says the same" "$(grep -o 'difference [-0-9]*\.[0-9][0-9][0-9]' <<<"$cost" | cut -d ' ' -f 2)" \
    "$(p eval kl bundled story.txt --model b.gguf --limit 1 --json | grep -o '"loss_change": *{[^}]*' | grep -o '"value": *[-0-9.e]*' | awk '{printf "%.4f", $2}' | cut -c 1-$((5 + $(grep -c 'difference -' <<<"$cost"))))"
has "a text that is not there" "cannot open none.txt" "$(p convert bundled b.gguf none.txt --dtype q8 --force)"
has "a text for another precision" "a TEXT is for --dtype q8" "$(p convert bundled g.gguf story.txt)"
is "which writes nothing" no "$([ -e g.gguf ] && echo yes || echo no)"

has "only GGUF files hold it" "q8 is written to GGUF files only" "$(p convert bundled folder --dtype q8)"
has "matrices that are not whole blocks are said" "2 matrices are written as F16, the first blk.0.ffn_down.weight" \
    "$(p convert "${small/n_inner=160/n_inner=70}" u.gguf --dtype q8)"
has "and when they are read" "2 of 9 matrices stay fp16, the first h.0.mlp.c_proj.weight" "$(p model --model u.gguf)"
has "a width that none of them has" "9 of 9 matrices stay fp16" "$(p model --model "${small/n_embd=96,n_inner=160/n_embd=36,n_inner=70}" --dtype q8)"
head -c $(($(stat -c %s b.gguf) / 2)) b.gguf >cut.gguf
has "a file cut short" "cut.gguf" "$(p model --model cut.gguf)"
finish
