#ifndef PRATTLE_REPL_SETTINGS_OPTIONS_TABLE_H
#define PRATTLE_REPL_SETTINGS_OPTIONS_TABLE_H
/*
 * Settings. One row of the table (name, type, place, range, help) serves the command line, the
 * settings file, a model's own defaults, :set, completion, --help and SETTINGS.md. Each module owns
 * its struct; here they stand side by side. SETTINGS.md is held against the rows by a test.
 */
#include "model/base/dtype.h"
#include "model/base/settings_table.h"
#include "model/tokenizer/bpe_train.h"
#include "repl/terminal/line.h"
#include "repl/terminal/table.h"
#include "repl/terminal/term.h"
#include "sampling/generate.h"
#include "train/eval/eval.h"

#include <stddef.h>

/* Choices of dtype, cache_dtype and what they are of another model, in their rows' order. */
enum precision_choice {
    PRECISION_AUTO,
    PRECISION_FP16,
    PRECISION_FP32,
    PRECISION_Q8,
    PRECISION_BF16
};
enum output_choice { OUTPUT_TEXT, OUTPUT_IDS };
/* Choices of format: enum table_format, then what help alone is written as. */
enum help_format { HELP_MAN = TABLE_JSON + 1, HELP_BASH };

struct device_settings {
    char *model; /* path, bundled, random:NAME or a name on the Hub; "": none; as built in the one
                    that ships */
    char *lora;  /* folder of an adapter for it; "": none */
    int dtype;   /* enum precision_choice; AUTO: fp16 in memory, or q8 as in the file;
                    in files the file's own */
    int cache_dtype;  /* enum precision_choice; AUTO: fp16, or fp32 with weights in fp32 */
    float cache_size; /* GB of the panel cache; 0: none */
    float memory;     /* GB that the program may take; 0: what is available */
    int phased;       /* enum phased (weights/panel_stream.h) */
    int threads;      /* 0: one a CPU */
    bool pin;
    char *kernels;
    bool offline; /* nothing is downloaded */
};
struct talk_settings {
    int echo;  /* enum switch_choice; AUTO: in batches, and the last line on a terminal */
    bool keep; /* a prompt goes on from the last text */
    bool verbose;
    char *save_samples; /* file; "": none */
    int color;          /* enum switch_choice */
    bool wrap;          /* answers on a terminal, between words */
    int editing_mode;   /* enum editing_mode */
    int history;        /* entries kept */
    bool keep_results;  /* of evaluations */
};
struct batch_settings {
    int batch_size;
    bool raw, jsonl;
    int top_logprobs;
};
/* What a single command is told; never kept. */
struct call_settings {
    char *prompt, *ids, *out;
    int output; /* enum output_choice */
    int top;    /* tokens shown; 0: as the command has it */
    int format; /* enum table_format, or of help enum help_format */
    struct bpe_train_config bpe;
    int other_dtype, other_cache_dtype; /* enum precision_choice; AUTO: as dtype, cache_dtype */
    int last;                           /* results of eval history */
    bool all, force, compat, plan, json, help, version;
};

struct settings {
    struct generate_config generate;
    struct sampler_config sampler;
    struct device_settings device;
    struct talk_settings talk;
    struct batch_settings batch;
    struct eval_config eval;
    struct call_settings call;
};

/* What a change of a setting waits for, or needs done at once: holds_from of its row. */
enum holds_from {
    HOLDS_FROM_NEXT_USE,
    HOLDS_FROM_SCREEN, /* colours and lines are switched */
    HOLDS_FROM_TEAM,   /* kernels and threads are chosen anew */
    HOLDS_FROM_START,  /* of the program */
    HOLDS_FROM_LOAD    /* of a model */
};

extern const struct settings_table options_table;
/* What is built in, its texts borrowed. */
void settings_init(struct settings *s);

/* settings_text.may_set of settings that come with a model: what a line of --jsonl may give too. */
bool option_per_line(const struct setting *o);
/* The same of a session's: how answers are made and gone on from. */
bool option_in_session(const struct setting *o);

/* The type of keys and values by a choice of cache_dtype, under weights of a type. */
enum dtype cache_dtype_chosen(enum precision_choice choice, enum dtype weights);

/* Deep copies, by the table. dst is overwritten without being released. */
int settings_copy(struct settings *dst, const struct settings *src);
void settings_release(struct settings *s);

/* The row of a field of struct settings. */
#define OPTION(field) settings_table_field(&options_table, offsetof(struct settings, field))

#endif
