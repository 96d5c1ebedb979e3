#!/usr/bin/env bash
# Answers by a grammar from the shell: a text, a file or a JSON schema, for all lines or for one.
. "$(dirname "$0")/lib.sh.inc"
cd "$TMPDIR" || exit 1
ask() { "$PRATTLE" $MODEL --seed 3 --max-new-tokens 100 --no-echo "$@" 2>&1; }
# matches NAME REGEX TEXT: every line of TEXT matches, and there is one
matches() { is "$1" "" "$(grep -vxE -- "$2" <<<"${3:-nothing}")"; }
cat >answer.gbnf <<'END'
root   ::= choice (", " choice){,2}   # up to three
choice ::= "yes" | "no"
END
cat >schema.json <<'END'
{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
 "properties": {"n": {"type": "integer", "minimum": -5, "maximum": 120},
                "kind": {"enum": ["a", "b c"]}, "more": {"type": "boolean"}},
 "required": ["n", "kind"]}
END
object='\{ ?"n": ?-?[0-9]{1,3}, ?"kind": ?("a"|"b c")(, ?"more": ?(true|false))?\}'
matches "a grammar as text" 'yes|no' "$(ask --grammar 'root ::= "yes" | "no"' -p "Is it?")"
matches "  of a prompt that ends with a space" 'yes|no' "$(ask --grammar 'root ::= "yes" | "no"' -p "Is it? ")"
matches "in a file" '(yes|no)(, (yes|no)){0,2}' "$(ask --grammar answer.gbnf -p "Is it?")"
matches "a schema in a file" "$object" "$(ask --grammar_file schema.json -p "It is")"
matches "  as text" "$object" "$(ask --json-schema "$(cat schema.json)" -p "It is")"
matches "any object, or its beginning" '\{.*' "$(ask --grammar json -p "It is")"
prompts=$(seq -f "Line %g: " 20)
for way in "--num-beams 3" "--penalty-alpha 0.6 --top-k 4" "--greedy" "--temperature 2 --top-p 1" "--mirostat 2" "--speculate lookup" "--dtype q8"; do
    matches "whatever chooses: $way" "$object" "$(ask --grammar schema.json $way <<<"$prompts")"
done
want=$(ask --grammar schema.json <<<"$prompts")
for way in "--batch-size 1" "--batch-size 7 --threads 1" "--speculate off" "--device-loop off"; do
    is "a batch = single runs: $way" "$want" "$(ask --grammar schema.json $way <<<"$prompts")"
done
lines='{"prompt":"a","grammar":"root ::= [x]{5}","n":2,"ignore_eos":true}
{"prompt":"b","json_schema":{"const":[1,"\u00e9"]}}
{"prompt":"c","grammar":{"type":"frob"}}
{"prompt":"d","grammar":"","max_tokens":3}
{"prompt":"e","grammar":"root ::= \"a\"","on_full":"slide"}
{"prompt":"f","grammar":"root ::= ("}'
out=$("$PRATTLE" $MODEL --seed 3 --jsonl <<<"$lines" 2>/dev/null)
line() { sed -n "$1p" <<<"$out"; }
is "a line has its own" 2 "$(line 1 | grep -o '"text":"xxxxx","ids":[^}]*"finish_reason":"grammar"' | wc -l)"
has "  or a schema, as an object" '"text":"[1,' "$(line 2)"
has "  with its characters" 'é\"]"' "$(line 2)"
has "one that is none is refused" '"error":"grammar: ' "$(line 3)"
has "the next line is answered" '"finish_reason":"length"' "$(line 4)"
has "what excludes it" 'a grammar needs on_full=stop' "$(line 5)"
has "where it is wrong" 'grammar: line 1: a group ( has no )' "$(line 6)"
is "a file that is not there" "1 grammar is json, a JSON schema {...}, a grammar root ::= ... or a file of one of these, and there is no file nosuch.gbnf" \
    "$(out=$(ask --grammar nosuch.gbnf -p abc); echo "$? $out")"
echo 'root ::= "' >broken.gbnf
has "one that is broken is named" 'cannot load broken.gbnf: line 1: a text " has no end' "$(ask --grammar broken.gbnf -p abc)"
has "a folder is none" "is a folder, not a file" "$(ask --grammar . -p abc)"
printf 'grammar: |\n  root ::= "from" \n    | "settings"\n' >settings.yaml
mkdir -p config/prattle && mv settings.yaml config/prattle
matches "the settings file has one of several lines" 'from|settings' "$(XDG_CONFIG_HOME=$PWD/config ask -p abc)"
finish
