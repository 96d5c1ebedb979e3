#ifndef PRATTLE_WEIGHTS_FOREIGN_FOREIGN_KIND_H
#define PRATTLE_WEIGHTS_FOREIGN_FOREIGN_KIND_H
/*
 * A trainer whose checkpoints are read: how they are recognised, what they say of the model's
 * shape, and how they name its tensors.
 */
#include "model/base/progress.h"
#include "model/tokenizer/tokenizer.h"
#include "weights/hf/hf_files.h"
#include "weights/tensors/names.h"

#include <jansson.h>

/* An open checkpoint. */
struct checkpoint {
    struct hf_files files; /* one tensor file */
    const json_t *about;   /* what it says of its model (pickle.h), or NULL; borrowed */
    json_t *beside;        /* config.json or config.pickle in its folder, or NULL; owned */
};

struct foreign_kind {
    bool (*matches)(const struct checkpoint *k);
    /* Fill in *c, which has GPT-2's defaults, and *n, a copy of naming. Fails as config_check, and
     * with ERR_UNSUPPORTED and ERR_MISSING. */
    int (*read_config)(struct config *c, struct naming *n, const struct checkpoint *k);
    const struct naming *naming;
    /* The tokenizer of the checkpoint; *out NULL: none. */
    int (*open_tokenizer)(struct tokenizer **out, const struct checkpoint *k,
                          const struct config *c, const struct progress *p);
};

/* Read members of an object: required whole numbers from 1 on. ERR_MISSING, ERR_RANGE. */
struct foreign_size {
    const char *key;
    int *to;
};
int foreign_read_sizes(const json_t *o, const struct foreign_size *sizes, int n);
/* The probability under this key, where there is one. */
int foreign_read_dropout(const json_t *o, const char *key, float *to);
/* Rows of a tensor of rank 2; 0: there is none. */
int foreign_rows(const struct checkpoint *k, const char *name);

#endif
