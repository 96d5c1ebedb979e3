#ifndef PRATTLE_TRAIN_CONFIG_RUN_CONFIG_H
#define PRATTLE_TRAIN_CONFIG_RUN_CONFIG_H
/*
 * Everything a training run is told, in sections. One table (run_table.c) serves YAML
 * and JSON files, presets, key=value, :train show, ranges and help.
 *
 * Sources are applied one after another, each over the one before: built in, then the
 * presets and files named, then key=value words. Each value knows where it came from.
 */
#include "model/adapter.h"
#include "model/base/setting.h"
#include "train/data/dataset.h"
#include "train/optim/optimizer.h"
#include "train/optim/schedule.h"
#include "train/step/step.h"

struct model_section {
    char *init;      /* "": the model in memory; a path, random:NAME, or random: the sizes below */
    char *tokenizer; /* a folder or file with a vocabulary; "": the one that came with init */
    int n_layer, n_head, n_embd, n_positions, vocab_size, n_inner; /* 0: as init says */
    int tie_word_embeddings; /* 0: as init says, 1 on, 2 off */
    char *adapter;           /* a folder whose matrices a new adapter begins with; "": none */
};
struct training_section {
    int64_t steps; /* the run ends at the first of these three that is not 0, */
    double epochs; /* those from the latest source alone; all 0: after one epoch */
    double budget_hours;
    int sequence_length;       /* T; 0: the model's context */
    int micro_batch_size;      /* sequences of one pass */
    int global_batch_size;     /* sequences of one step: the one of these two that was given */
    int gradient_accumulation; /* later decides, the other follows; 0: not given */
    uint64_t seed;
    float dropout;                             /* -1: as the model's config */
    float embd_pdrop, attn_pdrop, resid_pdrop; /* -1: as dropout */
    int precision; /* enum dtype of weights, gradients and activations: DTYPE_F32, DTYPE_F16 */
    double loss_scaling;     /* of the first step; 0: as the precision needs it */
    int auto_loss_scaling;   /* 0: in float16, 1 on, 2 off */
    int loss_scaling_growth; /* steps without overflow after which it doubles */
    int max_bad_steps;
    float spike_z; /* steps whose loss or norm is so many deviations off are skipped; 0: off */
};
struct execution_section {
    int devices;
    char *recompute;                    /* "none", "all", "layers", or a list as "0,2,4-11" */
    int serialized_seq_len;             /* positions whose logits exist at once; 0: as fits */
    int embedding_serialization_factor; /* the vocabulary in so many parts */
    int attention_serialisation;        /* a window's queries in so many; 0: as fits the cache */
};
struct logging_section {
    char *label; /* of the run; "": the preset's or file's name */
    int log_every, eval_every, eval_windows, sample_every, sample_tokens, log_grads_every,
        log_activations_every;
    char *sample_prompt;
    char *eval, *eval_file; /* the evaluation done besides, and its file; "": none, its own */
    bool tensorboard;
    double
        tokens_per_second; /* of a machine compared with: hours = tokens / this; 0: the clock's */
};
struct checkpoint_section {
    char *folder; /* "": runs/LABEL */
    int save_every, keep_last;
    bool keep_best;
    bool resume; /* go on from the newest in the folder */
};
/* Where a run has its folder unless checkpoint.folder says otherwise. */
#define RUNS_FOLDER "runs"

enum run_origin { RUN_BUILT_IN, RUN_PRESET, RUN_FILE, RUN_CHECKPOINT, RUN_COMMAND_LINE };
enum { RUN_MAX_ROWS = 128 };

struct run_config {
    struct model_section model;
    struct data_config data;
    struct training_section training;
    struct execution_section execution;
    struct optimizer_config optimizer;
    struct schedule_config schedule;
    struct adapter_config lora;
    struct logging_section logging;
    struct checkpoint_section checkpoint;
    unsigned char origin[RUN_MAX_ROWS]; /* of each row, enum run_origin */
    int source[RUN_MAX_ROWS];           /* and which of the sources, from 1 on; 0: built in */
    int n_sources;                      /* so far: presets, files, lots of key=value words */
    bool follows[RUN_MAX_ROWS];         /* its value was settled from others */
    char *name; /* of the last preset or file, without folder and ending; owned, NULL: none */
};

/* What is built in. */
int run_config_init(struct run_config *c);
void run_config_release(struct run_config *c);
int run_config_copy(struct run_config *dst, const struct run_config *src);

/* Row i of the table, its group the section; NULL past the end. */
const struct setting *run_row_at(int i);
/* By "section.name", or by name alone where only one section has it; dashes and underscores are
 * the same. ERR_MISSING names the nearest, ERR_RANGE the sections that share it. */
int run_row_find(const struct setting **out, const char *key);
bool run_is_section(const char *name);
enum run_origin run_config_origin(const struct run_config *c, const struct setting *row);
/* ERR_RANGE names the key, the value and the range; c is then unchanged. */
int run_config_set(struct run_config *c, enum run_origin origin, const char *key, const char *text);
/*
 * YAML or JSON: a mapping of sections to mappings, or of keys to values, mixed as one
 * likes. Errors begin with "LABEL line N: "; c is then unchanged.
 */
int run_config_read(struct run_config *c, enum run_origin origin, const char *label,
                    const char *text, size_t n);
/*
 * A preset's name or a path; "config" is ./config.yaml, .yml, .json or ./config when one
 * of them is there. ERR_MISSING names the nearest preset.
 */
int run_config_load(struct run_config *c, const char *what);
/* Words of :train in order: "key=value", else as run_config_load. On failure c is
 * unchanged. */
int run_config_words(struct run_config *c, char *const *words, int n);
/* All settings as YAML, for the checkpoint; run_config_read gives them back. */
int run_config_write(const struct run_config *c, struct buf *out);

/* init is "random" or "random:NAME", whose sizes may be chosen. An init that is given later than
 * sizes and is not leaves them out: a preset's recipe for another model. */
bool run_init_is_random(const struct model_section *m);
/*
 * The path of the model to be trained, for model_load with training.seed: "" for the one in
 * memory, "random:gpt2,n_layer=4,n_head=4" with the sizes of the section for a random one.
 */
int run_config_source(const struct run_config *c, struct buf *out);
/* Its shape, without its weights; loaded: of the model in memory, NULL: none. */
int run_config_shape(const struct run_config *c, const struct config *loaded, struct config *out);
/*
 * Settle what depends on other settings: sequence_length (a preset's is at most the
 * context), gradient_accumulation, global_batch_size, dropout, label, folder are then the
 * values in force; and refuse what does not go together.
 */
int run_config_settle(struct run_config *c, const struct config *shape);
/* Of a settled configuration. */
void run_config_step(const struct run_config *c, const struct config *shape,
                     struct step_config *out);
/* Optimizer steps of the whole run, with n_windows an epoch; 0: only the clock ends it. */
int64_t run_config_steps(const struct run_config *c, uint64_t n_windows);
/* Hours by the clock after which it is over; 0: no limit. Another machine's hours, by
 * tokens_per_second, are among the steps. */
double run_config_end_hours(const struct run_config *c);

/* Every setting in force with its origin, by sections; "follows" where settling changed it. In
 * columns that fit `width` as far as values do; 0: no limit. */
int run_config_show(const struct run_config *c, int width, struct buf *out);
/*
 * Of a settled configuration, nothing allocated: memory by part (parameters, gradients,
 * moments, activations, logits, scratch) beside what the machine has, batches, steps.
 * n_tokens, n_windows: of an epoch, 0 while the data is not open.
 */
int run_config_plan(const struct run_config *c, const struct config *shape, uint64_t n_tokens,
                    uint64_t n_windows, struct buf *out);

/* Presets, built into the program from train/config/presets/, by name; the last has name NULL. */
struct run_preset {
    const char *name, *text;
};
extern const struct run_preset run_presets[];

#endif
