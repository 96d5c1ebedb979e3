#!/usr/bin/env bash
# Help in the shell, the man page and bash's completion, all made of the tables, and their installation.
. "$(dirname "$0")/lib.sh.inc"
p() { "$PRATTLE" "$@" 2>&1; }

usage=$(p --help)
is "--help fits on a screen" 1 "$(($(wc -l <<<"$usage") < 24))"
is "  of 80 columns" "" "$(grep -E '.{80}' <<<"$usage")"
is "help is the same" "$usage" "$(p help)"
for part in "usage: prattle [MODEL] [OPTION ...]" "Text       generate" "Model      model" "Training   train" \
    "Measuring  eval" "--max-new-tokens N" "help COMMAND" "help settings" "help training" "help presets" "man prattle"; do
    has "--help has $part" "$part" "$usage"
done
for name in $(p help commands | sed -n 's/^  \([a-z]*\).*/\1/p'); do
    has "  and the command $name" " $name" "$usage"
done
has "train --help names the settings of a run" "prattle help training" "$(p train --help)"
has "  and the presets" "prattle help presets" "$(p train --help)"
has "help COMMAND has its examples" "  prattle train finetune data=my.txt steps=200" "$(p help train)"
mkdir "$TMPDIR/examples" && cp README.md "$TMPDIR/examples/my.txt" && cp README.md "$TMPDIR/examples/input.txt"
while read -r example; do
    has "  which works: $example" "  parameters  " "$(cd "$TMPDIR/examples" && p ${example#prattle } --plan)"
done < <(p help train | grep '^  prattle train .*data=')
for name in top_p train learning_rate; do
    has "help of one thing is text ($name)" "help $name is text" "$(p help $name --format json)"
done
has "  of none, the name" "there is no command, setting or topic nosuch" "$(p help nosuch --format json)"
has "a name with 'mean' in it" "there is no command, setting or topic meaning" "$(p help meaning)"
is "no command lists formats that it refuses" "" "$(for name in bench hub eval; do p help $name | grep -e '--format.*man'; done)"
has "  help has them all" "--format text|markdown|csv|json|man|bash" "$(p help help)"
is "a setting of a run says where all are" "training run: \`prattle help training\` lists them" \
    "$(p help warmup | sed -n 's/^  group *//p')"
explained() { p help $1 | sed -n 's/^  values *//p; s/^  built in *//p' | xargs -d '\n'; }
for name in $(p help data | sed -n 's/^  \([a-z_]*\)= .*/\1/p'); do
    has "help $name explains it" "$name" "$(p help $name | head -1)"
done
is "  with its values and the built-in one" "keep, exact or near keep" "$(explained duplicates)"
is "  as the run's of the same name" "text <|endoftext|> text <|endoftext|>" "$(explained document_separator)"
has "  and beside an option" "auto, megatron, nanogpt, llmc, tfrecord or jsonl" "$(p help format)"
has "an argument in brackets is whole" $'\nprattle data prepare IN ... OUT [KEY=VALUE ...]\n' "$(p help data)"
has "an option's help is what it does for the command" "--all                   every position" "$(p help logits)"
has "  or for a form of it" "--all                   history: every model" "$(p help eval)"
has "  or several" "wikitext, ptb: Megatron-LM's" "$(p help eval)"
is "  of other commands it says nothing" "" "$(p help bench | grep -e '--last.*eval'; p help eval | grep -e '--last.*bench')"
is "no help is wider than 80 columns" "" "$(for name in $(p help commands | sed -n 's/^  \([a-z]*\).*/\1/p'); do p help $name; done | grep -E '.{81}')"
has "help GROUP is one group" "--top-k N" "$(p help sampling)"
is "  alone" "" "$(p help sampling | grep -e --batch-size)"
has "help settings is the full list" "--batch-size N" "$(p help settings)"
is "help commands is a list of all" 17 "$(p help commands | grep -c '^  [a-z]')"
is "one table, of commands" 1 "$(p help commands --format markdown | grep -c '^| ---')"
is "one table, of settings" 1 "$(p help settings --format markdown | grep -c '^| ---')"
is "a table of one group" "penalty_alpha" "$(p help search --format csv | tail -n 1 | cut -d, -f1)"
has "man and bash are help's" "bench: --format is text, markdown, csv or json" "$(p bench limits --format man)"
has "  and of everything" "leave out train" "$(p help train --format bash)"
formats=$(p help formats)
is "help formats fits on a screen" 1 "$(($(wc -l <<<"$formats") < 24))"
is "  of 80 columns" "" "$(grep -E '.{80}' <<<"$formats")"
has "  which help eval names" "prattle help formats" "$(p help eval)"
for name in $(p help eval | sed -n 's/^  \([a-z]*\) .*\(FILE\).*/\1/p' | sort -u | grep -v prattle); do
    has "  and has $name" "$name " "$(grep '^[a-z]' <<<"$formats")"
done
has "  and fields" "    endings " "$formats"
is "  in a table by evaluation" 'text,text,the document; or prompt and completion' "$(p help formats --format csv | grep '^text,text,')"
is "no help line is empty" "" "$(p help settings --format csv | grep ',$')"

# The man page: sections, an entry for each command and option, and nothing that troff would take
# for a request of its own.
page=$(p help --format man)
is "the page's sections" "NAME SYNOPSIS DESCRIPTION COMMANDS OPTIONS FILES ENVIRONMENT EXIT STATUS EXAMPLES SEE ALSO" \
    "$(sed -n 's/^\.SH //p' <<<"$page" | xargs)"
is "it begins with a title" ".TH PRATTLE 1" "$(head -n 1 <<<"$page" | cut -c 1-13)"
is "requests that there are" "" "$(grep -E "^[.']" <<<"$page" | grep -vE '^\.(TH|ad|nh|SH|SS|TP|PP|B|I|BR|BI|IR|RI|RS|RE|br|nf|fi)( |$)')"
is "a dash is a minus" "" "$(sed 's/\\-//g; /^\.TH/d' <<<"$page" | grep -e -)"
is "a backslash is an escape" "" "$(grep -oE '\\.' <<<"$page" | sort -u | grep -vE '\\[-&:efF(]')"
is "fonts are left again" "" "$(sed 's/\\fR/\n/g' <<<"$page" | grep -E '\\f[BI].*\\f[BI]')"
is "indents are left again" "$(grep -c '^\.RS' <<<"$page")" "$(grep -c '^\.RE' <<<"$page")"
is "each .TP has its tag" "" "$(grep -A1 '^\.TP$' <<<"$page" | grep -E '^\.(TP|SS|SH|PP)' | grep -v '^\.TP$')"
plain=$(sed 's/\\f[BIR]//g; s/\\-/-/g; s/\\[&:]//g' <<<"$page")
absent=$(p help settings --format csv | tail -n +2 | cut -d, -f1,2 | tr , ' ' | while read -r name letter; do
    name=${name#--}
    grep -A1 -x '\.TP' <<<"$plain" | grep -qE -- "^${letter:+$letter, }--${name//_/-}( |$)" || echo "$name"
done)
is "an entry for each option" "" "$absent"
has "  with what it takes" $'\n--max-new-tokens N\n' "$(sed 's/^-n, //' <<<"$plain")"
has "  of a choice the words" $'\n--dtype auto|fp16|fp32|q8|bf16\n' "$plain"
has "  also of a command's" $'\n--output text|ids\n' "$plain"
absent=$(p help commands --format csv | tail -n +2 | tr -d '"' | while IFS=', ' read -r name _; do
    grep -A1 -x '\.TP' <<<"$plain" | grep -qE "^$name( |$)" || echo "$name"
done)
is "an entry for each command" "" "$absent"
if command -v groff >/dev/null; then
    is "lines as wide as the page, without a complaint" "" "$(groff -man -Tutf8 -w all -rLL=80n <<<"$page" 2>&1 >/dev/null)"
else
    echo "# left out: the page as groff sets it (no groff)"
fi
for word in XDG_CONFIG_HOME XDG_STATE_HOME XDG_DATA_HOME XDG_CACHE_HOME NO_COLOR HF_HOME HF_TOKEN HF_ENDPOINT HF_HUB_OFFLINE PRATTLE_KERNELS; do
    has "the environment has $word" "$word" "$(sed -n '/^\.SH ENVIRONMENT/,/^\.SH EXIT/p' <<<"$page")"
done

# Completion: bash breaks a line at = and :, as it does before it calls a function.
p help --format bash >"$TMPDIR/prattle.bash"
is "the completion is a script" "" "$(bash -n "$TMPDIR/prattle.bash" 2>&1)"
mkdir -p "$TMPDIR/files/folder" && touch "$TMPDIR/files/"{"my text.txt",model.gguf,12:30.txt}
# offers WORD...: what is offered for the last word, sorted, with a space between.
offers() {
    (
        cd "$TMPDIR/files" && . "$TMPDIR/prattle.bash"
        COMP_WORDS=(prattle)
        for word; do
            while [[ $word == *[=:]* ]]; do
                before=${word%%[=:]*} sign=${word:${#before}:1}
                [ -n "$before" ] && COMP_WORDS+=("$before")
                COMP_WORDS+=("$sign") word=${word#*"$sign"}
                [ -n "$word" ] || continue 2
            done
            COMP_WORDS+=("$word")
        done
        # The cursor behind a sign stands in a word that begins there.
        [[ ${COMP_WORDS[-1]} == [=:] ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
        _prattle
        printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' '
    )
}
is "the first word: commands" "train" "$(offers tr)"
is "  and models" "model model.gguf" "$(offers mod)"
is "  not those of the prompt" "" "$(offers reg)"
is "an option" "--temperature" "$(offers --tempe)"
is "  behind a model" "--top-k --top-logprobs --top-n-sigma --top-p --topk-uniform" "$(offers ./gpt2 --top)"
is "a command's own option" "--plan" "$(offers train finetune --pl)"
is "  of no other" "" "$(offers eval text --pl)"
is "an option's values" "auto bf16 fp16 fp32 q8" "$(offers --dtype "")"
is "  begun" "fp16 fp32" "$(offers eval text --dtype fp)"
is "  behind =" "fp16 fp32" "$(offers eval text --dtype=fp)"
is "  which are none of the command's" "" "$(offers --seed "")"
is "  what turns it off" "--no-repeat-ngram-size --no-wrap" "$(offers --no-repeat-n) $(offers --no-wr)"
is "  the model that ships" "bundled" "$(offers -m bun)"
is "  random ones" "random:" "$(offers train lora init=ran)"
is "an option's file" "model.gguf" "$(offers eval text --model mod)"
is "a switch has no value of its own" "eval" "$(offers --greedy eva)"
is "an option's value is not the command" "logits" "$(offers -m eval log)"
mkdir -p "$HF_HOME"/hub/{models--org--tiny,models--distilgpt2,datasets--org--tiny}/{refs,snapshots/607a30d783dfa663caf39e06633721c8d4cfcd7e}
PATH=$(dirname "$PRATTLE"):$PATH
is "downloaded models: the first word" "org/tiny" "$(offers or)"
is "  behind --model" "distilgpt2" "$(offers eval text --model dist)"
is "  of hub" "distilgpt2 org/tiny" "$(offers hub remove "")"
is "  behind another option, none" "" "$(offers --dtype org)"
rm -r "$HF_HOME/hub"
is "random models" "gpt2-xl" "$(offers random:gpt2-x)"
is "  from their beginning" "gpt2 gpt2-large gpt2-medium gpt2-xl" "$(offers random:)"
is "a file with a colon, from behind that on" "30.txt 30.txt" "$(offers eval text 12:) $(offers train lora data=12:3)"
has "train: presets" "nanogpt-shakespeare" "$(offers train "")"
has "  words" "resume" "$(offers train "")"
has "  files" "my text.txt" "$(offers train "")"
is "settings of a run" "sample_every= sample_prompt= sample_tokens=" "$(offers train finetune sam)"
is "  and what they may be" "adam adamw" "$(offers train finetune optimizer=ada)"
is "  files" "my text.txt" "$(offers train finetune data=my)"
is "  not behind status" "" "$(offers train status learn)"
is "evaluations" "lambada" "$(offers eval lam)"
is "a file behind one" "my text.txt" "$(offers eval text my)"
is "what eval history takes" "clear" "$(offers eval history cl)"
is "  and bench history" "clear" "$(offers bench history "")"
is "specifications" "languini.yaml" "$(offers bench lang)"
is "axes of a picture" "hours machine_hours tokens" "$(offers plot over= | tr ' ' '\n' | grep -v epoch | xargs)"
is "  begun" "machine_hours" "$(offers plot loss over=ma)"
is "  no other word's" "" "$(offers plot loss over=lo)"
is "help: topics and names" "presence_penalty presets" "$(offers help pres)"
is "files of a command" "folder" "$(offers convert model.gguf fol)"
is "each command in the script" "" "$(p help commands --format csv | tail -n +2 | grep -v ',prompt,' | tr -d '":' |
    sed 's/[, ].*//' | while read -r name; do [ "$(offers "$name" | grep -cw "$name")" = 1 ] || echo "$name"; done)"
is "each option in it" "" "$(p help settings --format csv | tail -n +2 | cut -d, -f1 | sed 's/^--//' | while read -r name; do
    grep -qe "--${name//_/-}" "$TMPDIR/prattle.bash" || echo "$name"
done)"

rm -rf "$TMPDIR/root"
make install DESTDIR="$TMPDIR/root" PREFIX=/usr >/dev/null 2>"$TMPDIR/install.log"
is "make install" "0 " "$? $(cat "$TMPDIR/install.log")"
parts=$(cd "$(dirname "$PRATTLE")" && ls prattle-*.so 2>/dev/null | sed 's|^|lib/prattle/|' | LC_ALL=C sort | xargs)
is "into DESTDIR alone" "bin/prattle ${parts:+$parts }share/bash-completion/completions/prattle share/man/man1/prattle.1 share/prattle/bundled.gguf" \
    "$(cd "$TMPDIR/root/usr" && find . -type f | sed 's|^\./||' | LC_ALL=C sort | xargs)"
is "the installed page" "$page" "$(cat "$TMPDIR/root/usr/share/man/man1/prattle.1")"
is "the installed completion" "" "$(diff "$TMPDIR/prattle.bash" "$TMPDIR/root/usr/share/bash-completion/completions/prattle")"
touch "$TMPDIR/root/usr/bin/other"
make install DESTDIR="$TMPDIR/a root" PREFIX=/usr >/dev/null 2>"$TMPDIR/install.log"
is "a folder with a blank" "0  other" "$? $(cat "$TMPDIR/install.log") $(diff -rq "$TMPDIR/root" "$TMPDIR/a root" | sed 's/.*: //')"
make uninstall DESTDIR="$TMPDIR/root" PREFIX=/usr >/dev/null 2>"$TMPDIR/install.log"
is "make uninstall" "0  ./bin/other" "$? $(cat "$TMPDIR/install.log") $(cd "$TMPDIR/root/usr" && find . -type f)"
is "  and its folders" "./bin ./lib ./share" "$(cd "$TMPDIR/root/usr" && find . -mindepth 1 -maxdepth 1 -type d | sort | xargs)"
finish
