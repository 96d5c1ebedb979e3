#ifndef PRATTLE_TRAIN_CONFIG_PRESETS_H
#define PRATTLE_TRAIN_CONFIG_PRESETS_H

/* Presets by name; the last has name NULL. The Makefile makes presets.c of train/config/presets/;
 * run_config_words (run_config.h) reads them, and help and completion list them. */
struct run_preset {
    const char *name, *text;
};
extern const struct run_preset run_presets[];

#endif
