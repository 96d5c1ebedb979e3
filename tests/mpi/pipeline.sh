#!/usr/bin/env bash
# seconds: 600
# A pipeline of processes leaves what one process leaves, to the last bit.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
MODEL=$MODEL,n_layer=4
cd "$TMPDIR" || exit 1

# Each value of each setting; more_layouts.sh has more of them together.
STEPS=6
same_bits "float32: 2 stages, and two replicas of 2 that prattle starts" <<'LAYOUTS'
2 layers_per_device=[1,3] micro_batch_size=4 recompute=1,2
- layers_per_device=[2,2] replicas=2 micro_batch_size=1 recompute=none zero=2
LAYOUTS
same_bits "float16: 3 stages, and two replicas of 2" precision=float16 <<'LAYOUTS'
3 layers_per_device=[0,2,2] micro_batch_size=2 recompute=all
4 layers_per_device=[2,2] micro_batch_size=4 recompute=none zero=1
LAYOUTS
STEPS=8
more="log_every=3 eval_every=4 optimizer=lamb log_grads_every=4 log_activations_every=4 sample_every=4 sample_tokens=4 save_every=3"
one whole micro_batch_size=2 $more >log
many 2 some micro_batch_size=2 layers_per_device=[2,2] $more >log2 2>err
is "with LAMB, validation, samples and checkpoints too" "$(digest whole)" "$(digest some)"
is "and the same lines, but for speed" "$(sed -E 's/[0-9.]+ (tokens|samples).*left//' log | grep ^step | grep -o '.*lr [^ ]*')" \
    "$(grep ^step log2 | grep -o '.*lr [^ ]*')"
figures() { grep -oE '"(step|loss|accuracy|tokens|h\.[0-9][a-z_.]*|wte[a-z.]*|mean|std)":[0-9.e-]*' "$1/metrics.jsonl"; }
is "the lines of metrics, with those of all layers" "$(figures whole)" "$(figures some)"
is "nothing on standard error" "" "$(cat err)"
muon="optimizer=muon precision=float16 schedule=constant warmup=0"
one muon micro_batch_size=2 $muon >/dev/null
many 4 stages micro_batch_size=1 layers_per_device=[1,3] $muon steps=4 >/dev/null 2>err
"$PRATTLE" train resume stages steps=$STEPS layers_per_device=none replicas=1 >/dev/null 2>err
is "with Muon, and gone on by one process" "$(digest muon)" "$(digest stages)"
rm -rf muon stages
# devices: the rows of a table, without bytes.
devices() { grep -E '^  [0-9] ' | tr -s ' ' | sed -E 's/ [0-9.]+ MiB$//'; }
is "a table says who has what" " 0 $(hostname) 0-1 embedding and head
 1 $(hostname) 2-3" "$(devices <log2)"
is "and the plan too" " 0 none embedding and head
 1 0-1
 2 2-3" "$("$PRATTLE" $(words planned layers_per_device=[0,2,2]) --plan | devices)"

# Another layout goes on.
rm -rf some
STEPS=2 one some micro_batch_size=2 >/dev/null
go_on() { local n=$1 steps=$2; shift 2; ranks "$n" train resume some steps="$steps" --threads 1 "$@" >/dev/null 2>err; }
go_on 4 4 layers_per_device=[1,1,1,1]
go_on 4 6 layers_per_device=[3,1] zero=2
"$PRATTLE" train resume some steps=8 layers_per_device=none replicas=1 --threads 1 >/dev/null
one whole micro_batch_size=2 steps=2 >/dev/null # the length is part of the schedule
for steps in 4 6 8; do "$PRATTLE" train resume whole steps=$steps --threads 1 >/dev/null; done
is "1, 4, 2 and 1 stages go on with what the others began" "$(digest whole)" "$(digest some)"

# What is refused, with what would do.
has "other layers than the model's" "layers_per_device is [2,3], 5 layers, but the model has 4: layers_per_device=2,2" \
    "$(one refused layers_per_device=[2,3] 2>&1)"
has "  or none in the middle" "only the first device, which has the embedding and the head, can be without layers: layers_per_device=1,1,2" \
    "$(one refused layers_per_device=[2,0,2] 2>&1)"
has "  or another number of processes" "layers_per_device has 2 devices, and 3 processes are not a multiple of that: layers_per_device=1,1,2" \
    "$(refused 3 layers_per_device=[2,2])"
has "  or of replicas" "replicas is 2, but 2 processes have been started, 2 for each replica: replicas=1" \
    "$(refused 2 layers_per_device=[2,2] replicas=2)"
has "  or an adapter" "an adapter is trained with the whole model in each process: layers_per_device=none" \
    "$(one refused layers_per_device=[2,2] lora.rank=2 2>&1)"

# Started by prattle, stopped, and killed.
ALONE=layers_per_device=none stop_and_kill 2 layers_per_device=[1,1,2]
# Process 0 never has all that the others have: with one layer of eight it needs much less than the other.
MODEL=${MODEL%%,*},n_layer=8,n_embd=256,n_head=4
peak() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status"; }
set -m
"$PRATTLE" $(STEPS=1000000 words "$TMPDIR/large" micro_batch_size=1 sequence_length=8 global_batch_size=4 save_every=1 log_every=100000 \
    layers_per_device=[1,7]) >log 2>err &
launcher=$!
set +m
until_saved large
find_processes && peaks=($(peak "${ranks[0]}") $(peak "${ranks[1]}"))
{ kill -9 $launcher; wait $launcher; } 2>/dev/null
is "process 0 never has all of it (${peaks[*]} kB)" 1 "$((5 * ${peaks[0]:-9} < 4 * ${peaks[1]:-0}))"
finish
