#!/usr/bin/env bash
# seconds: 600
# Several processes leave what one leaves, to the last bit.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
cd "$TMPDIR" || exit 1
# adapter FOLDER: of the one in there; none is like no other.
adapter() { sha256sum <"$1/step-000020/adapter_model.safetensors" || echo "none in $1"; }

for precision in float32 float16; do
    one whole micro_batch_size=2 precision=$precision >/dev/null
    want=$(digest whole)
    got=
    # Processes, windows of a micro-batch, ZeRO.
    for at in 2,1,0 3,2,0 4,4,0 2,4,1 3,1,1 4,2,1 2,1,2 3,2,2 4,4,2; do
        IFS=, read -r n_ranks micro zero <<<"$at"
        many $n_ranks some micro_batch_size=$micro zero=$zero precision=$precision >log 2>err
        got+="$(digest some) "
    done
    is "$precision: 2, 3 and 4 processes, micro-batches of 1, 2 and 4, zero=0, 1 and 2" \
        "$want $want $want $want $want $want $want $want $want " "$got"
done
one whole micro_batch_size=2 eval_every=10 optimizer=lamb >log
many 3 some micro_batch_size=2 eval_every=10 optimizer=lamb zero=1 >log3 2>err
is "with LAMB and validation too" "$(digest whole)" "$(digest some)"
is "and the same lines, but for speed" "$(sed -E 's/[0-9.]+ (tokens|samples).*left//' log | grep ^step | grep -o '.*lr [^ ]*')" \
    "$(grep ^step log3 | grep -o '.*lr [^ ]*')"
is "no line more than once" "$(grep -c ^step log)" "$(grep -c ^step log3)"
is "nothing on standard error" "" "$(cat err)"
is "nothing steers a terminal" "" "$(grep $'\e' log3)"
many 2 some micro_batch_size=1 gradient_blocks=4 optimizer=lamb zero=2 eval_every=10 >/dev/null 2>err
is "the same with gradients in slices" "$(digest whole)" "$(digest some)"
is "the lines of metrics" "$(grep -oE '"(step|loss|accuracy|tokens)":[0-9.]*' whole/metrics.jsonl)" \
    "$(grep -oE '"(step|loss|accuracy|tokens)":[0-9.]*' some/metrics.jsonl)"
for precision in float32 float16; do
    one whole micro_batch_size=2 optimizer=muon precision=$precision >/dev/null
    many 3 some micro_batch_size=1 optimizer=muon precision=$precision >/dev/null 2>err
    is "with Muon, $precision" "$(digest whole)" "$(digest some)"
done
has "but not by parts of it" "muon's matrices are not divided among replicas: zero=0, or optimizer=adamw" \
    "$(many 2 some micro_batch_size=1 optimizer=muon zero=1 2>&1)"
one whole micro_batch_size=2 matmul_precision=bfloat16 >/dev/null
many 3 some micro_batch_size=1 matmul_precision=bfloat16 zero=2 >/dev/null 2>err
is "with factors in bfloat16" "$(digest whole)" "$(digest some)"
one whole micro_batch_size=1 log_activations_every=10 >log 2>err
many 3 some micro_batch_size=1 log_activations_every=10 >log3 2>err
figures() { grep activation "$1/metrics.jsonl" | grep -oE '"[^"]*":-?[0-9][-+0-9.e]*' | awk -F '":' '{printf "%s %.6g\n", $1, $2}'; }
is "activations are those of all windows" "52 $(figures whole)" "$(figures some | wc -l) $(figures some)"
one whole micro_batch_size=2 lora.rank=2 >/dev/null 2>err
many 2 some micro_batch_size=1 lora.rank=2 >/dev/null 2>err
is "an adapter" "$(adapter whole)" "$(adapter some)"

# Another number of processes goes on.
one whole micro_batch_size=2 >/dev/null
STEPS=7 many 2 some micro_batch_size=2 >/dev/null
ranks 3 train resume some steps=13 zero=1 --threads 1 >/dev/null
"$PRATTLE" train resume some steps=16 replicas=1 --threads 1 >/dev/null
ranks 4 train resume some steps=20 zero=2 --threads 1 >/dev/null
# The length is part of the schedule.
one whole micro_batch_size=2 steps=7 >/dev/null
for steps in 13 16 20; do "$PRATTLE" train resume whole steps=$steps --threads 1 >/dev/null; done
is "resumed by 3, 1 and 4 processes what 2 began" "$(digest whole)" "$(digest some)"

# What is refused.
has "more processes than blocks" \
    "replicas must be at most gradient_blocks (2), not 3: with gradient_blocks=3 global_batch_size=18 the results are the same for 1 to 3 replicas" \
    "$(many 3 refused gradient_blocks=2 2>&1)"
has "  or blocks into which a step does not go" "do not divide into so many blocks: global_batch_size=24, or gradient_blocks=4" \
    "$(many 2 refused micro_batch_size=4 gradient_blocks=3 2>&1)"
has "  or than were started" "replicas is 4, but 2 processes have been started: leave it out" \
    "$(many 2 refused replicas=4 2>&1)"
has "  an adapter's optimizer in parts" "zero is 1, but an adapter's optimizer is not divided: zero=0" \
    "$(many 2 refused zero=1 lora.rank=2 2>&1)"
two() { # WORDS WORDS: of two processes
    rm -rf refused
    each 2 "[ \$OMPI_COMM_WORLD_RANK = 0 ] && exec '$PRATTLE' $1; exec '$PRATTLE' $2" 2>&1
}
both() { two "$(words refused) $1" "$(words refused) $2"; }
has "other settings" "its settings are others: learning_rate: 0.002, and on rank 0 learning_rate: 0.001" \
    "$(both learning_rate=1e-3 learning_rate=2e-3)"
has "  and who has them" "rank 1 on $(hostname): " "$(both learning_rate=1e-3 learning_rate=2e-3)"
has "a setting that there is not, by one of them" "rank 1 on $(hostname): there is no setting bogus" "$(both seed=1 bogus=1)"
is "  or by the first" "there is no setting bogus; \`prattle help training\` lists them" "$(both bogus=1 seed=1 | head -n 1)"
has "  an option" "rank 1 on $(hostname): there is no setting bogus" "$(both seed=1 --bogus)"
is "another command" "rank 1 on $(hostname): it has another command: eval text, and rank 0 train finetune" \
    "$(two "$(words refused)" "eval text '$TEXT' --model $MODEL" | head -n 1)"
has "hosts that mpirun knows nothing of" "hosts is set, but mpirun has started the processes" \
    "$(STEPS=1 many 2 hosts hosts=nowhere 2>&1)"
sed 's/fox/dog/' "$TEXT" >other.txt
cp other.txt same.txt
has "a file that one of them lacks" "rank 1 on $(hostname): " "$(both data=same.txt data=nowhere.txt)"
has "other weights" "rank 1 on $(hostname): not the same weights as on rank 0" "$(both --seed=3 --seed=4)"
is "no checkpoint of those" "" "$(ls -d refused/step* 2>/dev/null)"
has "the link between two of them, measured" "link: " \
    "$(ranks 2 train nanogpt-shakespeare data=generated --plan --threads 1 \
        gradient_blocks=2 global_batch_size=64 ranks=2 link=auto gflops=1 stream=1 2>&1 | grep 'GB/s, .* us; disk')"
has "  and their jitter, at once" "; jitter: 0." \
    "$(ranks 2 train nanogpt-shakespeare data=generated --plan --threads 1 \
        gradient_blocks=2 global_batch_size=64 ranks=2 link=auto jitter=auto gflops=1 stream=1 2>&1 | grep 'GB/s, .* us; disk')"
has "  by two, whatever is refused" "ranks must be 1 to 65536, not x" \
    "$(ranks 3 train finetune --plan ranks=x link=auto 2>&1)"
is "a command that is not done together is done once" "prattle 0.1" "$(ranks 3 --version)"
finish
