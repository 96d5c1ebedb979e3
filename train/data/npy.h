#ifndef PRATTLE_TRAIN_DATA_NPY_H
#define PRATTLE_TRAIN_DATA_NPY_H
/*
 * NumPy's .npy files (numpy.lib.format, versions 1 to 3): a header that is a Python dict in text,
 * then the elements. One-dimensional arrays of whole numbers are token files, as of Languini's
 * books; its lists of them are two-dimensional arrays of texts.
 */
#include "model/base/file.h"

enum { NPY_RANK_MOST = 2 };
struct npy {
    char kind; /* 'u' or 'i', and 'U' of texts in UTF-32 */
    int width; /* bytes of an element */
    int rank;  /* 1 or 2 */
    uint64_t shape[NPY_RANK_MOST];
    uint64_t offset; /* of the first element in the file */
};

/* Whether n bytes begin such a file. */
bool npy_is_file(const char *head, size_t n);
/* The same of one whose header, as far as these bytes have it, says that its elements are texts. */
bool npy_is_texts(const char *head, size_t n);
/* ERR_FORMAT: no such header, other elements, or the file is longer or shorter than it says.
 * ERR_UNSUPPORTED: big-endian, columns first. */
int npy_read(struct npy *out, const struct file *f);
/* The text in row i, column j, as UTF-8. ERR_FORMAT: it is none. */
int npy_text(struct buf *out, const struct npy *a, const struct file *f, uint64_t i, uint64_t j);

#endif
