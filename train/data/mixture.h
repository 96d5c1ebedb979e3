#ifndef PRATTLE_TRAIN_DATA_MIXTURE_H
#define PRATTLE_TRAIN_DATA_MIXTURE_H
/*
 * Training data of several sources with weights, as the setting `data` says it:
 *
 *   PATH[:WEIGHT][:FROM..UNTIL],...     books/:0.7:..0.8,stories.txt:0.3,easy.txt:1:0.8..
 *
 * A source's share of the windows of a step is its weight over the sum of the weights of those
 * drawn in that step. Weights are given to all or to none: then each source has as much as
 * there is of it. FROM and UNTIL, either of which may be left out, are steps counted from 0: up
 * to 1 a part of the run, above 1 so many steps; UNTIL is the first step without it. The same
 * path once more is the same source at another time, and goes on where it was; weights of one
 * step are then added.
 *
 * Words with neither are paths of one stream, which is no mixture. So is a word that is there as
 * it is written, a file called "a:1".
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum { MIXTURE_MAX = 64 }; /* sources */

struct mixture_entry {
    char *path;         /* owned */
    double weight;      /* NaN: as much as there is */
    double from, until; /* as said; 0 and infinite where not */
    int source;         /* 0, 1, ... in the order of their first entries */
};
struct mixture {
    struct mixture_entry *list; /* [n]; owned */
    size_t n;                   /* 0: the text is one stream */
    int n_sources;
};

/* ERR_RANGE: a number out of range, weights for some alone, too many sources; ERR_NOMEM. Words
 * that are none (words.h) give no mixture. */
int mixture_parse(struct mixture *out, const char *text);
void mixture_release(struct mixture *m);
/* Of a source, borrowed. */
const char *mixture_path(const struct mixture *m, int source);
/* The same sources in the same order, however called, with the same weights at the same steps. */
bool mixture_same_weights(const struct mixture *a, const struct mixture *b);
/* A step or a part of a run of n_steps, as a step. */
int64_t mixture_step(double said, int64_t n_steps);

/* An entry as a configuration file has it: keys NULL-terminated, a value of each or NULL. */
extern const char *const mixture_keys[];
/* Whether the value of key number k is one. ERR_RANGE. */
int mixture_check_value(int k, const char *value);
/* Append the entry's word, not escaped. ERR_RANGE. */
int mixture_write_entry(struct buf *out, const char *const *values);

#endif
