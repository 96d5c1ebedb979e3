#!/usr/bin/env bash
# Log-probabilities, several answers and the prompt's tokens in lines of JSON.
. "$(dirname "$0")/lib.sh.inc"
S="--seed 7 --max-new-tokens 9 --ignore-eos --jsonl"
lines='{"prompt":"The sea","top_logprobs":2,"echo":true}
{"prompt":"My name is ","logprobs":3,"n":3,"temperature":2}
{"ids":[65,66,67],"echo":true,"top_logprobs":300}
{"prompt":"The sea","echo":true,"max_tokens":0}
{"prompt":"The sea","num_beams":3,"n":2,"top_logprobs":1,"echo":"on"}
{"prompt":"The sea","penalty_alpha":0.6,"top_k":4,"n":2,"top_logprobs":1}
{"prompt":"The sea ","top_logprobs":4,"top_p":0.5}
{"prompt":"","echo":true}
{"prompt":"The sea","logprobs":true}'
single= draw=0
while IFS= read -r line; do
    out=$("$PRATTLE" $MODEL $S --draw $draw <<<"$line" 2>/dev/null); single+=$out$'\n'
    answers=$(sed -n 's/.*"n":\([0-9]*\).*/\1/p' <<<"$line")
    [[ $out == *'"error"'* ]] && answers=1
    draw=$((draw + ${answers:-1}))
done <<<"$lines"
single=${single%$'\n'}
for way in "--batch-size 1" "--batch-size 8" "--batch-size 3 --threads 1" "--device-loop off"; do
    is "a batch = single runs: $way" "$single" "$("$PRATTLE" $MODEL $S $way <<<"$lines" 2>/dev/null)"
done
line() { sed -n "$1p" <<<"$single"; }
has "the prompt's tokens" '"prompt_ids":[51,71,68,220,82,68,64],"prompt_tokens":["T","h","e"," ","s","e","a"]' "$(line 1)"
has "nothing stands before the first" '"prompt_logprobs":[null,-' "$(line 1)"
has "nor has it alternatives" '"prompt_top_logprobs":[null,[{"id":' "$(line 1)"
has "whose distribution it is, and what drew it" '"draw":0,"logprobs_of":"model","seed":7}' "$(line 1)"
is "each answer has its draw" "1 2 3" "$(line 2 | grep -o '"draw":[0-9]*' | tr -dc '0-9\n' | xargs)"
has "one beyond 2^63 is a text" '"seed":"18446744073709551615"}' "$("$PRATTLE" $MODEL@3 $S --seed 18446744073709551615 <<<'{"prompt":"The sea"}')"
is "  which is read" "$("$PRATTLE" $MODEL@3 $S --seed 18446744073709551615 <<<'{"prompt":"The sea"}')" "$("$PRATTLE" $MODEL@3 $S <<<'{"prompt":"The sea","seed":"18446744073709551615"}')"
is "what is searched for has none" 0 "$(line 5 | grep -cE '"(seed|draw)":')"
is "generate from IDs = such a line, which repeats no prompt" "$("$PRATTLE" $MODEL $S <<<'{"ids":[65,66,67]}' 2>&1)" \
    "$("$PRATTLE" generate --model $MODEL $S --ids 65,66,67 2>&1)"
text() { sed 's/.*"text":"\(.*\)","ids".*/\1/'; } # of the last answer
fresh=$(printf '%s\n' '{"prompt":"The sea","n":2,"seed":0}' '{"prompt":"The sea","seed":0}' | "$PRATTLE" $MODEL $S 2>/dev/null)
for i in 1 2; do
    object=$(sed -n "${i}p" <<<"$fresh") seed=$(grep -o '"seed":[0-9]*' <<<"$object") draw=$(grep -o '"draw":[0-9]*' <<<"$object" | tail -n 1)
    is "an answer of a fresh seed is drawn again by what it says ($i)" "$(text <<<"$object")" \
        "$("$PRATTLE" $MODEL $S <<<"{\"prompt\":\"The sea\",$seed,$draw}" | text)"
done
twice() { printf '{"prompt":"The sea"%s}\n' "$1" "$1" | "$PRATTLE" $MODEL $S 2>/dev/null; }
for name in seed draw; do
    is "null is no $name: equal prompts have two answers" "$(twice "")" "$(twice ',"'$name'":null')"
done
is "  which are not the same" 2 "$(twice "" | text | sort -u | wc -l)"
whole=$("$PRATTLE" $MODEL $S --greedy -p "The sea" | text)
# stopped VALUE: the object of a line with these stop strings.
stopped() { "$PRATTLE" $MODEL $S --greedy <<<'{"prompt":"The sea","stop":'"$1"'}' 2>/dev/null; }
is "a text is one stop string, commas and all" "$(stopped '["x,y"]')" "$(stopped '"x,y"')"
is "and null is none" "$whole" "$(stopped null | text)"
has "another is named with what it may be" 'stop must be a text or a list of texts, none of them empty' "$(stopped '{"a":1}')"
has "a number that is too large is no JSON of another kind" '"error":"the JSON is not read: too big integer near' \
    "$("$PRATTLE" $MODEL $S <<<'{"prompt":"The sea","id":18446744073709551615}' 2>/dev/null)"
is "three answers in one object" 3 "$(line 2 | grep -o '"text":' | wc -l)"
is "an alternative has id, text and log-probability" 27 \
    "$(line 2 | grep -oE '\[\{"id":[0-9]+,"token":"([^"\\]|\\.)+","logprob":-[0-9.e-]+\},\{[^]]*' | wc -l)"
has "more than there may be" '"error":"top_logprobs must be a whole number, 0 to 100, not 300"' "$(line 3)"
has "a prompt alone" '"text":"","ids":[],"logprobs":[],"finish_reason":"length"' "$(line 4)"
is "beams too" "2 1" "$(line 5 | grep -o '"top_logprobs":' | wc -l) $(line 5 | grep -c '"prompt_logprobs":\[null,-')"
is "and contrastive search" 2 "$(line 6 | grep -o '"top_logprobs":' | wc -l)"
has "true changes nothing: the tokens' own are always there" '"finish_reason"' "$(line 9)"
is "without being asked no alternatives and no prompt" 0 "$(line 9 | grep -cE 'top_logprobs|prompt_')"
none() { "$PRATTLE" $MODEL $S --top-logprobs 2 --echo on 2>/dev/null; }
is "false leaves out all of them, of several answers too, and keeps the rest" "0 1 2" \
    "$(printf '{"prompt":"The sea","logprobs":false%s}\n' '' ',"n":2' | none | { read -r one; read -r two
        echo "$(grep -c logprob <<<"$one$two") $(grep -o '"prompt_ids"' <<<"$one" | wc -l) $(grep -o '"text"' <<<"$two" | wc -l)"; })"
has "and with alternatives it is refused" 'top_logprobs is of no use where logprobs is false' \
    "$(none <<<'{"prompt":"The sea","logprobs":false,"top_logprobs":3}')"
is "an id comes back, with an answer as with an error" '7 [0] "x" 1717171717.123' "$("$PRATTLE" $MODEL $S 2>/dev/null <<<'{"prompt":"The sea","id":7}
{"prompt":"The sea","id":[0],"n":2}
{"id":"x","prompt":"The sea","top_p":9}
{"prompt":"The sea","id":1717171717.123}' | sed 's/^{"id":\(.*\),"prompt".*/\1/' | paste -sd' ')"
is "settings of the whole batch do the same" "$(line 1)" \
    "$("$PRATTLE" $MODEL $S --top-logprobs 2 --echo on <<<'{"prompt":"The sea"}')"
is "and a single prompt" "$(line 1)" "$("$PRATTLE" $MODEL $S --logprobs 2 --echo on -p "The sea")"

wrong=$(printf '{"prompt":"x",%s}\n' '"n":0' '"n":"many"' '"top_logprobs":-1' '"logprobs":[1]' '"echo":3' \
    '"top_logprobs":1' | "$PRATTLE" $MODEL $S 2>/dev/null)
is "a bad value is that line's alone" "error error error error error ids" \
    "$(grep -oE '"(error|ids)":' <<<"$wrong" | tr -d '":' | paste -sd' ')"
has "and is named as it was given" '"error":"n must be a whole number, 1 to 512, not 0"' "$wrong"
has "a name like a member's leads to that" 'there is no setting promt; did you mean prompt?' \
    "$("$PRATTLE" $MODEL $S --jsonl <<<'{"promt":"x"}' 2>/dev/null)"

# Every token drawn is among the alternatives of its place, with the very number that it was drawn
# with, also where the context slid and the text was read again.
# agrees ARGUMENTS...: how many tokens were looked at, and how many did not agree.
agrees() {
    "$PRATTLE" $MODEL --seed 7 --ignore-eos --jsonl --top-logprobs 100 "$@" 2>/dev/null | perl -ne '
        for (split /(?="text":)/) {
            next unless /^"text"/;
            my @ids = split /,/, /"ids":\[([^\]]*)/ ? $1 : "";
            my @own = split /,/, /"logprobs":\[([^\]]*)/ ? $1 : "";
            my @places = /\[(\{"id".*?\})\]/g;
            $bad += @ids != @places;
            for my $i (0 .. $#ids) {
                $n++;
                my $found = $places[$i] =~ /"id":$ids[$i],"token":"(?:[^"\\]|\\.)*","logprob":([-0-9.e]+)/ && $1 eq $own[$i];
                $bad++ unless $found;
            }
        }
        END { print "$n ", $bad + 0 }'
}
is "greedy" "40 0" "$(agrees -p "The sea" --greedy -n 40)"
is "behind a space that waits" "80 0" "$(agrees -p "The sea " --top-k 50 -n 40 --num-return-sequences 2)"
is "a context that slides" "700 0" "$(agrees -p "The sea" --top-k 50 -n 700 --on-full slide)"
is "and of several answers" "1200 0" "$(agrees -p "The sea" --top-k 50 -n 600 --on-full slide --num-return-sequences 2)"
is "up to the end of the context" "256 0" "$(agrees -p x --top-k 50 -n 300)"
is "contrastive search that slides" "300 0" "$(agrees -p "The sea" --penalty-alpha 0.6 --top-k 4 -n 300 --on-full slide)"
is "beams" "60 0" "$(agrees -p "The sea" --num-beams 3 --num-return-sequences 3 -n 20)"
finish
