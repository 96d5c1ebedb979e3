#ifndef PRATTLE_REPL_SETTINGS_OPTIONS_H
#define PRATTLE_REPL_SETTINGS_OPTIONS_H
/*
 * Settings. One row of the table in options_table.c (name, type, place, range, help) serves
 * the command line, the settings file, a model's own defaults, :set, completion,
 * --help and the README. Each module owns its struct; here they stand side by side.
 *
 * A setting may be given in several places; the later origin wins, and what it hides
 * comes back when it is taken away.
 */
#include "model/base/dtype.h"
#include "model/base/setting.h"
#include "model/tokenizer/bpe_train.h"
#include "sampling/generate.h"
#include "train/eval/eval.h"

/* Choices of dtype: auto, then these in the order of options_table.c. false, and *d untouched, for
 * auto. */
enum { DTYPE_AUTO };
static inline bool dtype_chosen(enum dtype *d, int choice)
{
    static const enum dtype in_order[] = {DTYPE_F16, DTYPE_F32, DTYPE_BF16};
    if (choice == DTYPE_AUTO)
        return false;
    *d = in_order[choice - 1];
    return true;
}
enum switch_choice { SWITCH_AUTO, SWITCH_ON, SWITCH_OFF };
enum output_choice { OUTPUT_TEXT, OUTPUT_IDS };
enum editing_mode { EDITING_INPUTRC, EDITING_EMACS, EDITING_VI };

struct device_settings {
    char *model; /* path, bundled or random:NAME; "": none; as built in the one that ships */
    char *lora;  /* folder of an adapter for it; "": none */
    int dtype;   /* a choice of dtype; AUTO is fp16 in memory, the file's own in files */
    int threads; /* 0: one a CPU */
    bool pin;
    char *kernels;
};
struct talk_settings {
    int echo;  /* enum switch_choice; AUTO: in batches only */
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
};
/* What a single command is told; never kept. */
struct call_settings {
    char *prompt, *ids, *out;
    int output; /* enum output_choice */
    int format; /* of tables: enum table_format */
    struct bpe_train_config bpe;
    int other_dtype; /* a choice of dtype; AUTO: as dtype */
    bool all, force, compat, plan, json, help, version;
};

/* The first two may be given for a line of --jsonl. */
struct settings {
    struct generate_config generate;
    struct sampler_config sampler;
    struct device_settings device;
    struct talk_settings talk;
    struct batch_settings batch;
    struct eval_config eval;
    struct call_settings call;
};

enum table_format { TABLE_TEXT, TABLE_MARKDOWN, TABLE_CSV, TABLE_JSON };

enum origin {
    ORIGIN_BUILT_IN,
    ORIGIN_FILE,
    ORIGIN_MODEL,
    ORIGIN_COMMAND_LINE,
    ORIGIN_SET,
    ORIGIN_CALL, /* an option of one command: gone after it */
    N_ORIGINS
};
const char *origin_name(enum origin o);

/* Row i of the table, NULL past its end. */
const struct setting *option_at(int i);
/* By any of its names; NULL: none. */
const struct setting *option_find(const char *name);
const struct setting *option_by_letter(char letter);
/* As option_find, but ERR_MISSING names the nearest; option_settable refuses those
 * that are for one command only. */
int option_lookup(const struct setting **out, const char *name);
int option_settable(const struct setting **out, const char *name);
/* Whether a line of --jsonl may give it. */
bool option_per_line(const struct setting *o);
/* As setting_parse; a shorthand sets the one it stands for, and the texts that answers go by
 * (chain, stop, logit_bias, ...) are read for what they say. */
int option_parse(const struct setting *o, struct settings *s, const char *text);
/* What a shorthand is told: on or off. */
int option_switch(const struct setting *o, const char *text, bool *on);

/* Deep copies, by the table. dst is overwritten without being released. */
int settings_copy(struct settings *dst, const struct settings *src);
void settings_release(struct settings *s);

struct options {
    struct settings settings;  /* in force */
    char *(*given)[N_ORIGINS]; /* [rows]: the text given by each origin, NULL: none */
};
int options_init(struct options *o);
void options_release(struct options *o);
/* text NULL takes the origin's value away. */
int options_set(struct options *o, const struct setting *row, enum origin origin, const char *text);
/* Take away all values of an origin. */
void options_clear(struct options *o, enum origin origin);
/* Where the value in force comes from. */
enum origin options_origin(const struct options *o, const struct setting *row);

/*
 * Take options out of words: "--top-k 40", "--top_k=40", "--no-echo", "-p TEXT". What
 * is left stands at the front, *n of them; "--" ends the options.
 */
int options_take(struct options *o, enum origin origin, char **words, int *n);
/* Where YAML text comes from, for sentences, and the settings it may give; NULL: all. */
struct yaml_origin {
    enum origin origin;
    const char *label;
    bool (*may_set)(const struct setting *row);
    /* Told of a value that is no good, which is then left out; NULL: it fails the text. */
    void (*left_out)(const char *sentence);
};
/* YAML text: one mapping of settings to values. ERR_* with "label line 3: ..."; on
 * failure no setting is changed. */
int options_read_yaml(struct options *o, const struct yaml_origin *from, const char *text,
                      size_t n);
/* Whether that would succeed. */
int options_check_yaml(const struct options *o, const struct yaml_origin *from, const char *text,
                       size_t n);
/*
 * The settings stored with a model, as such text; values that are no good, or exclude each other
 * or what the user gave, are left out, and from->left_out is told of each.
 */
int options_read_stored(struct options *o, const struct yaml_origin *from, const char *text,
                        size_t n);
/* $XDG_CONFIG_HOME/prattle/settings.yaml; 0 when there is none. */
int options_read_user_file(struct options *o);

#endif
