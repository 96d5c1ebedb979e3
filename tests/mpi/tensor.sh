#!/usr/bin/env bash
# seconds: 900
# Tensor parallelism leaves what one process leaves, to the last bit.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
MODEL=$MODEL,n_head=4,vocab_size=700
cd "$TMPDIR" || exit 1

# Each value of each setting; more_layouts.sh has more of them together.
STEPS=6
same_bits "float32: 2 processes, and two replicas of 2 that prattle starts" <<'LAYOUTS'
2 tensor_parallel=2 micro_batch_size=1 recompute=none
- tensor_parallel=2 replicas=2 micro_batch_size=4 recompute=1 embedding_serialization_factor=3 zero=2
LAYOUTS
same_bits "float16: 3 processes, and two replicas of 2" precision=float16 <<'LAYOUTS'
3 tensor_parallel=3 micro_batch_size=2 recompute=all embedding_serialization_factor=3
4 tensor_parallel=2 micro_batch_size=1 recompute=0 zero=1
LAYOUTS
one_of=$MODEL got= wants=
STEPS=3
for MODEL in "${MODEL%%,*},head_dim=20,n_head=5,n_inner=50" "random:$OLDPWD/tests/cli/data/neo.json"; do
    one whole micro_batch_size=2 >/dev/null
    many 3 some micro_batch_size=2 tensor_parallel=3 </dev/null >log 2>err
    got+="$(digest some) " wants+="$(digest whole) "
done
is "with uneven shares of heads of another size, and GPT-Neo" "$wants" "$got"
STEPS=8 MODEL=$one_of,tie_word_embeddings=off
more="log_every=3 eval_every=4 optimizer=lamb log_grads_every=4 sample_every=4 sample_tokens=4 save_every=3 serialized_seq_len=24"
one whole micro_batch_size=2 $more >log
many 3 some micro_batch_size=2 tensor_parallel=3 $more >log3 2>err
is "with a head of its own, LAMB, validation, samples and checkpoints too" "$(digest whole)" "$(digest some)"
is "and the same lines, but for speed" "$(sed -E 's/[0-9.]+ (tokens|samples).*left//' log | grep ^step | grep -o '.*lr [^ ]*')" \
    "$(grep ^step log3 | grep -o '.*lr [^ ]*')"
figures() { grep -oE '"(step|loss|accuracy|tokens|h\.[0-9][a-z_.]*|wte[a-z.]*|mean|std)":[0-9.e-]*' "$1/metrics.jsonl"; }
is "the lines of metrics, with those of all layers" "$(figures whole)" "$(figures some)"
is "nothing on standard error" "" "$(cat err)"
for zero in 1 2; do
    many 4 some micro_batch_size=1 tensor_parallel=2 zero=$zero $more >log4 2>err
    is "the same by two replicas of two, zero=$zero" "$(digest whole) $(figures whole)" "$(digest some) $(figures some)"
done
# devices: the rows of a table, without bytes.
devices() { grep -E '^  [0-9] ' | tr -s ' ' | sed -E 's/ [0-9.]+ MiB$//'; }
is "a table says who has what" " 0 $(hostname) 0-1 tokens 0-255
 1 $(hostname) 2 tokens 256-511
 2 $(hostname) 3 tokens 512-699" "$(devices <log3)"
is "and the plan too" " 0 0-1 tokens 0-511
 1 2-3 tokens 512-699" "$("$PRATTLE" $(words planned tensor_parallel=2) --plan | devices)"
# planned ZERO: what rank 0 has by the plan, in MiB.
planned() {
    "$PRATTLE" $(words planned replicas=2 tensor_parallel=2 zero=$1) --plan --model "${MODEL%%,*},n_head=4,n_embd=256,n_inner=1024" |
        sed -nE 's/^  0 .* ([0-9.]+) MiB$/\1/p'
}
is "with zero=1 a process has half of its slice, with gradients and moments" 1 \
    "$("$PRATTLE" $(words planned) --plan --model "${MODEL%%,*},n_head=4,n_embd=256,n_inner=1024" |
        awk -v a="$(planned 0)" -v b="$(planned 1)" '/ parameters:/ { want = $1 * 16 / 2 / 2 / 1048576 } END { print (a - b > want - 0.11 && a - b < want + 0.11) }')"

# Another layout goes on.
rm -rf some
STEPS=2 one some micro_batch_size=2 >/dev/null
go_on() { local n=$1 steps=$2; shift 2; ranks "$n" train resume some steps="$steps" --threads 1 "$@" >/dev/null 2>err; }
go_on 3 4 tensor_parallel=3
go_on 4 6 tensor_parallel=2 zero=2
"$PRATTLE" train resume some steps=8 tensor_parallel=1 replicas=1 zero=0 --threads 1 >/dev/null
one whole micro_batch_size=2 steps=2 >/dev/null # the length is part of the schedule
for steps in 4 6 8; do "$PRATTLE" train resume whole steps=$steps --threads 1 >/dev/null; done
is "1, 3, 2 x 2 and 1 go on with what the others began" "$(digest whole)" "$(digest some)"

# What is refused, with what would do.
has "more than there are heads" "tensor_parallel must be at most the model's heads (4), not 5" "$(one refused tensor_parallel=5 2>&1)"
has "  or columns of the feed-forward" "tensor_parallel must be at most the model's n_inner (2), not 3" \
    "$(MODEL=$MODEL,n_inner=2 one refused tensor_parallel=3 2>&1)"
has "  or another number of processes" "tensor_parallel is 3, and 4 processes are not a multiple of that: tensor_parallel=4" \
    "$(refused 4 tensor_parallel=3)"
has "  or of replicas" "replicas is 2, but 2 processes have been started, 2 for each replica: replicas=1" \
    "$(refused 2 tensor_parallel=2 replicas=2)"
has "  or an adapter" "an adapter is trained with the whole model in each process: tensor_parallel=1" \
    "$(one refused tensor_parallel=2 lora.rank=2 2>&1)"
has "  or activations" "no process has all of a layer's activations: log_activations_every=0" \
    "$(one refused tensor_parallel=2 log_activations_every=5 2>&1)"

# Started by prattle, stopped, and killed.
ALONE=tensor_parallel=1 stop_and_kill 2 tensor_parallel=3
finish
