#ifndef PRATTLE_TRAIN_DATA_TOKEN_COPY_H
#define PRATTLE_TRAIN_DATA_TOKEN_COPY_H
/*
 * The ids of TFRecord files and of pickles have no width of their own: they are copied, as int32,
 * into a temporary file that has no name. Such a file may be compressed, or an archive of several,
 * whose documents follow one another; what else the archive has is left out, and noted.
 */
#include "model/base/file.h"
#include "model/base/progress.h"
#include "model/base/ids.h"

struct token_copy {
    int fd;              /* the caller's, as is the next; -1: none */
    uint64_t *documents; /* [n_documents + 1], where each begins */
    uint64_t n_tokens, n_documents;
};
/*
 * f          open, of records or of pickles
 * folder     for temporary files
 * separator  the token that ends a pickled document, where it does not end with it; TOKEN_NONE
 * returns    0; ERR_FORMAT, ERR_UNSUPPORTED, ERR_RANGE (naming file and place), ERR_IO, ERR_NOMEM,
 *            ERR_INTERRUPTED: out then has nothing
 */
int token_copy_records(struct token_copy *out, const struct file *f, const char *folder,
                       const struct progress *p);
int token_copy_lists(struct token_copy *out, const struct file *f, const char *folder,
                     token_id separator, const struct progress *p);

#endif
