#ifndef PRATTLE_TRAIN_DATA_ENCODING_H
#define PRATTLE_TRAIN_DATA_ENCODING_H
/*
 * Texts in another encoding than UTF-8: which one it may be, and the line that converts them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are not UTF-8, where they begin. */
struct encoding_fault {
    const char *at; /* [n], the first is no character's and the others follow it */
    size_t n;
    uint64_t before;  /* bytes of the text before them */
    bool after_utf8;  /* of which some are UTF-8 beyond ASCII */
    const char *path; /* of the file, as of data_advice; NULL: not known */
    bool packed;
};
/* ERR_FORMAT: "NAME is not UTF-8: byte 3 is e9; if it is Latin-1: `iconv ...`". */
int encoding_refuse(const char *name, const struct encoding_fault *f);

#endif
