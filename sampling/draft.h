#ifndef PRATTLE_SAMPLING_DRAFT_H
#define PRATTLE_SAMPLING_DRAFT_H
/*
 * Speculation (Leviathan et al., "Fast Inference from Transformers via Speculative Decoding",
 * 2023): a draft of the next tokens, which the device loop verifies in the pass that reads them.
 * What is drafted changes the number of passes and never the text. Drafts come by prompt lookup, or
 * from a smaller model (draft_model.h).
 *
 * With `auto`, a draft is made only where the text so far promises a gain. For every id of the
 * text, drafted or not, it is known whether lookup would have found it: that gives the acceptance
 * by length of match, and costs no pass. And the tokens gained are weighed against the cost of the
 * rows: while drafts lose, they get no more than a small share of the passes. Both count tokens
 * and rows and look at no clock, so the same text takes the same passes.
 *
 * A smaller model is weighed in the same way, its passes being a cost too. Its acceptance is known
 * only of what it drafted: after PROBE_PASSES passes without a draft it is asked for one token. Not
 * counted is the first reading of the text.
 */
#include "kvcache/engine.h"
#include "sampling/text/lookup.h"
#include "sampling/text/request.h"

enum { DRAFT_MAX = 5, DRAFT_RATES = 10 };

/* Of one text. */
struct draft {
    struct lookup lookup;
    struct lookup_match match; /* of the text in the index; shorter than an n-gram, after one that
                                  went wrong: where it would go on */
    enum speculate how;
    int few_rows;                  /* of a pass that waits for memory (matrix_kernels.h) */
    float second_row, further_row; /* their time, as shares of a pass of one row */
    float rate[DRAFT_RATES];       /* share of ids that lookup found, by length of match */
    float saved;                   /* tokens that drafts gained, less what their rows cost */
    float cost;                    /* of the draft in the pass, in tokens */
    int n_drafted, n_accepted;     /* tokens */
    /* Of a smaller model (draft_model.c): */
    struct engine *drafter; /* NULL: drafts are looked up; borrowed */
    struct kv_seq read;     /* what the drafter has read of the text */
    float share;            /* of a pass, the time of one of the drafter; < 0: always draft */
    float accepted;         /* share of its tokens that were right */
    int n_vocab;            /* ids that it may draft */
    int idle;               /* passes since one of its drafts was wrong */
    int n_right;            /* ids of the text, as of its last draft, that were right */
    token_id *text;         /* [n_text] and the draft behind it; borrowed */
    size_t n_text;
    int n_wanted, n_made; /* tokens of the draft */
    int row;              /* of the pass's logits, for the next token; -1: none */
};

/* Begin an answer of m: *d, NULL at first, is made or used again, or freed if there are to be no
 * drafts. ERR_NOMEM. */
int draft_begin(struct draft **d, const struct model *m, enum speculate how);
void draft_free(struct draft *d);
/* The text is replaced by another; what was measured stays. */
void draft_forget_text(struct draft *d);
/*
 * Write a draft of at most `most` tokens behind the text [n], for a pass that has a row of each of
 * `texts` texts and the drafts of some: `rows` rows. Returns its length; called once for each pass
 * of the text, which has only grown since the last call.
 */
int draft_propose(struct draft *d, token_id *text, size_t n, int most, int texts, int rows);
/* How many tokens to draft, by what that promises: of a smaller model that has `pending` ids of the
 * text to read, the rest as of draft_propose. */
int draft_choose(struct draft *d, int pending, int most, int texts, int rows);
/* Of a draft of n tokens that was in the pass, so many were accepted. */
void draft_count(struct draft *d, int n, int accepted);

#endif
