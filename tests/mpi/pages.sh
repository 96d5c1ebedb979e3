#!/usr/bin/env bash
# seconds: 300
# The commands of the pages about several processes and machines do what the pages say: each is planned as it
# stands there, by as many processes, for a model of 12 layers.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
MODEL=random:gpt2,n_layer=12,n_head=12,n_embd=48,n_positions=64,vocab_size=700
pages=$PWD/train/parallel
cd "$TMPDIR" || exit 1
cp "$TEXT" my.txt
# A line that ends with \ goes on; what the REPL is given begins with >.
commands() { sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' "$1" | sed -nE 's/^    (> :)?([^#]*train finetune [^#]*).*/\2/p'; }
tried=0
for page in PROCESSES HOSTS; do
    while read -r line; do
        words=${line#*train finetune } n=1
        [[ $line =~ -n(p)?\ ([0-9]+) && $line == *mpi* ]] && n=${BASH_REMATCH[2]}
        # The file of machines is the user's, and so is the disk.
        words=$(sed -E 's/ (hosts|folder|resume)=[^ ]*//g' <<<"$words")
        [[ $line == mpiexec* ]] && words=${words/replicas=2/}
        if [ "$n" -gt 1 ]; then ranks "$n" train finetune $words --model $MODEL --plan
        else "$PRATTLE" train finetune $words --model $MODEL --plan; fi </dev/null >log 2>err
        is "$page: $line" "0 1 " "$? $(grep -c '^memory' log) $(grep -v '^\[' err | head -n 3)"
        tried=$((tried + 1))
    done < <(commands "$pages/$page.md")
done
is "there are some" 1 "$((tried >= 12))"
finish
