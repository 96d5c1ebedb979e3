#ifndef PRATTLE_TRAIN_CONFIG_PRESETS_H
#define PRATTLE_TRAIN_CONFIG_PRESETS_H

/* Presets, built into the program from train/config/presets/, by name; the last has name NULL. */
struct run_preset {
    const char *name, *text;
};
extern const struct run_preset run_presets[];

#endif
