#ifndef PRATTLE_TRAIN_EVAL_RESULT_H
#define PRATTLE_TRAIN_EVAL_RESULT_H
/*
 * The settings of an evaluation and its result: figures with standard errors, and counts.
 */
#include "kvcache/engine.h"
#include "train/data/pairs.h"

#include <stdbool.h>
#include <stdint.h>

/* How to measure. Not every evaluation uses every setting. */
struct eval_config {
    int seq_length;  /* inputs of a window; 0: the context */
    int overlap;     /* stride between windows; 0: half the window */
    int last_n;      /* text: scored targets per window, and its stride; 0: half the window */
    int64_t limit;   /* windows or passages at most; 0: all */
    bool detokenize; /* wikitext, ptb: undo the word splitting first */
    bool special;    /* text, kl, wikitext, ptb: special tokens in the text are read as such */
    struct data_lines lines; /* text, kl: what of lines is the text; borrowed */
    bool strict;     /* lambada: the whole last word */
    int like;        /* enum eval_like: sets seq_length and overlap that were not given */
    bool by_ranks;   /* by all ranks of the world, each a part; rank 0 has the result */
    char *data_dir;  /* where the files are; NULL or "": prattle's own data folder */
};
enum eval_like { EVAL_OWN, EVAL_MEGATRON };
/* All defaults, with detokenize on and data_dir NULL. */
void eval_config_init(struct eval_config *c);

/* One number of a result. */
struct eval_figure {
    const char *name; /* as in JSON: "bits_per_byte"; static */
    const char *text; /* as a person reads it: "bits per byte"; static */
    double value;
    double error;       /* standard error; NAN: none is known */
    const char *format; /* printf's, of one double: "%.4f"; static. NULL: as the error justifies */
};

enum { EVAL_MAX_FIGURES = 24 };

struct eval_result {
    const char *name;     /* of the evaluation, as in the table */
    char definition[320]; /* what exactly was measured, in one sentence with its sizes */
    char *path;           /* of the text; owned */
    char precision[ENGINE_PRECISION], other_precision[ENGINE_PRECISION]; /* of each model */
    struct eval_config config; /* as measured, its sizes resolved; without its texts */
    struct eval_figure figures[EVAL_MAX_FIGURES]; /* [n_figures], the main one first */
    int n_figures;
    const char *unit;     /* of done and total: "windows", "passages"; static */
    uint64_t done, total; /* scored; in all */
    uint64_t left_out;    /* that cannot be scored: too long, or without a target */
    uint64_t targets;     /* tokens that were predicted and counted */
    uint64_t tokens;      /* positions computed for them */
    double seconds;       /* of scoring */
    bool partial;         /* stopped by Ctrl-C; done < total without it is --limit's */
};
void eval_result_release(struct eval_result *r);
/* Append a figure, unless there are EVAL_MAX_FIGURES. error NAN: none. */
void eval_figure_add(struct eval_result *r, const char *name, const char *text, double value,
                     double error, const char *format);
/* Find a figure by name; NULL: there is none. */
const struct eval_figure *eval_figure_find(const struct eval_result *r, const char *name);

/* The mean of numbers added one by one, and its standard error. The numbers of a passage are summed
 * on their own first (eval_mean_close), so the result depends on their order only. */
struct eval_mean {
    double sum, squares; /* of passages closed */
    double part, part_squares;
    uint64_t n;
};
void eval_mean_add(struct eval_mean *m, double x);
void eval_mean_close(struct eval_mean *m);
double eval_mean_value(const struct eval_mean *m); /* NAN for none */
double eval_mean_error(const struct eval_mean *m); /* NAN for fewer than two */

#endif
