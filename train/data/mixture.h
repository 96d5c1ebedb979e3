#ifndef PRATTLE_TRAIN_DATA_MIXTURE_H
#define PRATTLE_TRAIN_DATA_MIXTURE_H
/*
 * Training data of several sources with weights, as written in the setting `data`:
 *
 *   PATH[:WEIGHT][:FROM..UNTIL],...     books/:0.7:..0.8,stories.txt:0.3,easy.txt:1:0.8..
 *
 * A source's share of the windows of a step is its weight divided by the sum of the weights of all
 * sources drawn in that step. Weights are given to all sources or to none; without weights each
 * source weighs as much as it has windows. FROM and UNTIL, either of which may be left out, are
 * steps counted from 0: up to 1 a fraction of the run, above 1 a number of steps. UNTIL is the
 * first step without the source. A path that occurs again is the same source at another time, which
 * continues where it was; weights in the same step add up.
 *
 * If no word has a weight or a range, the words are paths of one stream, which is not a mixture. A
 * word that is the name of an existing file, such as "a:1", is a path.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum { MIXTURE_MAX = 64 }; /* sources */

struct mixture_entry {
    char *path;         /* owned */
    double weight;      /* NaN: not given */
    double from, until; /* as written; 0 and infinite if left out */
    int source;         /* 0, 1, ... in the order of their first entries */
};
struct mixture {
    struct mixture_entry *list; /* [n]; owned */
    size_t n;                   /* 0: one stream, no mixture */
    int n_sources;
};

/* ERR_RANGE: a number is out of range, only some sources have weights, too many sources; ERR_NOMEM.
 * Text that words.h cannot split gives no mixture: who reads the paths reports it. */
int mixture_parse(struct mixture *out, const char *text);
void mixture_release(struct mixture *m);
/* The path of a source, borrowed. */
const char *mixture_path(const struct mixture *m, int source);
/* Whether both have as many sources with the same weights at the same steps; paths may differ. */
bool mixture_same_weights(const struct mixture *a, const struct mixture *b);
/* FROM or UNTIL as a step of a run of n_steps. */
int64_t mixture_step(double said, int64_t n_steps);

/* The keys of an entry in a configuration file, NULL-terminated. */
extern const char *const mixture_keys[];
/* Check the value of key number k. ERR_RANGE. */
int mixture_check_value(int k, const char *value);
/* Append the word that stands for an entry, unescaped; values are in the keys' order, NULL: none.
 * ERR_RANGE. */
int mixture_write_entry(struct buf *out, const char *const *values);

#endif
