#ifndef PRATTLE_REPL_BENCH_BENCH_H
#define PRATTLE_REPL_BENCH_BENCH_H
/*
 * What the benches share. Each adds rows to one table: medians of several
 * rounds, each beside its limit, which is measured in the same round.
 */
#include "repl/bench/peer.h"
#include "repl/session/repl.h"
#include "repl/terminal/table.h"

enum { BENCH_ROUNDS = 5, BENCH_TEXTS = 16, BENCH_COLUMNS = 10 + N_PEERS, BENCH_SIZES = 16 };

/* Windows of a training step, and their tokens. */
struct bench_size {
    int batch, length;
};

struct bench {
    struct repl *repl;
    const char *file;                     /* a text for the tokenizer, NULL: none given */
    struct bench_size sizes[BENCH_SIZES]; /* n_sizes; 0: those that the bench has */
    int n_sizes;
    struct peers peers;
    /* Of the table: what a peer is compared in, the model and its precisions; 0: there is none. */
    int peer_columns[N_PEERS], model_column, weights_column, cache_column;
    const char *heads[BENCH_COLUMNS];
    struct table table;
};

/* What was measured in each round, and what it is a share of. */
struct rounds {
    int n;
    double value[BENCH_ROUNDS], share[BENCH_ROUNDS];
    double ratio[N_PEERS][BENCH_ROUNDS]; /* to a peer's value; 0: not measured */
};
static inline void rounds_add(struct rounds *m, double value, double share)
{
    m->value[m->n] = value;
    m->share[m->n++] = share;
}

/* A row; the share is shown where there is a limit to name. m is sorted by it. */
int bench_report(struct bench *b, const char *what, struct rounds *m, const char *unit,
                 const char *limit);
/* Let the peers do what the last round did, whose value is in tokens a second. */
int bench_peers(struct bench *b, struct rounds *m, enum peer_work work, int batch, int length);
/* Bytes a second of reading the model's weights, as they lie in memory. */
double bench_stream_limit(const struct model *m);

/* A prompt of n ids that are all in the vocabulary. */
int bench_prompt(const struct model *m, struct prompt *p, int n);
/* Generate `texts` answers of n_new tokens to a short prompt; the seconds of a step. */
int bench_time_steps(struct bench *b, const struct generate_config *how, int texts, int n_new,
                     const struct generate_callbacks *callbacks, double *step_s);
/* Operations of n tokens of one text, so many of them with logits. */
double bench_ops(const struct config *c, int n, int heads);
/* Read a text of n tokens, with the logits after the last. */
int bench_time_prefill(struct bench *b, int n, double *wall_s);
/* The settings in force, but one token after another in the device's loop. */
struct generate_config bench_plain(const struct bench *b);
extern const struct generate_callbacks bench_silent;

int bench_decode(struct bench *b);
int bench_prefill(struct bench *b);
int bench_score(struct bench *b);
int bench_batch(struct bench *b);
int bench_loop(struct bench *b);
int bench_speculate(struct bench *b);
int bench_stream(struct bench *b);
int bench_sampling(struct bench *b);
int bench_tokenizer(struct bench *b);
int bench_start(struct bench *b);
int bench_train(struct bench *b);

#endif
