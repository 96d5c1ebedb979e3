#ifndef PRATTLE_TRAIN_CONFIG_RUN_CONFIG_H
#define PRATTLE_TRAIN_CONFIG_RUN_CONFIG_H
/*
 * The configuration of a run, from where it is written. Sources are applied one after another,
 * each over the one before: built in, then the presets and files named, then key=value words.
 * Each value knows where it came from.
 */
#include "train/config/table.h"

/* Where a run has its folder unless checkpoint.folder says otherwise. */
#define RUNS_FOLDER "runs"

/* What is built in. */
int run_config_init(struct run_config *c);
void run_config_release(struct run_config *c);
int run_config_copy(struct run_config *dst, const struct run_config *src);

/* Where evaluations look for their files from now on, as eval_config's data_dir. ERR_NOMEM. */
int run_config_look_in(struct run_config *c, const char *data_dir);

/* The last error is about the values in force of these fields: as settings_store_blame. */
#define RUN_BLAME(c, ...)                                                                          \
    settings_store_blame(&(c)->store, (const struct setting *const[]){__VA_ARGS__, NULL})
/* ERR_RANGE names the key, the value and the range; c is then unchanged. */
int run_config_set(struct run_config *c, enum origin origin, const char *key, const char *text);
/*
 * YAML or JSON: a mapping of sections to mappings, or of keys to values, mixed as one
 * likes. Errors begin with "LABEL line N: "; c is then unchanged.
 */
int run_config_read(struct run_config *c, enum origin origin, const char *label, const char *text,
                    size_t n);
bool run_config_is_preset(const char *name);
/*
 * Check that the vocabulary, data and validation data that a preset itself names are there. A
 * preset that needs files has a line "# Needs: " and how they are made; the message repeats it.
 * ERR_MISSING.
 */
int run_config_check_preset_files(const struct run_config *c);
/*
 * Words of :train in order: "key=value", a preset's name or a path; "config" is ./config.yaml,
 * .yml, .json or ./config when one of them is there. ERR_MISSING names the nearest preset. On
 * failure c is unchanged.
 */
int run_config_words(struct run_config *c, char *const *words, int n);
/* All settings as YAML, for the checkpoint; run_config_read gives them back. */
int run_config_write(const struct run_config *c, struct buf *out);

#endif
