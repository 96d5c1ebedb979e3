#ifndef PRATTLE_MODEL_SHARD_H
#define PRATTLE_MODEL_SHARD_H
/*
 * Tensor parallelism (Shoeybi et al. 2019): a process has some heads of attention, some columns of
 * the feed-forward and some rows of the vocabulary, and with them the parts of all matrices that
 * belong to these. It computes as a model of that many heads, columns and rows would
 * (shard_config); what is C wide is whole in all processes.
 *
 *             divided by    forward           backward
 *   c_attn    columns       its own heads     sum: dx
 *   attn_proj rows          sum: y            its own heads
 *   c_fc      columns       its own columns   sum: dx
 *   mlp_proj  rows          sum: y            its own columns
 *   lm_head   rows [V,C]    sum: softmax      sum: dx
 *   wte       rows [V,C]    who has the row   its own tokens
 *
 * A sum is over what is divided, and a chain (product.h): it goes from process to process, each of
 * which goes on with its own terms, and from the last to all. So its order is that of one process,
 * and so are the bits, but with OpenBLAS's products; partial sums that are added afterwards would
 * have others. With inputs gathered instead, a process would need two parts of each matrix:
 * columns, and rows for the gradients of inputs.
 *
 * The rows of a sum go in blocks, so that a process works on one while others work on those before
 * and behind it. That of c_attn's dx goes round three times, for the columns of queries, keys and
 * values.
 *
 * What is whole in all may be kept in parts, one in each process, and gathered where it is read
 * again (shard_gather): bytes move, and nothing is added.
 *
 * The shares need not be equal. The vocabulary is divided between the columns whose softmax is
 * summed up together (SHARD_COLUMNS): the last processes may have none of a small one, and memory
 * for one row that nothing reads.
 */
#include "model/config.h"

#include <stddef.h>

enum { SHARD_COLUMNS = 256 };

struct shard_range {
    int first, last;
};

/* How processes send each other what they have; by thread 0 of a job, all processes alike. */
struct shard_link {
    /* The sum of so many rows [rows,row_bytes] begins. */
    void (*begin)(void *user, void *rows, size_t row_bytes, int n_rows, int rounds);
    /* The rows of a block are here as the process before left them; after the last round, whole. */
    void (*await)(void *user, int round, int block);
    /* They are as this process leaves them. */
    void (*give)(void *user, int round, int block);
    /* What was given is on its way no more. */
    void (*end)(void *user);
    /* Of rows [n_rows,row_bytes], of which each process has its own (shard_rows), all to all. */
    void (*gather)(void *user, void *rows, size_t row_bytes, int n_rows);
    void *user;
};

struct shard {
    int n, own;                             /* processes, and which this is */
    struct shard_range heads, inner, vocab; /* of the whole model's; last - first are here */
    struct shard_link link;
};

/* Process `own` of n, without a link. */
void shard_init(struct shard *s, const struct config *whole, int n, int own);
/* Into how many processes a model can be divided at most: each has a head. */
int shard_most(const struct config *whole);
/* The model that a process computes as; it has no special tokens. */
void shard_config(struct config *out, const struct config *whole, const struct shard *s);

/* The blocks of a sum of so many rows. */
int shard_blocks(int n_rows);
void shard_block(int n_rows, int block, int *first, int *last);

/* Adds this process's terms to rows first to last - 1, or with `fresh` begins their sum; a thread's
 * share, without a barrier. */
struct shard_sum {
    void *rows; /* [n_rows,row_bytes] */
    size_t row_bytes;
    int n_rows, rounds;
    void (*add)(void *user, int round, bool fresh, int first, int last);
    void *user;
};
/* By every thread of the job; ends with a barrier, and the rows are whole. */
void shard_add(const struct shard *s, const struct shard_sum *sum, int thread);

/* The rows that one of n processes keeps, where all compute the same n_rows. */
void shard_rows(int n, int own, int n_rows, int *first, int *last);
/* Rows of an even number of bytes, of which these are here, become whole. By every thread of the
 * job; ends with a barrier. */
void shard_gather(const struct shard *s, void *rows, size_t row_bytes, int n_rows, int thread);

/* A token's row of what this process has of the vocabulary; -1: another has it. s NULL: the whole
 * model is here. */
static inline int shard_token(const struct shard *s, token_id id)
{
    if (s == NULL)
        return id;
    return id >= s->vocab.first && id < s->vocab.last ? id - s->vocab.first : -1;
}
static inline int shard_first_head(const struct shard *s)
{
    return s == NULL ? 0 : s->heads.first;
}
/* The rows of the vocabulary that are here, of all V. */
static inline struct shard_range shard_tokens(const struct shard *s, int V)
{
    return s == NULL ? (struct shard_range){0, V} : s->vocab;
}

#endif
