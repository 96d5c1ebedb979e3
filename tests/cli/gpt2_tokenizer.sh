#!/usr/bin/env bash
# A checkpoint of GPT-2's vocabulary without tokenizer files: what is said, and the tokenizer of gpt2 in the cache.
. "$(dirname "$0")/lib.sh.inc"
export XDG_CACHE_HOME=$TMPDIR/cache
cd "$TMPDIR" || exit 1
commit=607a30d783dfa663caf39e06633721c8d4cfcd7e
"$PRATTLE" convert random:gpt2,n_layer=1,n_head=1,n_embd=2,n_positions=16 model.bin >said 2>&1
write() { "$PRATTLE" generate "a b" --model model.bin --max-new-tokens 2 --ignore-eos 2>&1; }
has "whose vocabulary it is, and what to do" "the model has GPT-2's vocabulary and no tokenizer files: put GPT-2's vocab.json and merges.txt, or its tokenizer.json, beside the model, or get gpt2 with" "$(write)"
has "so for an evaluation" "this model has GPT-2's vocabulary and no tokenizer to read a text with" "$("$PRATTLE" eval wikitext said --model model.bin 2>&1)"
mkdir -p "$HF_HOME/hub/models--gpt2/"{refs,snapshots/$commit}
printf $commit >"$HF_HOME/hub/models--gpt2/refs/main"
has "a cache that has no files of it changes nothing" "no tokenizer files: put GPT-2's" "$(write)"
"$PRATTLE" tokenizer train "$OLDPWD/README.md" words --vocab-size 300 >said 2>&1
# As many tokens and merges as GPT-2 has: pairs of the bytes' tokens.
mkdir -p whole
perl -MJSON::PP -e '
    my $json = JSON::PP->new->utf8->canonical;
    open my $in, "<:raw", "words/vocab.json";
    my @bytes = sort grep { length == 1 } keys %{$json->decode(join "", <$in>)};
    my %id = map { $bytes[$_] => $_ } 0 .. 255;
    open my $merges, ">:utf8", "whole/merges.txt";
    print $merges "#version: 0.2\n";
    for my $n (0 .. 49999) {
        my ($left, $right) = ($bytes[$n >> 8], $bytes[$n & 255]);
        $id{"$left$right"} = 256 + $n;
        print $merges "$left $right\n";
    }
    $id{"<|endoftext|>"} = 50256;
    open my $vocab, ">:raw", "whole/vocab.json";
    print $vocab $json->encode(\%id)'
cp whole/{vocab.json,merges.txt} "$HF_HOME/hub/models--gpt2/snapshots/$commit/"
has "the cache's tokenizer is taken, which is said" "takes the tokenizer of gpt2 from the Hugging Face cache" "$(write)"
is "and reads the prompt" 0 "$(write >/dev/null; echo $?)"
snapshot=$HF_HOME/hub/models--gpt2/snapshots/$commit
head -n 30001 whole/merges.txt >"$snapshot/merges.txt"
has "one cut off at a line's end is left out, which is said" "the tokenizer of gpt2 in the Hugging Face cache is left out: it has 50257 tokens and 30000 merges, GPT-2's has 50257 and 50000" "$(write | tr -s ' \n' ' ')"
cp words/{vocab.json,merges.txt} "$snapshot/"
has "so is one of another vocabulary" "left out: it has " "$(write | tr -s ' \n' ' ')"
head -c 100 words/vocab.json >"$snapshot/vocab.json"
said=$(write | tr -s ' \n' ' ')
has "a damaged one is left out, which is said" "the tokenizer of gpt2 in the Hugging Face cache is left out: cannot load the tokenizer of " "$said"
has "  by its file" ": vocab.json is not JSON" "$said"
has "  and says what to do" "\`prattle hub remove gpt2\` and \`prattle hub get gpt2\` fetch it anew" "$said"
has "  and the model is as without" "no tokenizer files: put GPT-2's" "$said"
is "  and can be used" 0 "$("$PRATTLE" convert model.bin again.bin >said 2>&1; echo $?)"
mkdir -p "$HF_HOME"/hub/models--openai-community--gpt2/{refs,snapshots/$commit}
printf $commit >"$HF_HOME/hub/models--openai-community--gpt2/refs/main"
cp whole/{vocab.json,merges.txt} "$HF_HOME/hub/models--openai-community--gpt2/snapshots/$commit/"
has "its other name has a whole one" "takes the tokenizer of gpt2 from the Hugging Face cache" "$(write)"
cp words/merges.txt "$HF_HOME/hub/models--openai-community--gpt2/snapshots/$commit/vocab.json"
cp whole/{vocab.json,merges.txt} "$snapshot/"
has "or the other way round" "the tokenizer of openai-community/gpt2 in the Hugging Face cache is left out" "$(write | tr -s ' \n' ' ')"
is "  and reads the prompt" 0 "$(write >/dev/null; echo $?)"
"$PRATTLE" convert random:gpt2,n_layer=1,n_head=1,n_embd=2,n_positions=16,vocab_size=50256 other.bin >said 2>&1
has "another vocabulary has another" "the model has no tokenizer files" "$("$PRATTLE" generate a --model other.bin 2>&1)"
finish
