#ifndef PRATTLE_WEIGHTS_HF_VOCAB_DRAFT_H
#define PRATTLE_WEIGHTS_HF_VOCAB_DRAFT_H
/* A tokenizer as far as its files have been read. */
#include "model/base/json.h"
#include "model/config.h"

/* Zeroed but for config, and begin TOKEN_NONE. */
struct vocab_draft {
    const struct config *config; /* or NULL */
    int n, cap;                  /* ids 0..n-1 */
    const char **tokens;         /* [cap], borrowed from the roots; NULL for a hole */
    unsigned char *special;      /* [cap] */
    int n_merges;
    const char **merges; /* [n_merges], borrowed from the roots or lines */
    struct buf lines;
    json_t *roots[3]; /* vocab.json or tokenizer.json, added_tokens.json, tokenizer_config.json */
    const json_t *vocab; /* the tokens that are not added, by text; borrowed from the roots */
    json_t *added;       /* those that are, by text; NULL: none */
    bool add_prefix_space;
    /* Before each text: a token that a file names (TOKEN_NONE: none), and where it is not named,
     * whether there is one. */
    token_id begin;
    bool begins;
};
void vocab_draft_release(struct vocab_draft *d);
/* Room for `more` tokens: ids may leave holes, but not run away from their number. */
int vocab_draft_reserve(struct vocab_draft *d, size_t more);
/* A token, borrowed; ERR_FORMAT: its id is none, or another's; ERR_MISMATCH: none of the model's.
 */
int vocab_draft_put(struct vocab_draft *d, const char *text, const json_t *id_value, bool special);
/* The same of an id that is in range and free, or has that text. */
int vocab_draft_add(struct vocab_draft *d, const char *text, int id);
bool vocab_draft_has(const struct vocab_draft *d, const char *text);

/* Pass over the byte order mark that some editors put in front. */
void vocab_skip_bom(const char **text, size_t *n);
/* The object that a file's text is. */
int vocab_parse_object(json_t **out, const char *file, const char *text, size_t n);

#endif
