#!/usr/bin/env bash
# The cache of prepared weights: the same answers and the same training with it as without, shown and
# cleared from the shell.
. "$(dirname "$0")/lib.sh.inc"
p() { "$PRATTLE" "$@" 2>&1; }
model=$TMPDIR/gpt2-wide
panels=$XDG_CACHE_HOME/prattle/panels
entries() { find "$panels" -type f ! -name '*.tmp' 2>/dev/null | wc -l; }
# load_until N WORD...: until there are N entries; a process of its own writes them.
load_until() {
    local n=$1 seconds=$((60 * ${PATIENCE:-1})) begun=$SECONDS
    shift
    while [ "$(entries)" -lt "$n" ] && [ $((SECONDS - begun)) -lt $seconds ]; do p generate a -n 1 "$@" >/dev/null; sleep 0.1; done
    [ "$(entries)" -ge "$n" ] || is "an entry within $seconds s: $*" "$n" "$(entries)"
}
answer() { p generate "Once upon a time" -n 12 --seed 5 -m "$model" "$@"; }

p convert random:gpt2,n_layer=1,n_head=4,n_embd=256,n_positions=64,vocab_size=33000 "$model" --seed 3 >/dev/null
want=$(answer --cache-size 0)
p generate a -n 1 -m $MODEL >/dev/null
is "no cache, no folder" 0 "$(entries)"
has "an empty cache" "no models in the cache" "$(p cache)"
is "the first answer" "$want" "$(answer)"
load_until 1 -m "$model"
is "from the cache" "$want" "$(answer)"
for kernels in portable auto; do is "by $kernels kernels" "$want" "$(answer --kernels $kernels)"; done
is "on three threads" "$want" "$(answer --threads 3)"
load_until 2 -m "$model" --dtype fp32
is "each precision has its own" "$(answer --dtype fp32 --cache-size 0)" "$(answer --dtype fp32)"
has "it is shown" "gpt2-wide  fp16       19 MB" "$(p cache)"
has "with the file" "$model/model.safetensors" "$(p cache)"
has "and the limit" "2 models" "$(p cache)"
has "of the setting" "of at most 2 GB" "$(p cache --cache-size 2)"
p convert random:gpt2,n_layer=1,n_head=4,n_embd=512,n_positions=64,vocab_size=33000 "$TMPDIR/wider" --seed 3 >/dev/null
load_until 3 -m "$TMPDIR/wider" --dtype q8
has "q8 as such" "wider      q8         21 MB" "$(p cache)"
rm "$panels/$(find "$panels" -type f -printf '%T@ %f\n' | sort -n | sed -n '$s/.* //p')"

# Training changes the weights that were read, and not the entry.
seq 1 2000 >"$TMPDIR/text"
train() {
    rm -rf "$TMPDIR/run"
    p train finetune init="$model" data="$TMPDIR/text" steps=3 sequence_length=32 folder="$TMPDIR/run" "$@" >"$TMPDIR/log"
    find "$TMPDIR/run" -name model.safetensors -exec sha256sum {} + | cut -d' ' -f1 | sort -u
}
trained=$(train --cache-size 0)
is "a run has weights" 64 "$(head -n 1 <<<"$trained" | tr -d '\n' | wc -c)"
is "training from the cache" "$trained" "$(train)"
is "the model is as it was" "$want" "$(answer)"

is "a model that is not there" 1 "$(p cache clear nothing >/dev/null; echo $?)"
has "is named" "no model nothing in the cache" "$(p cache clear nothing)"
has "two are removed" "[2 models removed" "$(p cache clear gpt2-wide)"
is "and gone" 0 "$(entries)"
head -c 9000 /dev/zero >"$panels/$(printf %064d 1)"
has "an entry that cannot be read is shown" "(damaged)" "$(p cache)"
has "  and removed by that name" "[1 model removed, 0 MB]" "$(p cache clear '(damaged)')"
has "usage" "usage: prattle cache [clear [NAME]]" "$(p cache show)"
load_until 1 -m "$model"
has "texts that were trained on are shown" "1 encoded text, 0.0 MB, in $XDG_CACHE_HOME/prattle/data" "$(p cache)"
touch "$XDG_CACHE_HOME/prattle/data/mine.txt"
# What a process that was killed has left goes with them; what one is writing stays.
key=$(printf %064d 7) other=$(printf %064d 8)
touch "$XDG_CACHE_HOME/prattle/data/"{$key,$other}{.bin.abcdef.tmp,.idx}
exec 9>"$XDG_CACHE_HOME/prattle/data/$other.lock"; flock 9
out=$(p cache clear)
has "all are removed" "[1 model removed" "$out"
has "the texts, too" "[1 encoded text removed, 0.0 MB]" "$out"
is "with their files, and no others" "$other.bin.abcdef.tmp $other.idx $other.lock mine.txt" "$(ls -A "$XDG_CACHE_HOME/prattle/data" | xargs)"
exec 9>&-
p cache clear >/dev/null
is "  nobody's any more, they go" mine.txt "$(ls -A "$XDG_CACHE_HOME/prattle/data")"
is "training encodes them again" "$trained" "$(train)"
finish
