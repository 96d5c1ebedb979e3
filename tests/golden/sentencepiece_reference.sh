#!/usr/bin/env bash
# Small SentencePiece models, and what the library's own tools say of texts.
#
#   tests/golden/sentencepiece_reference.sh      (Debian's sentencepiece 0.1.97)
#
# Makes in tests/golden/sentencepiece/, from the samples of the model that ships: bytes.model (BPE,
# nothing normalized, bytes for what it lacks, as Languini's) and words.model (unigram, spaces joined,
# unknown pieces); KIND.ids, the ids of each line of texts.txt, and KIND.back, what they are decoded to.
set -eu
cd "$(dirname "$0")/sentencepiece"
text=../../../weights/bundled/samples.txt
train() { # KIND SIZE OPTIONS...
    spm_train --input="$text" --model_prefix="$1" --vocab_size="$2" --num_threads=1 --minloglevel=2 "${@:3}"
    rm "$1.vocab"
    spm_encode --model="$1.model" --output_format=id <texts.txt >"$1.ids"
    spm_decode --model="$1.model" --input_format=id <"$1.ids" >"$1.back"
}
train bytes 400 --model_type=bpe --byte_fallback=true --normalization_rule_name=identity \
    --remove_extra_whitespaces=false --character_coverage=1.0
train words 300 --model_type=unigram --normalization_rule_name=identity
