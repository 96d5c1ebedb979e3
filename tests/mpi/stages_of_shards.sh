#!/usr/bin/env bash
# suite: long
# seconds: 900
# Pipelines each of whose stages is several shards leave what one process leaves, to the last bit.
. "$(dirname "$0")/../cli/lib.sh.inc"
. tests/mpi/mpi.sh.inc
MODEL=$MODEL,n_head=4,n_layer=4,vocab_size=700
cd "$TMPDIR" || exit 1

STEPS=10
for precision in float32 float16; do
    one whole micro_batch_size=2 precision=$precision >/dev/null
    want=$(digest whole)
    got= wants=
    # Processes, shards, layers of each stage, chunks, windows of a micro-batch, recomputed layers, their inputs in
    # parts, parts of the vocabulary, ZeRO.
    while read -r n_ranks of layers chunks micro recompute inputs parts zero; do
        many "$n_ranks" some tensor_parallel="$of" layers_per_device="$layers" virtual_stages="$chunks" zero="$zero" \
            micro_batch_size="$micro" precision=$precision recompute="$recompute" rts_activations="$inputs" \
            embedding_serialization_factor="$parts" </dev/null >log 2>err
        got+="$of $layers $chunks $(digest some) " wants+="$of $layers $chunks $want "
    done <<'LAYOUTS'
4 2 [2,2] 1 1 none off 1 0
4 2 [0,4] 1 2 all on 1 1
4 2 [2,2] 2 2 1,3 on 3 0
6 3 [1,3] 1 4 2 off 1 0
8 2 [1,3] 1 1 none off 1 0
8 2 [2,2] 2 1 0 off 1 1
8 2 [0,4] 1 2 all on 1 1
8 2 [0,4] 1 1 none off 1 2
8 2 [2,2] 2 4 1,3 on 3 2
LAYOUTS
    is "$precision: stages of 2 and 3 shards, 1 and 2 chunks, 1 and 2 replicas, zero=0, 1 and 2" "$wants" "$got"
done
one whole micro_batch_size=2 >/dev/null
many 4 some micro_batch_size=1 tensor_parallel=2 layers_per_device=[1,3] recompute=all rts_activations=on >/dev/null 2>err
is "with inputs of layers in parts" "$(digest whole)" "$(digest some)"
half=half_partials=on
one whole micro_batch_size=2 $half >/dev/null
many 4 some micro_batch_size=1 tensor_parallel=2 layers_per_device=[1,3] $half >/dev/null 2>err
is "with sums of 16 bits" "$(digest whole)" "$(digest some)"
one_of=$MODEL
MODEL=${MODEL%%,*},n_layer=4,head_dim=20,n_head=5,n_inner=50,tie_word_embeddings=off
more="eval_every=10 optimizer=lamb log_grads_every=10 sample_every=10 sample_tokens=4 save_every=6 serialized_seq_len=24"
STEPS=20
one whole micro_batch_size=2 $more >log
many 4 some micro_batch_size=2 tensor_parallel=2 layers_per_device=[1,3] $more >log4 2>err
is "with uneven shares, a head of its own, LAMB, validation, samples and checkpoints too" "$(digest whole)" "$(digest some)"
is "and the same lines, but for speed" "$(sed -E 's/[0-9.]+ (tokens|samples).*left//' log | grep ^step | grep -o '.*lr [^ ]*')" \
    "$(grep ^step log4 | grep -o '.*lr [^ ]*')"
figures() { grep -oE '"(step|loss|accuracy|tokens|h\.[0-9][a-z_.]*|wte[a-z.]*|mean|std)":[0-9.e-]*' "$1/metrics.jsonl"; }
is "the lines of metrics, with those of all layers" "$(figures whole)" "$(figures some)"
is "nothing on standard error" "" "$(cat err)"
# devices: the rows of a table, without bytes.
devices() { grep -E '^  [0-9] ' | tr -s ' ' | sed -E 's/ [0-9.]+ MiB$//'; }
is "a table says who has what" " 0 $(hostname) 0 heads 0-2, tokens 0-255
 1 $(hostname) 0 heads 3-4, tokens 256
 2 $(hostname) 1-3 heads 0-2
 3 $(hostname) 1-3 heads 3-4" "$(devices <log4)"
is "a checkpoint is by all processes" \
    "$(echo {model,training}-0000{1,2,3,4}-of-00004.safetensors model.safetensors.index.json)" \
    "$(cd some/step-000020 && echo {model,training}-*.safetensors model.safetensors.index.json)"
is "  and one model to everyone else" "$("$PRATTLE" whole -p fox -n 40 --temperature 0)" \
    "$("$PRATTLE" some -p fox -n 40 --temperature 0)"
MODEL=$one_of

# Another layout goes on.
rm -rf some
STEPS=5 one some micro_batch_size=2 >/dev/null
go_on() { local n=$1 steps=$2; shift 2; ranks "$n" train resume some steps="$steps" --threads 1 "$@" >/dev/null 2>err; }
go_on 4 10 tensor_parallel=2 layers_per_device=[2,2] virtual_stages=2
go_on 4 13 tensor_parallel=2 layers_per_device=[3,1] virtual_stages=1
go_on 3 15 tensor_parallel=3 layers_per_device=none
go_on 2 16 tensor_parallel=1 layers_per_device=[0,4]
go_on 8 17 tensor_parallel=2 layers_per_device=[0,4] zero=2
"$PRATTLE" train resume some steps=20 layers_per_device=none tensor_parallel=1 replicas=1 zero=0 --threads 1 >/dev/null
one whole micro_batch_size=2 steps=5 >/dev/null # the length is part of the schedule
for steps in 10 13 15 16 17 20; do "$PRATTLE" train resume whole steps=$steps --threads 1 >/dev/null; done
is "2 x 2 in chunks, 2 x 2, 3 shards, 2 stages, 2 x 2 and 1 go on with what the others began" "$(digest whole)" "$(digest some)"

# What is refused, with what would do.
refused() { local n=$1; shift; many "$n" refused "$@" 2>&1 </dev/null; }
has "a number of processes" \
    "tensor_parallel is 2 for each of 2 devices of layers_per_device, and 6 processes are not a multiple of 4: tensor_parallel=3" \
    "$(refused 6 tensor_parallel=2 layers_per_device=[2,2])"
has "  or of replicas" "replicas is 2, but 4 processes have been started, 4 for each replica: replicas=1" \
    "$(refused 4 tensor_parallel=2 layers_per_device=[2,2] replicas=2)"

# Started by prattle, stopped, and killed.
one whole micro_batch_size=2 >/dev/null
one some micro_batch_size=2 tensor_parallel=2 layers_per_device=[2,2] >log 2>err
is "both start as many processes as they need" "$(digest whole)" "$(digest some)"
ALONE="tensor_parallel=1 layers_per_device=none" stop_and_kill 3 tensor_parallel=2 layers_per_device=[2,2]
finish
