#!/usr/bin/env bash
# seconds: 600
# Several processes leave what one leaves, to the last bit.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
cd "$TMPDIR" || exit 1
# adapter FOLDER: of the one in there; none is like no other.
adapter() { sha256sum <"$1/step-000008/adapter_model.safetensors" || echo "none in $1"; }

# Each value of each setting; more_layouts.sh has more of them together.
STEPS=6
same_bits "float32: 4 and 3 processes" <<'LAYOUTS'
4 micro_batch_size=1 zero=0
3 micro_batch_size=2 zero=2
LAYOUTS
same_bits "float16: 2 and 3 processes" precision=float16 <<'LAYOUTS'
2 micro_batch_size=4 zero=2
3 micro_batch_size=1 zero=1
LAYOUTS
STEPS=8
one whole micro_batch_size=2 eval_every=4 optimizer=lamb >log
many 3 some micro_batch_size=2 eval_every=4 optimizer=lamb zero=1 >log3 2>err
is "with LAMB and validation too" "$(digest whole)" "$(digest some)"
is "and the same lines, but for speed" "$(sed -E 's/[0-9.]+ (tokens|samples).*left//' log | grep ^step | grep -o '.*lr [^ ]*')" \
    "$(grep ^step log3 | grep -o '.*lr [^ ]*')"
is "no line more than once" "$(grep -c ^step log)" "$(grep -c ^step log3)"
is "nothing on standard error" "" "$(cat err)"
is "nothing steers a terminal" "" "$(grep $'\e' log3)"
many 2 some micro_batch_size=1 gradient_blocks=4 optimizer=lamb zero=2 eval_every=4 >/dev/null 2>err
is "the same with gradients in slices" "$(digest whole)" "$(digest some)"
is "the lines of metrics" "$(grep -oE '"(step|loss|accuracy|tokens)":[0-9.]*' whole/metrics.jsonl)" \
    "$(grep -oE '"(step|loss|accuracy|tokens)":[0-9.]*' some/metrics.jsonl)"
one whole micro_batch_size=2 optimizer=muon precision=float16 >/dev/null
many 3 some micro_batch_size=1 optimizer=muon precision=float16 >/dev/null 2>err
is "with Muon" "$(digest whole)" "$(digest some)"
has "but not by parts of it" "muon's matrices are not divided among replicas: zero=0, or optimizer=adamw" \
    "$(one refused replicas=2 micro_batch_size=1 optimizer=muon zero=1 2>&1)"
one whole micro_batch_size=2 matmul_precision=bfloat16 >/dev/null
many 3 some micro_batch_size=1 matmul_precision=bfloat16 zero=2 >/dev/null 2>err
is "with factors in bfloat16" "$(digest whole)" "$(digest some)"
one whole micro_batch_size=1 log_activations_every=4 >log 2>err
many 3 some micro_batch_size=1 log_activations_every=4 >log3 2>err
figures() { grep activation "$1/metrics.jsonl" | grep -oE '"[^"]*":-?[0-9][-+0-9.e]*' | awk -F '":' '{printf "%s %.6g\n", $1, $2}'; }
is "activations are those of all windows" "52 $(figures whole)" "$(figures some | wc -l) $(figures some)"
one whole micro_batch_size=2 lora.rank=2 >/dev/null 2>err
many 2 some micro_batch_size=1 lora.rank=2 >/dev/null 2>err
is "an adapter" "$(adapter whole)" "$(adapter some)"

# Another number of processes goes on.
rm -rf some
STEPS=2 one some micro_batch_size=2 >/dev/null
ranks 3 train resume some steps=4 zero=1 --threads 1 >/dev/null
ranks 2 train resume some steps=8 zero=2 --threads 1 >/dev/null
# The length is part of the schedule.
one whole micro_batch_size=2 steps=2 >/dev/null
for steps in 4 8; do "$PRATTLE" train resume whole steps=$steps --threads 1 >/dev/null; done
is "resumed by 3 and 2 processes what 1 began" "$(digest whole)" "$(digest some)"

# What is refused.
has "more processes than blocks" \
    "replicas must be at most gradient_blocks (2), not 3: with gradient_blocks=3 global_batch_size=18 the results are the same for 1 to 3 replicas" \
    "$(one refused replicas=3 gradient_blocks=2 2>&1)"
has "  or blocks into which a step does not go" "do not divide into so many blocks: global_batch_size=24, or gradient_blocks=4" \
    "$(one refused replicas=2 micro_batch_size=4 gradient_blocks=3 2>&1)"
has "  or than were started" "replicas is 4, but 2 processes have been started: leave it out" \
    "$(refused 2 replicas=4)"
has "  an adapter's optimizer in parts" "zero is 1, but an adapter's optimizer is not divided: zero=0" \
    "$(one refused replicas=2 zero=1 lora.rank=2 2>&1)"
two() { # WORDS WORDS: of two processes
    rm -rf refused
    OMPI_MCA_odls_base_sigkill_timeout=0 each 2 "[ \$OMPI_COMM_WORLD_RANK = 0 ] && exec '$PRATTLE' $1; exec '$PRATTLE' $2" 2>&1
}
both() { two "$(words refused) $1" "$(words refused) $2"; }
has "other settings, and who has them" \
    "rank 1 on $(hostname): its settings are others: learning_rate: 0.002, and on rank 0 learning_rate: 0.001" \
    "$(both learning_rate=1e-3 learning_rate=2e-3)"
has "a setting that there is not, by one of them" "rank 1 on $(hostname): there is no setting bogus" "$(both seed=1 bogus=1)"
is "  or by the first" "there is no setting bogus; \`prattle help training\` lists them" "$(both bogus=1 seed=1 | head -n 1)"
has "  an option" "rank 1 on $(hostname): there is no setting bogus" "$(both seed=1 --bogus)"
is "another command" "rank 1 on $(hostname): it has another command: eval text, and rank 0 train finetune" \
    "$(two "$(words refused)" "eval text '$TEXT' --model $MODEL" | head -n 1)"
has "hosts that mpirun knows nothing of" "hosts is set, but mpirun has started the processes" \
    "$(refused 2 hosts=nowhere)"
sed 's/fox/dog/' "$TEXT" >other.txt
cp other.txt same.txt
has "a file that one of them lacks" "rank 1 on $(hostname): " "$(both data=same.txt data=nowhere.txt)"
has "other weights" "rank 1 on $(hostname): not the same weights as on rank 0" "$(both --seed=3 --seed=4)"
is "no checkpoint of those" "" "$(ls -d refused/step* 2>/dev/null)"
plan=$(ranks 2 train nanogpt-shakespeare data=generated --plan --threads 1 gradient_blocks=2 global_batch_size=64 ranks=2 \
    link=auto jitter=auto gflops=1 stream=1 2>&1 | grep 'GB/s, .* us; disk')
has "the link between two of them, measured" "link: " "$plan"
has "  and their jitter, at once" "; jitter: 0." "$plan"
has "  by two, whatever is refused" "ranks must be 1 to 65536, not x" \
    "$(OMPI_MCA_odls_base_sigkill_timeout=0 ranks 2 train finetune --plan ranks=x link=auto 2>&1)"
is "a command that is not done together is done once" "prattle 0.1" "$(ranks 2 --version)"
finish
