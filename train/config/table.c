#include "train/config/table.h"

#include "model/base/err.h"
#include "model/base/yaml_pairs.h"

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
static const double HUGE_COUNT = 9007199254740992.0; /* 2^53: exact in a double */

/* clang-format off */
static const struct setting table[] = {
{.group = "model", .name = "init", .also = "init_from|checkpoint_input_dir", .type = SETTING_PATH, .offset = M(init), .argument = "PATH",
 .help = "what to train: a model's path, random:NAME, or random with the sizes below; empty: the model in memory"},
{.group = "model", .name = "tokenizer", .type = SETTING_PATH, .offset = M(tokenizer), .argument = "PATH",
 .help = "for a random model: the folder or GGUF file its vocabulary comes from; vocab_size then follows"},
{.group = "model", .name = "n_layer", .type = SETTING_INT, .offset = M(n_layer), .max = 4096, .argument = "N",
 .help = "layers of a random model; 0, here and below: as init says"},
{.group = "model", .name = "n_head", .type = SETTING_INT, .offset = M(n_head), .max = 1 << 17, .argument = "N",
 .help = "its attention heads; they divide n_embd"},
{.group = "model", .name = "n_embd", .type = SETTING_INT, .offset = M(n_embd), .max = 1 << 17, .argument = "N",
 .help = "its width"},
{.group = "model", .name = "n_positions", .type = SETTING_INT, .offset = M(n_positions), .max = 1 << 24, .argument = "N",
 .help = "its context"},
{.group = "model", .name = "vocab_size", .type = SETTING_INT, .offset = M(vocab_size), .max = 1 << 24, .argument = "N",
 .help = "its vocabulary"},
{.group = "model", .name = "n_inner", .type = SETTING_INT, .offset = M(n_inner), .max = 1 << 20, .argument = "N",
 .help = "its feed-forward width; 4 n_embd unless init says otherwise"},
{.group = "model", .name = "tie_word_embeddings", .type = SETTING_CHOICE, .offset = M(tie_word_embeddings),
 .choices = CHOICES("auto", "on|yes|true|1", "off|no|false|0"), .help = "its head is the embedding; auto: as init says"},

{.group = "data", .name = "data", .also = "dataset|input_files", .type = SETTING_STRING, .paths = true, .offset = D(data), .argument = "PATH,...",
 .help = "text files, folders and patterns (*.txt), also compressed or in archives (gz, bz2, xz, zst, zip, tar), Megatron .bin/.idx, nanoGPT's or llm.c's .bin; generated: random tokens. PATH:WEIGHT,PATH:WEIGHT draws windows from each in these shares, PATH:WEIGHT:FROM..UNTIL in these steps alone, up to 1 a part of the run"},
{.group = "data", .name = "validation", .type = SETTING_STRING, .paths = true, .offset = D(validation), .argument = "PATH,...",
 .help = "to measure on; empty: a part of the documents is held out"},
{.group = "data", .name = "validation_fraction", .type = SETTING_FLOAT, .offset = D(validation_fraction), .max = 0.9, .argument = "X",
 .help = "how much of them, when validation is empty; 0 none"},
{.group = "data", .name = "document_separator", .type = SETTING_STRING, .offset = D(document_separator), .argument = "TEXT",
 .help = "what ends a document in a text file; file: each file is one"},
{.group = "data", .name = "stride", .type = SETTING_INT, .offset = D(stride), .max = MANY, .argument = "N",
 .help = "tokens from the start of one window to that of the next; 0: sequence_length"},
{.group = "data", .name = "shuffle", .type = SETTING_BOOL, .offset = D(shuffle),
 .help = "windows in an order of their own each epoch; off: as they stand"},
{.group = "data", .name = "shuffle_seed", .type = SETTING_UINT64, .offset = D(seed), .argument = "N",
 .help = "of that order, and of generated tokens; 0: as training.seed"},
{.group = "data", .name = "generated_tokens", .type = SETTING_INT64, .offset = D(generated_tokens), .min = 1, .max = HUGE_COUNT, .argument = "N",
 .help = "how many of data=generated make an epoch"},

{.group = "training", .name = "steps", .also = "max_steps|num_steps|max_iters|max_update|training_steps", .type = SETTING_INT64, .offset = T(steps), .max = MANY, .argument = "N",
 .help = "optimizer steps of the run; the first of steps, epochs, budget_hours reached ends it; all 0: one epoch"},
{.group = "training", .name = "epochs", .also = "num_epochs", .type = SETTING_DOUBLE, .offset = T(epochs), .max = 1e6, .argument = "X",
 .help = "times through the data, where it has weights as many windows as all sources have together; 0 no limit"},
{.group = "training", .name = "budget_hours", .type = SETTING_DOUBLE, .offset = T(budget_hours), .max = 1e6, .argument = "X",
 .help = "hours, by the clock or by tokens_per_second, 0 no limit"},
{.group = "training", .name = "sequence_length", .also = "seq_len|max_seq_len|tokens_per_sample", .type = SETTING_INT, .offset = T(sequence_length), .max = 1 << 24, .argument = "N",
 .help = "tokens of a window; 0: the model's context"},
{.group = "training", .name = "micro_batch_size", .also = "batch_size", .type = SETTING_INT, .offset = T(micro_batch_size), .min = 1, .max = 65536, .argument = "N",
 .help = "windows in memory at once"},
{.group = "training", .name = "global_batch_size", .type = SETTING_INT, .offset = T(global_batch_size), .max = 1 << 24, .argument = "N",
 .help = "windows of a step, from which accumulation follows; 0: micro_batch_size x gradient_accumulation"},
{.group = "training", .name = "gradient_accumulation", .also = "gradient_accumulation_steps|update_freq|grad_accum", .type = SETTING_INT, .offset = T(gradient_accumulation), .max = 1 << 24, .argument = "N",
 .help = "micro-batches of a step; 0: as global_batch_size says, else 1"},
{.group = "training", .name = "seed", .type = SETTING_UINT64, .offset = T(seed), .argument = "N",
 .help = "of initialisation, order and dropout: the same seed gives the same weights, bit for bit"},
{.group = "training", .name = "dropout", .type = SETTING_FLOAT, .offset = T(dropout), .min = -1, .max = 0.99, .argument = "X",
 .help = "dropout on embedding, attention and what is added to the residual stream; -1: as the model's config.json says"},
{.group = "training", .name = "embd_pdrop", .type = SETTING_FLOAT, .offset = T(embd_pdrop), .min = -1, .max = 0.99, .argument = "X",
 .help = "on the embedding alone; -1, here and below: as dropout"},
{.group = "training", .name = "attn_pdrop", .type = SETTING_FLOAT, .offset = T(attn_pdrop), .min = -1, .max = 0.99, .argument = "X",
 .help = "on attention alone"},
{.group = "training", .name = "resid_pdrop", .type = SETTING_FLOAT, .offset = T(resid_pdrop), .min = -1, .max = 0.99, .argument = "X",
 .help = "on the residual stream alone"},
{.group = "training", .name = "precision", .type = SETTING_CHOICE, .offset = T(precision), .choices = CHOICES("float32|fp32", "float16|fp16|half"),
 .help = "of weights, gradients and activations as they are kept; sums are fp32. float32: 16 bytes a parameter with both moments, float16: 10"},
{.group = "training", .name = "loss_scaling", .type = SETTING_DOUBLE, .offset = T(loss_scaling), .max = 1e7, .argument = "X",
 .help = "what the mean loss is multiplied by, so that small gradients have a place in float16; 0: 65536 there at first, or 1024 throughout, and 1 in float32"},
{.group = "training", .name = "auto_loss_scaling", .type = SETTING_CHOICE, .offset = T(auto_loss_scaling), .choices = CHOICES("auto", "on|yes|true|1", "off|no|false|0"),
 .help = "halve it where a gradient overflows, and leave that step out; auto: on in float16"},
{.group = "training", .name = "loss_scaling_growth", .type = SETTING_INT, .offset = T(loss_scaling_growth), .min = 1, .max = MANY, .argument = "N",
 .help = "steps without an overflow after which automatic scaling doubles it"},
{.group = "training", .name = "max_bad_steps", .type = SETTING_INT, .offset = T(max_bad_steps), .min = 1, .max = 1e6, .argument = "N",
 .help = "steps with a loss or gradient that is no number are skipped; so many in a row stop the run"},
{.group = "training", .name = "spike_z", .type = SETTING_FLOAT, .offset = T(spike_z), .max = 1e6, .argument = "X",
 .help = "steps whose loss or gradient norm lies X deviations above the last ones are skipped too, 0 off"},

{.group = "optimizer", .name = "optimizer", .type = SETTING_CHOICE, .offset = O(kind), .choices = CHOICES("adamw", "adam", "lamb"),
 .help = "adamw: decay apart from the gradient; adam: decay within it; lamb: a trust ratio for each tensor"},
{.group = "optimizer", .name = "beta1", .type = SETTING_FLOAT, .offset = O(beta1), .max = 0.9999999, .argument = "X",
 .help = "memory of the first moment"},
{.group = "optimizer", .name = "beta2", .type = SETTING_FLOAT, .offset = O(beta2), .max = 0.9999999, .argument = "X",
 .help = "memory of the second"},
{.group = "optimizer", .name = "eps", .type = SETTING_FLOAT, .offset = O(eps), .min = 1e-30, .max = 1, .argument = "X",
 .help = "added to the root of the second moment"},
{.group = "optimizer", .name = "weight_decay", .type = SETTING_FLOAT, .offset = O(weight_decay), .max = 10, .argument = "X",
 .help = "decay of the weights, 0 off"},
{.group = "optimizer", .name = "decay", .type = SETTING_CHOICE, .offset = O(decay), .choices = CHOICES("matrices", "all"),
 .help = "which weights decay: matrices and embeddings, or biases and LayerNorm too"},
{.group = "optimizer", .name = "bias_correction", .type = SETTING_BOOL, .offset = O(bias_correction),
 .help = "correct the moments for having begun at zero"},
{.group = "optimizer", .name = "grad_clip", .also = "clip_norm|max_grad_norm|clip", .type = SETTING_FLOAT, .offset = O(grad_clip), .max = 1e9, .argument = "X",
 .help = "greatest global norm of the gradient, 0 off"},
{.group = "optimizer", .name = "first_order_momentum", .type = SETTING_CHOICE, .offset = O(first_order_momentum), .choices = CHOICES("auto", "float32|fp32", "float16|fp16|half"),
 .help = "how the first moment is kept; auto: as training.precision. The second is always float32"},
{.group = "optimizer", .name = "stochastic_rounding", .type = SETTING_BOOL, .offset = O(stochastic_rounding),
 .help = "of float16 weights, which have no float32 copy: up or down by chance, so that small steps count; off: to nearest"},

{.group = "schedule", .name = "schedule", .type = SETTING_CHOICE, .offset = S(kind), .choices = CHOICES("constant", "linear", "cosine", "cosine_ramp"),
 .help = "how the learning rate goes on after the warm-up; cosine_ramp, languini's, falls during it too"},
{.group = "schedule", .name = "learning_rate", .also = "lr|max_lr", .type = SETTING_DOUBLE, .offset = S(learning_rate), .max = 1000, .argument = "X",
 .help = "the greatest"},
{.group = "schedule", .name = "min_learning_rate", .also = "min_lr", .type = SETTING_DOUBLE, .offset = S(min_learning_rate), .max = 1000, .argument = "X",
 .help = "where all but constant end"},
{.group = "schedule", .name = "warmup", .also = "warmup_steps|warmup_iters|warmup_updates", .type = SETTING_DOUBLE, .offset = S(warmup), .max = MANY, .argument = "N|X",
 .help = "steps of linear rise; below 1: that fraction of all steps"},
{.group = "schedule", .name = "warmup_init", .type = SETTING_DOUBLE, .offset = S(warmup_init), .max = 1000, .argument = "X",
 .help = "where it begins"},
{.group = "schedule", .name = "decay_start", .type = SETTING_DOUBLE, .offset = S(decay_start), .max = MANY, .argument = "N|X",
 .help = "the step at which linear and cosine begin to fall; below 1: that fraction of all steps; 0: after the warm-up"},
{.group = "schedule", .name = "decay_steps", .also = "lr_decay_steps|lr_decay_iters", .type = SETTING_INT64, .offset = S(decay_steps), .max = MANY, .argument = "N",
 .help = "the step at which the decay ends; 0: the last of the run"},

{.group = "lora", .name = "rank", .type = SETTING_INT, .offset = A(rank), .max = ADAPTER_MAX_RANK, .argument = "N",
 .help = "an adapter of this rank learns and the model's own weights stand still; 0: these learn"},
{.group = "lora", .name = "alpha", .type = SETTING_FLOAT, .offset = A(alpha), .max = 1e6, .argument = "X",
 .help = "its matrices' product is multiplied by alpha / rank"},
{.group = "lora", .name = "lora_dropout", .type = SETTING_FLOAT, .offset = A(dropout), .max = 0.99, .argument = "X",
 .help = "dropout on what it reads"},
{.group = "lora", .name = "target_modules", .type = SETTING_STRING, .offset = A(targets), .argument = "NAME,...",
 .help = "the matrices it stands beside: c_attn, c_proj (both), c_fc, attn.c_proj, mlp.c_proj, all-linear"},
{.group = "lora", .name = "adapter", .type = SETTING_PATH, .offset = M(adapter), .argument = "PATH",
 .help = "begin with the matrices of this adapter, which is of the same rank and targets; empty: with new ones"},
{.group = "lora", .name = "use_rslora", .type = SETTING_BOOL, .offset = A(rslora),
 .help = "multiply by alpha / sqrt(rank) instead"},

{.group = "execution", .name = "devices", .type = SETTING_INT, .offset = E(devices), .min = 1, .max = 65536, .argument = "N",
 .help = "1: this machine, by all its threads; a preset made for more runs on it with the same global batch"},
{.group = "execution", .name = "recompute", .type = SETTING_STRING, .offset = E(recompute), .argument = "none|all|LIST",
 .help = "of which layers to keep the input alone and make the activations again, all or as 0,2,4-11: less memory, up to a third more time, the same bits"},
{.group = "execution", .name = "serialized_seq_len", .type = SETTING_INT, .offset = E(serialized_seq_len), .max = 1 << 24, .argument = "N",
 .help = "positions whose logits exist at once, 0: as fits"},
{.group = "execution", .name = "embedding_serialization_factor", .type = SETTING_INT, .offset = E(embedding_serialization_factor), .min = 1, .max = 65536, .argument = "N",
 .help = "the vocabulary of logits and loss in so many parts; above 1 logits are computed twice"},
{.group = "execution", .name = "attention_serialisation", .also = "attention_serialization", .type = SETTING_INT, .offset = E(attention_serialisation), .max = 65536, .argument = "N",
 .help = "a window's queries go through the backward of attention in so many pieces, 0: as fits the cache; the same bits"},

{.group = "logging", .name = "label", .type = SETTING_STRING, .offset = L(label), .argument = "NAME",
 .help = "of the run, in :train status and each line of its metrics; empty: the name of its preset or file"},
{.group = "logging", .name = "log_every", .also = "log_interval|log_terminal_every", .type = SETTING_INT, .offset = L(log_every), .min = 1, .max = MANY, .argument = "N",
 .help = "steps between two lines"},
{.group = "logging", .name = "eval_every", .also = "eval_interval", .type = SETTING_INT, .offset = L(eval_every), .max = MANY, .argument = "N",
 .help = "steps between two measurements on the validation part, of the weights as they answer prompts (fp16 unless --dtype), 0 never"},
{.group = "logging", .name = "eval_windows", .type = SETTING_INT, .offset = L(eval_windows), .max = MANY, .argument = "N",
 .help = "windows of such a measurement, 0 all"},
{.group = "logging", .name = "eval", .type = SETTING_STRING, .offset = L(eval), .argument = "NAME",
 .help = "measured besides: wikitext, lambada, ptb, text or choice, as :eval does, eval_windows at most"},
{.group = "logging", .name = "eval_file", .type = SETTING_PATH, .offset = L(eval_file), .argument = "FILE",
 .help = "on this file; empty: where :eval looks for it"},
{.group = "logging", .name = "sample_every", .type = SETTING_INT, .offset = L(sample_every), .max = MANY, .argument = "N",
 .help = "steps between two texts of the model as it is, 0 never"},
{.group = "logging", .name = "sample_prompt", .type = SETTING_STRING, .offset = L(sample_prompt), .argument = "TEXT",
 .help = "what they begin with"},
{.group = "logging", .name = "sample_tokens", .type = SETTING_INT, .offset = L(sample_tokens), .min = 1, .max = 1e6, .argument = "N",
 .help = "their length"},
{.group = "logging", .name = "log_grads_every", .type = SETTING_INT, .offset = L(log_grads_every), .max = MANY, .argument = "N",
 .help = "steps between two records of gradient norm and update ratio of each tensor, 0 never"},
{.group = "logging", .name = "log_activations_every", .type = SETTING_INT, .offset = L(log_activations_every), .max = MANY, .argument = "N",
 .help = "steps between two tables of mean, deviation, greatest magnitude and share of zeros of each layer's activations, 0 never"},
{.group = "logging", .name = "tensorboard", .type = SETTING_BOOL, .offset = L(tensorboard),
 .help = "write TensorBoard event files beside metrics.jsonl"},
{.group = "logging", .name = "tokens_per_second", .type = SETTING_DOUBLE, .offset = L(tokens_per_second), .max = 1e12, .argument = "X",
 .help = "of a machine to be compared with: its hours are recorded beside the clock's and count for budget_hours, 0 off"},

{.group = "checkpoint", .name = "folder", .also = "out_dir|output_dir|save_dir", .type = SETTING_PATH, .offset = C(folder), .argument = "DIR",
 .help = "of the run, for checkpoints and logs; empty: runs/LABEL"},
{.group = "checkpoint", .name = "save_every", .also = "save_interval", .type = SETTING_INT, .offset = C(save_every), .max = MANY, .argument = "N",
 .help = "steps between two checkpoints, 0: at the end only"},
{.group = "checkpoint", .name = "keep_last", .type = SETTING_INT, .offset = C(keep_last), .min = 1, .max = 1e6, .argument = "N",
 .help = "newest checkpoints kept"},
{.group = "checkpoint", .name = "keep_best", .type = SETTING_BOOL, .offset = C(keep_best),
 .help = "and the one of the lowest validation loss"},
{.group = "checkpoint", .name = "resume", .type = SETTING_BOOL, .offset = C(resume),
 .help = "go on from the newest checkpoint in the folder, if there is one"},
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
                "%s.%s has the byte %02x, which is no UTF-8: no checkpoint could keep it",
                row->group, row->name, (unsigned char)*text);
    }
    return 0;
}

static int check_value(const struct setting *row, const char *text)
{
    struct mixture m;
    int rc = check_utf8(row, text);
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

const struct setting *run_row_at(int i)
{
    return settings_table_at(&run_table, i);
}

int run_row_find(const struct setting **out, const char *key)
{
    return settings_table_lookup(&run_table, out, key, false);
}

const struct setting *run_row_of(size_t offset)
{
    const struct setting *row = table;
    while (row->offset != offset)
        row++;
    return row;
}
