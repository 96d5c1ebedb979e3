#ifndef PRATTLE_TRAIN_DATA_NOT_TEXT_H
#define PRATTLE_TRAIN_DATA_NOT_TEXT_H
/*
 * What other programs write that is neither text nor tokens, and what makes texts of it.
 */
#include <stdbool.h>
#include <stddef.h>

struct not_text {
    const char *is;     /* "is a PDF" */
    const char *advice; /* a line with FILE for data_advice; "": nothing helps */
    bool beside;        /* may well stand among texts: left out in a folder */
};
/* By the first n bytes of a file; NULL: nothing known. */
const struct not_text *not_text_find(const char *head, size_t n);
/* What begins as a ZIP archive and is something else by its name; NULL: an archive of files. */
const struct not_text *not_text_find_zip(const char *path);
/* ERR_FORMAT with a sentence. name: for messages; path, packed: as in data_advice. */
int not_text_refuse(const struct not_text *f, const char *name, const char *path, bool packed);
/* Whether n bytes begin an SVG picture, which is a text too and is read where it is named. */
bool not_text_is_svg(const char *head, size_t n);
int not_text_refuse_svg(const char *name);

#endif
