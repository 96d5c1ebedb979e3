#include "train/config/table.h"

#include "model/base/err.h"
#include "model/base/yaml_pairs.h"
#include "train/data/pairs.h"

#include <stddef.h>
#include <string.h>
#include <utf8proc.h>

#define M(field) offsetof(struct run_config, model.field)
#define D(field) offsetof(struct run_config, data.field)
#define T(field) offsetof(struct run_config, training.field)
#define O(field) offsetof(struct run_config, optimizer.field)
#define S(field) offsetof(struct run_config, schedule.field)
#define A(field) offsetof(struct run_config, lora.field)
#define E(field) offsetof(struct run_config, execution.field)
#define L(field) offsetof(struct run_config, logging.field)
#define C(field) offsetof(struct run_config, checkpoint.field)

#define CHOICES(...) ((const char *const[]){__VA_ARGS__, NULL})

static const double MANY = 1e9;

/* clang-format off */
static const struct setting table[] = {
{.group = "model", .name = "init", .also = "init_from|checkpoint_input_dir|model_name_or_path", .type = SETTING_PATH, .offset = M(init), .argument = "PATH",
 .help = "model to train; empty: the model in memory",
 .more = "A path, random:NAME, or random with the sizes n_layer to n_inner"},
{.group = "model", .name = "tokenizer", .type = SETTING_PATH, .offset = M(tokenizer), .argument = "PATH",
 .help = "random model: folder, GGUF or .model with a vocabulary",
 .more = "Or nanoGPT's meta.pkl; empty: the meta.pkl beside its token files. vocab_size then follows from the vocabulary"},
{.group = "model", .name = "n_layer", .also = "n_layers|num_layers|num_hidden_layers", .type = SETTING_INT, .offset = M(n_layer), .max = 4096, .argument = "N",
 .help = "random model: layers; 0: as in init"},
{.group = "model", .name = "n_head", .also = "n_heads|num_attention_heads", .type = SETTING_INT, .offset = M(n_head), .max = 1 << 17, .argument = "N",
 .help = "random model: attention heads; 0: as in init",
 .more = "A divisor of n_embd, unless head_dim is given"},
{.group = "model", .name = "head_dim", .type = SETTING_INT, .offset = M(head_dim), .max = 1 << 17, .argument = "N",
 .help = "random model: size of a head; 0: as in init",
 .more = "n_embd / n_head where init does not give it. n_head x head_dim may differ from n_embd, as in Languini's mini and XL"},
{.group = "model", .name = "n_embd", .also = "hidden_size|h_dim", .type = SETTING_INT, .offset = M(n_embd), .max = 1 << 17, .argument = "N",
 .help = "random model: embedding size; 0: as in init"},
{.group = "model", .name = "n_positions", .also = "n_ctx|max_position_embeddings", .type = SETTING_INT, .offset = M(n_positions), .max = 1 << 24, .argument = "N",
 .help = "random model: context length; 0: as in init"},
{.group = "model", .name = "vocab_size", .type = SETTING_INT, .offset = M(vocab_size), .max = 1 << 24, .argument = "N",
 .help = "random model: vocabulary size; 0: as in init"},
{.group = "model", .name = "n_inner", .also = "mlp_dim|ffn_hidden_size", .type = SETTING_INT, .offset = M(n_inner), .max = 1 << 20, .argument = "N",
 .help = "random model: feed-forward size; 0: as in init",
 .more = "4 n_embd where init does not give it"},
{.group = "model", .name = "tie_word_embeddings", .also = "share_decoder_input_output_embed", .type = SETTING_CHOICE, .offset = M(tie_word_embeddings),
 .choices = CHOICES("auto", "on|yes|true|1", "off|no|false|0"), .help = "random model: tie the output head to the embedding",
 .more = "auto: as in init"},

{.group = "data", .name = "data", .holds_from = RUN_HOLDS_FROM_RESUME, .also = "dataset|input_files|train_file", .type = SETTING_STRING, .paths = true, .offset = D(data), .argument = "PATH,...",
 .help = "training data: texts, folders, archives, token files",
 .more = "Patterns (*.txt) too; texts also compressed or in archives (gz, bz2, xz, zst, zip, tar); Megatron-LM .bin/.idx; .bin of nanoGPT or llm.c; generated: random tokens. PATH:WEIGHT,PATH:WEIGHT mixes sources in these shares; PATH:WEIGHT:FROM..UNTIL only in these steps (up to 1: fractions of the run)"},
{.group = "data", .name = "validation", .holds_from = RUN_HOLDS_FROM_RESUME, .also = "validation_file", .type = SETTING_STRING, .paths = true, .offset = D(validation), .argument = "PATH,...",
 .help = "validation data; empty: hold out documents"},
{.group = "data", .name = "validation_fraction", .type = SETTING_DOUBLE, .offset = D(validation_fraction), .max = 0.9, .argument = "X",
 .help = "fraction of documents held out; 0: none",
 .more = "Only where validation is empty. Of so few documents that it is none of them, that fraction of the tokens, the last ones"},
{.group = "data", .name = "document_separator", .type = SETTING_STRING, .offset = D(document_separator), .argument = "TEXT",
 .help = "text between documents; file: a document per file",
 .more = "\\n, \\t, \\r and \\\\ are understood: \\n\\n at empty lines"},
{.group = "data", .name = "field", .also = "data_field|dataset_text_field|text_column|text_field", .type = SETTING_STRING, .offset = D(lines.field), .argument = "NAME",
 .help = "field of JSON lines or column of Parquet: the text",
 .more = "A line without it may be a pair of a prompt and a completion instead"},
{.group = "data", .name = "prompt_template", .also = "data_prompt_template", .type = SETTING_STRING, .offset = D(lines.prompt_template), .argument = "TEXT",
 .help = "what is read of a pair; fields in braces",
 .more = "As \"Q: {question}\\nA:\". \\n, \\t, \\r and \\\\ are understood; braces around what is no name are text. Where a line has a field that this or completion_template names, it is a pair and must have a text in each; other lines are read by field. Where it names one field, the run's checkpoints ask in its form: their prattle.yaml has it as template"},
{.group = "data", .name = "completion_template", .also = "data_completion_template", .type = SETTING_STRING, .offset = D(lines.completion_template), .argument = "TEXT",
 .help = "what is learned of a pair; fields in braces",
 .more = "As \" {answer}\": the space between prompt and completion belongs to the completion. Written as prompt_template; prompt_template= with nothing, and all fields here, learns a text of several fields"},
{.group = "data", .name = "completion_only_loss", .type = SETTING_BOOL, .offset = D(completion_only_loss),
 .help = "of prompts and completions learn the latter alone",
 .more = "Of JSON lines or Parquet rows with the fields prompt and completion, or those of the templates: a line is one document of both, in windows like any other, and the loss counts the completion with its end. off: it counts both"},
{.group = "data", .name = "special", .type = SETTING_BOOL, .offset = D(special),
 .help = "read <|endoftext|> and the like in texts as tokens",
 .more = "All special tokens of the vocabulary, as the markers of a chat. off: as text, but for document_separator"},
{.group = "data", .name = "stride", .type = SETTING_INT, .offset = D(stride), .max = MANY, .argument = "N",
 .help = "tokens between window starts; 0: sequence_length"},
{.group = "data", .name = "shuffle", .type = SETTING_BOOL, .offset = D(shuffle),
 .help = "shuffle the windows each epoch"},
{.group = "data", .name = "shift", .type = SETTING_BOOL, .offset = D(shift),
 .help = "begin the windows elsewhere each epoch",
 .more = "From the second epoch on by a random number of tokens below the stride, which are left out at the beginning: a text that is read several times is cut elsewhere each time"},
{.group = "data", .name = "shuffle_seed", .also = "data_seed", .type = SETTING_UINT64, .offset = D(seed), .argument = "N",
 .help = "seed of shuffling; 0: training.seed",
 .more = "Also of shift and of generated tokens"},
{.group = "data", .name = "generated_tokens", .type = SETTING_INT64, .offset = D(generated_tokens), .min = 1, .max = GENERATED_MOST, .argument = "N",
 .help = "tokens per epoch of data=generated"},

{.group = "training", .name = "steps", .holds_from = RUN_HOLDS_FROM_STEP, .also = "max_steps|num_steps|max_iters|max_update|training_steps|max_train_steps|train_iters", .type = SETTING_INT64, .offset = T(steps), .max = MANY, .argument = "N",
 .help = "optimizer steps; 0: no limit",
 .more = "The run ends at the first of steps, epochs and budget_hours that are given together; one given later, as on the command line, takes the place of all those of a preset or a file. If all are 0, after one epoch"},
{.group = "training", .name = "epochs", .holds_from = RUN_HOLDS_FROM_STEP, .also = "num_epochs|num_train_epochs|max_epoch|max_epochs", .type = SETTING_DOUBLE, .offset = T(epochs), .max = 1e6, .or_auto = true, .argument = "X",
 .help = "passes over the data; 0: no limit; auto: by its size",
 .more = "With weighted sources a pass has as many windows as all sources together"},
{.group = "training", .name = "budget_hours", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_DOUBLE, .offset = T(budget_hours), .max = 1e6, .argument = "X",
 .help = "hours of training; 0: no limit",
 .more = "Measured by the clock, or by logging.tokens_per_second where that is given"},
{.group = "training", .name = "patience", .holds_from = RUN_HOLDS_FROM_STEP, .also = "early_stopping|early_stopping_patience", .type = SETTING_INT, .offset = T(patience), .max = 1e6, .argument = "N",
 .help = "end after N validations without a lower loss; 0: never",
 .more = "In a row, and before the end that steps, epochs or budget_hours say. The end has the last weights; keep_best keeps the best"},
{.group = "training", .name = "sequence_length", .also = "seq_len|max_seq_len|tokens_per_sample|seq_length|max_seq_length|block_size", .type = SETTING_INT, .offset = T(sequence_length), .max = 1 << 24, .argument = "N",
 .help = "tokens per window; 0: the model's context"},
{.group = "training", .name = "micro_batch_size", .holds_from = RUN_HOLDS_FROM_RESUME, .also = "batch_size|per_device_train_batch_size", .type = SETTING_INT, .offset = T(micro_batch_size), .min = 1, .max = 65536, .argument = "N",
 .help = "windows per forward and backward pass"},
{.group = "training", .name = "global_batch_size", .also = "train_batch_size", .type = SETTING_INT, .offset = T(global_batch_size), .max = 1 << 24, .argument = "N",
 .help = "windows per step; 0: from accumulation",
 .more = "gradient_accumulation follows from it; 0: micro_batch_size x gradient_accumulation"},
{.group = "training", .name = "gradient_accumulation", .holds_from = RUN_HOLDS_FROM_RESUME, .also = "gradient_accumulation_steps|update_freq|grad_accum", .type = SETTING_INT, .offset = T(gradient_accumulation), .max = 1 << 24, .argument = "N",
 .help = "micro-batches per step; 0: from global_batch_size",
 .more = "1 where neither is given"},
{.group = "training", .name = "gradient_blocks", .type = SETTING_INT, .offset = T(gradient_blocks), .min = 1, .max = 65536, .argument = "N",
 .help = "blocks of a step's windows with sums of their own",
 .more = "Joined in a fixed tree, so that several processes get the bits of one; each doubling takes memory for one more copy of the gradients. Micro-batches do not cross blocks"},
{.group = "training", .name = "seed", .type = SETTING_UINT64, .offset = T(seed), .argument = "N",
 .help = "seed of initialization, data order and dropout",
 .more = "The same seed gives the same weights, bit for bit. A second short run reads the windows of the first unless its seed is another"},
{.group = "training", .name = "dropout", .also = "dropout_prob", .type = SETTING_FLOAT, .offset = T(dropout), .min = -1, .max = 0.99, .argument = "X",
 .help = "dropout; -1: as in the model's config.json",
 .more = "On embeddings, attention weights and residual branches"},
{.group = "training", .name = "embd_pdrop", .type = SETTING_FLOAT, .offset = T(embd_pdrop), .min = -1, .max = 0.99, .argument = "X",
 .help = "dropout on embeddings; -1: as dropout"},
{.group = "training", .name = "attn_pdrop", .also = "attention_dropout", .type = SETTING_FLOAT, .offset = T(attn_pdrop), .min = -1, .max = 0.99, .argument = "X",
 .help = "dropout on attention weights; -1: as dropout"},
{.group = "training", .name = "resid_pdrop", .type = SETTING_FLOAT, .offset = T(resid_pdrop), .min = -1, .max = 0.99, .argument = "X",
 .help = "dropout on residual branches; -1: as dropout"},
{.group = "training", .name = "precision", .type = SETTING_CHOICE, .offset = T(precision), .choices = CHOICES("float32|fp32", "float16|fp16|half"),
 .help = "precision of weights, gradients and activations",
 .more = "Sums are float32. With both moments float32 takes 16 bytes per parameter, float16 10"},
{.group = "training", .name = "matmul_precision", .also = "float32_matmul_precision", .type = SETTING_CHOICE, .offset = T(matmul_precision), .choices = CHOICES("float32|fp32|highest", "bfloat16|bf16|medium"),
 .help = "what factors of matrix products are rounded to",
 .more = "bfloat16: several times as fast on processors with AMX (Xeon Scalable of 2023 or later), three quarters as fast as float32 with AVX2 or AVX-512, far slower without. Muon's own products are rounded too; sums and adapters stay float32, weights, gradients and attention as precision says. The results are the same, bit for bit, on every x86-64 processor. Needs a sequence_length that is a multiple of 32; not with tensor_parallel"},
{.group = "training", .name = "loss_scaling", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_DOUBLE, .offset = T(loss_scaling), .max = 1e7, .argument = "X",
 .help = "loss scale; 0: by precision",
 .more = "0: 1 in float32; in float16 65536 at first, or a constant 1024 without auto_loss_scaling"},
{.group = "training", .name = "auto_loss_scaling", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_CHOICE, .offset = T(auto_loss_scaling), .choices = CHOICES("auto", "on|yes|true|1", "off|no|false|0"),
 .help = "dynamic loss scaling; auto: on in float16",
 .more = "A step with an overflow is skipped and the scale halved"},
{.group = "training", .name = "loss_scaling_growth", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_INT, .offset = T(loss_scaling_growth), .min = 1, .max = MANY, .argument = "N",
 .help = "steps without overflow before the scale doubles"},
{.group = "training", .name = "max_bad_steps", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_INT, .offset = T(max_bad_steps), .min = 1, .max = 1e6, .argument = "N",
 .help = "stop after N NaN or infinite steps in a row",
 .more = "Steps with a NaN or infinite loss or gradient are skipped"},
{.group = "training", .name = "spike_z", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_FLOAT, .offset = T(spike_z), .max = 1e6, .argument = "X",
 .help = "spike guard: skip steps X std. dev. high; 0: off",
 .more = "Compares loss and gradient norm with those of recent steps"},

{.group = "optimizer", .name = "optimizer", .type = SETTING_CHOICE, .offset = O(kind), .choices = CHOICES("adamw", "adam", "lamb", "muon"),
 .help = "optimizer algorithm: adamw, adam, lamb or muon",
 .more = "adamw: decoupled weight decay; adam: weight decay in the gradient; lamb: a trust ratio per tensor; muon: orthogonalized momentum for the matrices of layers, adamw for the rest, both with adamw's learning_rate and weight_decay"},
{.group = "optimizer", .name = "beta1", .holds_from = RUN_HOLDS_FROM_STEP, .also = "adam_beta1", .type = SETTING_FLOAT, .offset = O(beta1), .max = 0.9999999, .argument = "X",
 .help = "decay rate of the first moment"},
{.group = "optimizer", .name = "beta2", .holds_from = RUN_HOLDS_FROM_STEP, .also = "adam_beta2", .type = SETTING_FLOAT, .offset = O(beta2), .max = 0.9999999, .argument = "X",
 .help = "decay rate of the second moment"},
{.group = "optimizer", .name = "eps", .holds_from = RUN_HOLDS_FROM_STEP, .also = "adam_eps|adam_epsilon", .type = SETTING_FLOAT, .offset = O(eps), .min = 1e-30, .max = 1, .argument = "X",
 .help = "added to the square root of the second moment"},
{.group = "optimizer", .name = "momentum", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_FLOAT, .offset = O(momentum), .max = 0.9999999, .argument = "X",
 .help = "muon: decay rate of the momentum",
 .more = "Nesterov's. Other optimizers do not use it"},
{.group = "optimizer", .name = "weight_decay", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_FLOAT, .offset = O(weight_decay), .max = 10, .argument = "X",
 .help = "weight decay; 0: off"},
{.group = "optimizer", .name = "decay", .holds_from = RUN_HOLDS_FROM_RESUME, .type = SETTING_CHOICE, .offset = O(decay), .choices = CHOICES("matrices", "all"),
 .help = "parameters with weight decay",
 .more = "matrices: matrices and embeddings; all: biases and LayerNorm too"},
{.group = "optimizer", .name = "bias_correction", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_BOOL, .offset = O(bias_correction),
 .help = "Adam's bias correction"},
{.group = "optimizer", .name = "grad_clip", .holds_from = RUN_HOLDS_FROM_STEP, .also = "clip_norm|max_grad_norm|clip|grad_clip_norm|clip_grad|gradient_clipping", .type = SETTING_FLOAT, .offset = O(grad_clip), .max = 1e9, .argument = "X",
 .help = "maximum global gradient norm; 0: off"},
{.group = "optimizer", .name = "first_order_momentum", .type = SETTING_CHOICE, .offset = O(first_order_momentum), .choices = CHOICES("auto", "float32|fp32", "float16|fp16|half"),
 .help = "precision of the first moment",
 .more = "auto: as training.precision. The second moment is always float32"},
{.group = "optimizer", .name = "stochastic_rounding", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_BOOL, .offset = O(stochastic_rounding),
 .help = "float16 weights: stochastic rounding",
 .more = "off: to nearest. There is no float32 copy of the weights, so small updates would be lost"},

{.group = "schedule", .name = "schedule", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_CHOICE, .offset = S(kind), .choices = CHOICES("constant", "linear", "cosine", "cosine_ramp"),
 .help = "learning-rate schedule after warmup",
 .more = "cosine_ramp (Languini): the cosine decay starts with the warmup"},
{.group = "schedule", .name = "learning_rate", .holds_from = RUN_HOLDS_FROM_STEP, .also = "lr|max_lr", .type = SETTING_DOUBLE, .offset = S(learning_rate), .max = 1000, .or_auto = true, .argument = "X",
 .help = "peak learning rate; auto: by the model's size",
 .more = "auto is for fine-tuning by adamw; with a LoRA adapter it is higher"},
{.group = "schedule", .name = "min_learning_rate", .holds_from = RUN_HOLDS_FROM_STEP, .also = "min_lr", .type = SETTING_DOUBLE, .offset = S(min_learning_rate), .max = 1000, .argument = "X",
 .help = "final learning rate",
 .more = "Not used by constant"},
{.group = "schedule", .name = "warmup", .holds_from = RUN_HOLDS_FROM_STEP, .also = "warmup_steps|warmup_iters|warmup_updates|lr_warmup_iters", .type = SETTING_DOUBLE, .offset = S(warmup), .max = MANY, .argument = "N|X",
 .help = "linear warmup steps; below 1: fraction of all"},
{.group = "schedule", .name = "warmup_init", .holds_from = RUN_HOLDS_FROM_STEP, .also = "warmup_init_lr", .type = SETTING_DOUBLE, .offset = S(warmup_init), .max = 1000, .argument = "X",
 .help = "learning rate at the start of warmup"},
{.group = "schedule", .name = "decay_start", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_DOUBLE, .offset = S(decay_start), .max = MANY, .argument = "N|X",
 .help = "step where linear and cosine decay start",
 .more = "Below 1: fraction of all steps; 0: after warmup"},
{.group = "schedule", .name = "decay_steps", .holds_from = RUN_HOLDS_FROM_STEP, .also = "lr_decay_steps|lr_decay_iters", .type = SETTING_INT64, .offset = S(decay_steps), .max = MANY, .argument = "N",
 .help = "step where the decay ends; 0: the last step"},
{.group = "schedule", .name = "cycles", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_INT, .offset = S(cycles), .min = 1, .max = 1000, .argument = "N",
 .help = "times the schedule runs, warmup and decay",
 .more = "Each time over an equal part of the steps, of which fractions and decay_steps then are"},

{.group = "lora", .name = "rank", .also = "r|lora_r|lora_rank", .type = SETTING_INT, .offset = A(rank), .max = ADAPTER_MAX_RANK, .argument = "N",
 .help = "train a LoRA adapter of rank N; 0: train the model",
 .more = "The model is frozen while an adapter is trained"},
{.group = "lora", .name = "alpha", .also = "lora_alpha", .type = SETTING_FLOAT, .offset = A(alpha), .max = 1e6, .argument = "X",
 .help = "LoRA scale: alpha / rank"},
{.group = "lora", .name = "lora_dropout", .type = SETTING_FLOAT, .offset = A(dropout), .max = 0.99, .argument = "X",
 .help = "dropout on the LoRA branch's input"},
{.group = "lora", .name = "target_modules", .type = SETTING_STRING, .offset = A(targets), .argument = "NAME,...",
 .help = "matrices with a LoRA branch, comma-separated",
 .more = "c_attn, c_proj (both), c_fc, attn.c_proj, mlp.c_proj, or all-linear"},
{.group = "lora", .name = "adapter", .type = SETTING_PATH, .offset = M(adapter), .argument = "PATH",
 .help = "adapter to start from; empty: a new one",
 .more = "Of the same rank and target_modules"},
{.group = "lora", .name = "use_rslora", .type = SETTING_BOOL, .offset = A(rslora),
 .help = "rsLoRA scale: alpha / sqrt(rank)"},

{.group = "execution", .name = "replicas", .holds_from = RUN_HOLDS_FROM_RESUME, .also = "devices|data_parallel|replication_factor|distributed_world_size|nproc_per_node", .type = SETTING_INT, .offset = E(replicas), .min = 1, .max = 65536, .argument = "N",
 .help = "replicas of the model, which share each step's windows",
 .more = "At most gradient_blocks, with the same results for any number, bit for bit. Each is a process, or as many as layers_per_device or tensor_parallel says. mpirun starts them, and needs Open MPI; under mpirun or srun: as many as these have started"},
{.group = "execution", .name = "layers_per_device", .holds_from = RUN_HOLDS_FROM_RESUME, .also = "layers_per_ipu", .type = SETTING_STRING, .offset = E(layers_per_device), .argument = "none|LIST",
 .help = "a pipeline: the layers of each process of a replica",
 .more = "A list such as [0, 4, 4, 4], which adds up to n_layer; the first has the embedding and the head too. There are then so many processes for each replica, times tensor_parallel, with the same results, bit for bit. none: each has all layers. Not for an adapter"},
{.group = "execution", .name = "virtual_stages", .holds_from = RUN_HOLDS_FROM_RESUME, .also = "num_virtual_stages_per_pipeline_rank|virtual_pipeline_model_parallel_size", .type = SETTING_INT, .offset = E(virtual_stages), .min = 1, .max = 16, .argument = "N",
 .help = "a pipeline's layers in N chunks on each process",
 .more = "Interleaved stages: a micro-batch goes round N times, each time through 1/N of each process's layers, so the pipeline fills and empties in 1/N of the time; N times as many messages, and more activations. At most as many as the layers of a process that has any. The results are the same, bit for bit"},
{.group = "execution", .name = "tensor_parallel", .holds_from = RUN_HOLDS_FROM_RESUME, .also = "tensor_parallel_degree|tensor_model_parallel_size", .type = SETTING_INT, .offset = E(tensor_parallel), .min = 1, .max = 65536, .argument = "N",
 .help = "processes of a replica that share each layer's heads",
 .more = "And its feed-forward columns and the vocabulary: each has 1/N of weights, gradients, moments and most activations. At most n_head; N need not divide it. With layers_per_device each device of its list is N processes. The results are the same, bit for bit. Not with phased, log_activations_every or an adapter"},
{.group = "execution", .name = "rts_activations", .holds_from = RUN_HOLDS_FROM_RESUME, .also = "distribute_saved_activations", .type = SETTING_BOOL, .offset = E(rts_activations),
 .help = "tensor_parallel: divide inputs of recomputed layers",
 .more = "Which all of its N processes have alike: each keeps 1/N of their rows, and has the others' sent when it computes the layer again. Less memory, more traffic, the same results, bit for bit. Needs tensor_parallel of 2 or more, and recompute"},
{.group = "execution", .name = "zero", .holds_from = RUN_HOLDS_FROM_RESUME, .also = "replicated_tensor_sharding", .type = SETTING_INT, .offset = E(zero), .max = 2, .argument = "N",
 .help = "1: replicas divide the optimizer; 2: gradients too",
 .more = "ZeRO-1: the moments take memory once for all replicas. ZeRO-2: so do summed gradients, and a layer's are sent while the next is computed; of most use where gradient_blocks is gradient_accumulation. 0: each replica has all. The results are the same, bit for bit. In a pipeline or with tensor_parallel the replicas of each part of the model divide what is of that part. Not for an adapter"},
{.group = "execution", .name = "half_partials", .also = "enable_half_partials|grad_reduce_in_bf16", .type = SETTING_BOOL, .offset = E(half_partials),
 .help = "sums of gradient blocks in bfloat16",
 .more = "Replicas then send each other half the bytes of float32 gradients. Each block's sum and each sum of two is rounded, by one process too: other results than without it, and the same for any number of replicas, zero and layout, bit for bit. Weights and activations are sent in full. Needs gradient_blocks of 2 or more; with precision=float16 these sums are 16 bits wide anyway"},
{.group = "execution", .name = "hosts", .holds_from = RUN_HOLDS_FROM_RESUME, .also = "hostfile", .type = SETTING_PATH, .offset = E(hosts), .argument = "FILE",
 .help = "hosts of the replicas, as mpirun's --hostfile",
 .more = "Empty: this host. The processes are spread evenly over them. All have the program and the run's folder under the same paths. train/parallel/HOSTS.md has examples"},
{.group = "execution", .name = "elastic", .holds_from = RUN_HOLDS_FROM_RESUME, .type = SETTING_CHOICE, .offset = E(elastic), .choices = CHOICES("auto", "on|yes|true|1", "off|no|false|0"),
 .help = "continue without a process that is lost",
 .more = "The others begin again at the newest state that is whole, with the same results, bit for bit; those of a replica that is not whole any more regroup as fewer stages or shards. auto: on where hosts names more than one. Of processes that prattle has started"},
{.group = "execution", .name = "matrices", .holds_from = RUN_HOLDS_FROM_RESUME, .type = SETTING_CHOICE, .offset = E(matrices), .choices = CHOICES("auto", "own", "openblas"),
 .help = "matrix products: own kernels, or OpenBLAS's",
 .more = "auto: own where the processor has AVX2 or AVX-512. With own the results are the same, bit for bit, on every machine"},
{.group = "execution", .name = "recompute", .holds_from = RUN_HOLDS_FROM_RESUME, .type = SETTING_STRING, .offset = E(recompute), .argument = "none|all|LIST",
 .help = "layers with recomputed instead of stored activations",
 .more = "none, all, or a list such as 0,2,4-11. Less memory, up to a third more time, the same results, bit for bit"},
{.group = "execution", .name = "serialized_seq_len", .holds_from = RUN_HOLDS_FROM_RESUME, .type = SETTING_INT, .offset = E(serialized_seq_len), .max = 1 << 24, .argument = "N",
 .help = "positions whose logits exist at once; 0: as fits"},
{.group = "execution", .name = "embedding_serialization_factor", .holds_from = RUN_HOLDS_FROM_RESUME, .type = SETTING_INT, .offset = E(embedding_serialization_factor), .min = 1, .max = 65536, .argument = "N",
 .help = "blocks of the vocabulary for logits and loss",
 .more = "Above 1 logits are computed twice"},
{.group = "execution", .name = "attention_serialisation", .holds_from = RUN_HOLDS_FROM_RESUME, .also = "attention_serialization", .type = SETTING_INT, .offset = E(attention_serialisation), .max = 65536, .argument = "N",
 .help = "query blocks in the attention backward; 0: as fits",
 .more = "0: as fits the cache. The results are the same, bit for bit"},
{.group = "execution", .name = "phased", .holds_from = RUN_HOLDS_FROM_RESUME, .type = SETTING_BOOL, .offset = E(phased),
 .help = "train a model larger than memory, a layer at a time",
 .more = "Layers' weights and gradients, layer inputs and moments lie in working files in the run's folder, which go with the run; embeddings stay in memory, and layers are recomputed. By one process. With an adapter: its moments alone. The results are the same, bit for bit. `--phased on` leaves the model in use on disk too"},
{.group = "execution", .name = "memory", .holds_from = RUN_HOLDS_FROM_RESUME, .type = SETTING_FLOAT, .offset = E(memory), .max = 1e6, .argument = "GB",
 .help = "GB of memory with phased=on; 0: the least",
 .more = "What fits of layers' weights, inputs and gradients, and of the moments, stays in memory, and is neither read nor written. The results are the same, bit for bit"},

{.group = "logging", .name = "label", .holds_from = RUN_HOLDS_FROM_RESUME, .also = "run_name|wandb_run_name", .type = SETTING_STRING, .offset = L(label), .argument = "NAME",
 .help = "name of the run; empty: its preset or file",
 .more = "Shown by :train status and in each line of metrics.jsonl"},
{.group = "logging", .name = "log_every", .holds_from = RUN_HOLDS_FROM_STEP, .also = "log_interval|log_terminal_every|logging_steps", .type = SETTING_INT, .offset = L(log_every), .min = 1, .max = MANY, .argument = "N",
 .help = "steps between log lines"},
{.group = "logging", .name = "eval_every", .holds_from = RUN_HOLDS_FROM_STEP, .also = "eval_interval|eval_steps|validate_interval_updates", .type = SETTING_INT, .offset = L(eval_every), .max = MANY, .argument = "N",
 .help = "steps between validations; 0: never",
 .more = "Of the weights as they answer prompts (fp16 unless --dtype)"},
{.group = "logging", .name = "eval_first", .also = "eval_on_start", .type = SETTING_BOOL, .offset = L(eval_first),
 .help = "validate before the first step too",
 .more = "What a later validation is compared with: only a lower loss is the best"},
{.group = "logging", .name = "eval_windows", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_INT, .offset = L(eval_windows), .max = MANY, .argument = "N",
 .help = "windows per validation; 0: all"},
{.group = "logging", .name = "eval", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_STRING, .offset = L(eval), .argument = "NAME",
 .help = "evaluation to run with each validation",
 .more = "wikitext, lambada, ptb, text or choice, as :eval does, with at most eval_windows windows"},
{.group = "logging", .name = "eval_file", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_PATH, .offset = L(eval_file), .argument = "FILE",
 .help = "file of logging.eval; empty: where :eval looks"},
{.group = "logging", .name = "sample_every", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_INT, .offset = L(sample_every), .max = MANY, .argument = "N",
 .help = "steps between sample texts; 0: never"},
{.group = "logging", .name = "sample_prompt", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_STRING, .offset = L(sample_prompt), .argument = "TEXT",
 .help = "prompt of the sample texts",
 .more = "\\n, \\t, \\r and \\\\ are understood"},
{.group = "logging", .name = "sample_tokens", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_INT, .offset = L(sample_tokens), .min = 1, .max = 1e6, .argument = "N",
 .help = "length of a sample text in tokens"},
{.group = "logging", .name = "log_grads_every", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_INT, .offset = L(log_grads_every), .max = MANY, .argument = "N",
 .help = "steps between gradient records; 0: never",
 .more = "Gradient norm and update ratio of each tensor"},
{.group = "logging", .name = "log_activations_every", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_INT, .offset = L(log_activations_every), .max = MANY, .argument = "N",
 .help = "steps between activation statistics; 0: never",
 .more = "Mean, standard deviation, largest magnitude and share of zeros in each layer"},
{.group = "logging", .name = "tensorboard", .holds_from = RUN_HOLDS_FROM_RESUME, .type = SETTING_BOOL, .offset = L(tensorboard),
 .help = "write TensorBoard event files"},
{.group = "logging", .name = "wandb", .holds_from = RUN_HOLDS_FROM_STEP, .also = "wandb_log", .type = SETTING_BOOL, .offset = L(wandb),
 .help = "run `wandb sync FOLDER` at pauses and at the end",
 .more = "The wandb program uploads the TensorBoard files; it must be on PATH"},
{.group = "logging", .name = "tokens_per_second", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_DOUBLE, .offset = L(tokens_per_second), .max = 1e12, .argument = "X",
 .help = "tokens/s of a reference machine; 0: off",
 .more = "The hours it would take are recorded and count for training.budget_hours"},

{.group = "checkpoint", .name = "folder", .holds_from = RUN_HOLDS_FROM_RESUME, .also = "out_dir|output_dir|save_dir", .type = SETTING_PATH, .offset = C(folder), .argument = "DIR",
 .help = "folder of checkpoints and logs",
 .more = "Empty: runs/LABEL"},
{.group = "checkpoint", .name = "save_every", .holds_from = RUN_HOLDS_FROM_STEP, .also = "save_interval|save_steps|log_ckpt_every", .type = SETTING_INT, .offset = C(save_every), .max = MANY, .argument = "N",
 .help = "steps between checkpoints; 0: only at the end"},
{.group = "checkpoint", .name = "keep_last", .holds_from = RUN_HOLDS_FROM_STEP, .also = "save_total_limit|keep_interval_updates", .type = SETTING_INT, .offset = C(keep_last), .min = 1, .max = 1e6, .argument = "N",
 .help = "number of newest checkpoints to keep"},
{.group = "checkpoint", .name = "keep_best", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_BOOL, .offset = C(keep_best),
 .help = "keep the checkpoint of lowest validation loss too"},
{.group = "checkpoint", .name = "min_part_mb", .holds_from = RUN_HOLDS_FROM_RESUME, .type = SETTING_DOUBLE, .offset = C(min_part_mb), .max = 1e9, .argument = "MB",
 .help = "least weights a replica writes, with zero=1 or 2",
 .more = "Replicas that have all weights divide the writing into files of about this size or more, at most one each; a model of less than two of them stays one file. Of pipelines and shards each writes what it has"},
{.group = "checkpoint", .name = "resume", .holds_from = RUN_HOLDS_FROM_STEP, .type = SETTING_BOOL, .offset = C(resume),
 .help = "resume from the folder's newest checkpoint"},
};
/* clang-format on */

enum { N_ROWS = sizeof table / sizeof table[0] };

bool run_init_is_random(const struct model_section *m)
{
    return strcmp(m->init, "random") == 0 || strncmp(m->init, "random:", 7) == 0;
}

/* A model named later brings its own sizes: those of the layers before are no more. */
static int forget_sizes(struct settings_store *s, void *values, int layer,
                        const struct setting *init)
{
    const struct run_config *c = values;
    int rc = 0;
    if (init != RUN_ROW(model.init) || run_init_is_random(&c->model))
        return 0;
    for (const struct setting *row = table; row < table + N_ROWS && rc == 0; row++) {
        if (row == init || strcmp(row->group, init->group) != 0 ||
            settings_store_text(s, layer, row) != NULL)
            continue;
        for (int below = 1; below < layer && rc == 0; below++)
            rc = settings_store_set(s, values, below, row, NULL);
    }
    return rc;
}

/* A checkpoint keeps every setting, as JSON. */
static int check_utf8(const struct setting *row, const char *text)
{
    utf8proc_int32_t c;
    utf8proc_ssize_t n = 0;
    for (; *text != '\0'; text += n) {
        n = utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)strnlen(text, 4),
                             &c);
        if (n < 1)
            return err_set(
                ERR_FORMAT,
                "%s.%s has the byte %02x, which is not UTF-8: no checkpoint could store it",
                row->group, row->name, (unsigned char)*text);
    }
    return 0;
}

static int check_value(const struct setting *row, const char *text)
{
    struct mixture m;
    int rc = check_utf8(row, text);
    if (rc == 0 && row == RUN_ROW(data.lines.field) && *text == '\0')
        return err_set(ERR_RANGE, "field must be the name of a field");
    if (rc == 0 && row == RUN_ROW(data.lines.completion_template))
        return pairs_check(PAIRS_PROMPT, text);
    if (rc == 0 && row == RUN_ROW(data.lines.prompt_template))
        return pairs_check(text, PAIRS_COMPLETION);
    if (rc != 0 || row != RUN_ROW(data.data))
        return rc;
    rc = mixture_parse(&m, text);
    mixture_release(&m);
    return rc == 0 ? 0 : err_wrap("data");
}

/* A source of the data with its weight. */
static const struct yaml_item *list_item(const char *section, const char *name)
{
    static const struct yaml_item source = {
        .keys = mixture_keys, .check = mixture_check_value, .write = mixture_write_entry};
    const struct setting *row = RUN_ROW(data.data);
    const bool is_data = *section == '\0'
                             ? settings_table_find(&run_table, name) == row
                             : strcmp(section, row->group) == 0 && setting_called(row, name);
    return is_data ? &source : NULL;
}

const struct settings_table run_table = {
    .rows = table,
    .n = N_ROWS,
    .bytes = offsetof(struct run_config, store),
    .sections = true,
    .check = check_value,
    .given = forget_sizes,
    .item = list_item,
};
