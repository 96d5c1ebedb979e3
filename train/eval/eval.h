#ifndef PRATTLE_TRAIN_EVAL_EVAL_H
#define PRATTLE_TRAIN_EVAL_EVAL_H
/*
 * Evaluations of a model in memory. Each is one function in a file of its own, and one row
 * of the table in eval.c: to add one, write
 *
 *   int eval_NAME(struct eval_job *j)
 *
 * which reads j->path by j->config, makes passages, has them scored by eval_score, and
 * leaves figures in j->result with eval_figure_add; declare it in evals.h and add its row.
 * What the command does (finding the file, time, partial results, JSON, history) works for it
 * then as for the others.
 */
#include "sampling/score.h"

#include <stdbool.h>
#include <stdint.h>

/* How it is measured. Not every evaluation looks at all of it. */
struct eval_config {
    int seq_length;  /* inputs of a window; 0: the context */
    int overlap;     /* from one window to the next; 0: half the window */
    int last_n;      /* text: so many targets of a window count, and it moves by as many; 0: half */
    int64_t limit;   /* windows or passages at most; 0: all */
    bool detokenize; /* wikitext, ptb: undo the word splitting first */
    bool strict;     /* lambada: the whole last word */
    int like;        /* enum eval_like: sets seq_length and overlap that were not given */
    char *data_dir;  /* where the files are; NULL or "": prattle's own data folder */
};
enum eval_like { EVAL_OWN, EVAL_MEGATRON };
/* All as "0" says, and detokenize; data_dir NULL. */
void eval_config_init(struct eval_config *c);

/* One number of a result. */
struct eval_figure {
    const char *name; /* as in JSON: "bits_per_byte"; static */
    const char *text; /* as a person reads it: "bits per byte"; static */
    double value;
    double error;       /* standard error; NAN: none is known */
    const char *format; /* printf's, of one double: "%.4f"; static */
};

enum { EVAL_MAX_FIGURES = 24 };

struct eval_result {
    const char *name;          /* of the evaluation, as in the table */
    char definition[256];      /* what exactly was measured, in one sentence with its sizes */
    char *path;                /* of the text; owned */
    struct eval_config config; /* as it was measured, with the sizes that were not given; no text */
    struct eval_figure figures[EVAL_MAX_FIGURES]; /* [n_figures], the main one first */
    int n_figures;
    const char *unit;     /* what is counted: "windows", "passages"; static */
    uint64_t done, total; /* of these; the evaluation says how many there are in all */
    uint64_t left_out;    /* of them, that cannot be scored: too long, without a target */
    uint64_t targets;     /* tokens that were predicted and counted */
    uint64_t tokens;      /* positions computed for them */
    double seconds;       /* of scoring */
    bool partial;         /* stopped by Ctrl-C; done < total without it is --limit's */
};
void eval_result_release(struct eval_result *r);
/* Append a figure; beyond EVAL_MAX_FIGURES nothing. error NAN: none. */
void eval_figure_add(struct eval_result *r, const char *name, const char *text, double value,
                     double error, const char *format);
/* By name; NULL: it has none of this name. */
const struct eval_figure *eval_figure_find(const struct eval_result *r, const char *name);

/* One evaluation at work. */
struct eval_job {
    struct engine *engine;     /* engine->max_seqs passages are worked on at once */
    struct engine *other;      /* kl: the model this one is compared with, else NULL */
    struct eval_config config; /* seq_length and overlap settled; borrows its text */
    const char *path;          /* the file to read */
    struct eval_result *result;
    const struct progress *progress;
};

/* One row of the table. */
struct eval {
    const char *name, *help; /* one line */
    const char *argument;    /* what follows the name: "[FILE]", "MODEL [FILE]" */
    const char *options;     /* those it takes of the ones for one command: "strict limit" */
    /* Where its file is within the data folder: the place for it, then others after a "|";
     * NULL: it must be named. */
    const char *file;
    const char *where; /* to get that file */
    bool needs_other;  /* a second model */
    int (*run)(struct eval_job *j);
};
const struct eval *eval_at(int i); /* NULL past the end */
const struct eval *eval_find(const char *name);

/*
 * Run one. path NULL: its file in the data folder; ERR_MISSING says where to get it and where
 * to put it. `other` for those that need one. A result stopped by Ctrl-C after something was
 * scored is 0 with result->partial; before, ERR_INTERRUPTED. On failure the result is empty.
 */
int eval_run(const struct eval *e, struct engine *engine, struct engine *other,
             const struct eval_config *config, const char *path, struct eval_result *result,
             const struct progress *p);

/* Whether the file it would read is there, before any of it is done; path and errors as of
 * eval_run. */
int eval_look(const struct eval *e, const struct eval_config *config, const char *path);

/*
 * For the evaluations: score the passages, f(user, i, scores) with the scores of passage i's
 * targets [list[i].n - list[i].first], in the list's order. Sets the result's done, total,
 * targets, tokens, seconds, partial; says at the start how long it will take if that is long.
 * Whatever adds up what f gets, in this order, gets the same bits for any batch and team.
 */
int eval_score(struct eval_job *j, const struct passage *list, size_t n,
               void (*f)(void *user, size_t i, const struct score *scores), void *user);

/* Some targets in a row, by two models. */
struct eval_slice {
    const struct scorer *scorer;
    const struct score_row *rows; /* [n] */
    const float *logits, *other;  /* [n,V] of each model */
    int n;                        /* at most SCORE_ROWS */
};
/*
 * For the evaluations: the same by j->engine and j->other, which are for as many passages at once.
 * f takes slice after slice, and counts the result's targets and done; what it returns but 0 ends
 * it.
 */
int eval_compare(struct eval_job *j, const struct passage *list, size_t n,
                 int (*f)(void *user, const struct eval_slice *slice), void *user);

/* How many of n to score, by --limit. */
size_t eval_limited(const struct eval_job *j, size_t n);
/* ERR_MISSING: the model has no tokenizer. */
int eval_need_tokenizer(const struct eval_job *j);
/* The whole text of j->path; bytes that are no UTF-8 are noted, and stay as they are. */
int eval_read_text(const struct eval_job *j, struct buf *out);

/* Mean of numbers given one by one, and its standard error: those of a passage are added up
 * among themselves first (eval_mean_close), so their order is all that matters. */
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
