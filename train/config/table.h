#ifndef PRATTLE_TRAIN_CONFIG_TABLE_H
#define PRATTLE_TRAIN_CONFIG_TABLE_H
/*
 * Everything a training run is told, in sections, and the one table of it: it serves YAML and
 * JSON files, presets, key=value, :train show, ranges and help.
 */
#include "model/adapter.h"
#include "model/base/settings_store.h"
#include "train/data/dataset.h"
#include "train/optim/optimizer.h"
#include "train/optim/schedule.h"

struct model_section {
    char *init;      /* "": the model in memory; a path, random:NAME, or random: the sizes below */
    char *tokenizer; /* a folder or file with a vocabulary; "": the one that came with init */
    int n_layer, n_head, head_dim, n_embd, n_positions, vocab_size, n_inner; /* 0: as init says */
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
    int gradient_blocks;       /* of a step's windows, each with a chain of sums of its own */
    uint64_t seed;
    float dropout;                             /* -1: as the model's config */
    float embd_pdrop, attn_pdrop, resid_pdrop; /* -1: as dropout */
    int precision; /* enum dtype of weights, gradients and activations: DTYPE_F32, DTYPE_F16 */
    int matmul_precision;    /* enum product_factors */
    double loss_scaling;     /* of the first step; 0: as the precision needs it */
    int auto_loss_scaling;   /* 0: in float16, 1 on, 2 off */
    int loss_scaling_growth; /* steps without overflow after which it doubles */
    int max_bad_steps;
    int patience;  /* validations in a row without a lower loss that end the run; 0: none do */
    float spike_z; /* steps whose loss or norm is so many deviations off are skipped; 0: off */
};
enum elastic { ELASTIC_AUTO, ELASTIC_ON, ELASTIC_OFF };
struct execution_section {
    int replicas;            /* of the model, each a process or a pipeline of processes */
    char *layers_per_device; /* of a pipeline, as "4,4,4" (train/parallel/layout.h); "none" */
    int virtual_stages;      /* chunks of the layers of each process of a pipeline */
    int tensor_parallel;  /* processes that share heads, columns and the vocabulary (model/shard.h)
                           */
    bool rts_activations; /* these have inputs of recomputed layers in parts (step/input_parts.h) */
    int zero;             /* 1: the optimizer's state is divided among them, 2: gradients too */
    bool half_partials;   /* sums of gradient blocks in 16 bits (train/step/half_partials.h) */
    char *hosts;          /* the hostfile for mpirun; "": this host */
    int elastic;          /* enum elastic: without a process that is lost the others go on */
    int matrices;         /* enum product_engine */
    char *recompute;      /* "none", "all", "layers", or a list as "0,2,4-11" */
    int serialized_seq_len;             /* positions whose logits exist at once; 0: as fits */
    int embedding_serialization_factor; /* the vocabulary in so many parts */
    int attention_serialisation;        /* a window's queries in so many; 0: as fits the cache */
    bool phased;                        /* what a step needs is in working files */
    float memory;                       /* GB, of the whole program, with phased; 0: the least */
};
struct logging_section {
    char *label; /* of the run; "": the preset's or file's name */
    int log_every, eval_every, eval_windows, sample_every, sample_tokens, log_grads_every,
        log_activations_every;
    char *sample_prompt;
    char *eval, *eval_file; /* the evaluation done besides, and its file; "": none, its own */
    bool eval_first;        /* before the first step */
    bool tensorboard, wandb;
    double
        tokens_per_second; /* of a machine compared with: hours = tokens / this; 0: the clock's */
};
struct checkpoint_section {
    char *folder; /* "": runs/LABEL */
    int save_every, keep_last;
    double min_part_mb; /* of the weights, where replicas divide their writing */
    bool keep_best;
    bool resume; /* go on from the newest in the folder */
};

/* The sections, first, are what the table is of. */
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
    struct settings_store store; /* who gave what: a layer for each preset, file, group */
    char *name;     /* of the last preset or file, without folder and ending; owned, NULL: none */
    char *data_dir; /* of evaluations (eval/result.h), which is the program's; owned, NULL: none */
};

/* What a change of a setting waits for, once the run has begun: holds_from of its row. */
enum run_holds_from {
    RUN_HOLDS_FROM_NEW_RUN, /* the steps so far rest on it */
    RUN_HOLDS_FROM_RESUME,  /* it is built into the run in memory; data may lie elsewhere then, and
                               their identity says whether they are the same */
    RUN_HOLDS_FROM_STEP     /* the next one */
};

extern const struct settings_table run_table;

/* The row of a field of struct run_config. */
#define RUN_ROW(field) settings_table_field(&run_table, offsetof(struct run_config, field))

/* init is "random" or "random:NAME", whose sizes may be chosen. An init that is given later than
 * sizes and is not leaves them out: a preset's recipe for another model. */
bool run_init_is_random(const struct model_section *m);

#endif
