#ifndef PRATTLE_TEXT_READER_H
#define PRATTLE_TEXT_READER_H
/*
 * The documents of texts and JSON lines, in pieces of about a megabyte that are encoded
 * one by one and give the ids of the whole: a long document is cut only before a blank or
 * line break behind a visible ASCII character, where GPT-2's pretokenizer always begins
 * anew. So a text of any size is read in little memory.
 */
#include "model/base/file.h"
#include "train/data/source.h"

struct text_reader {
    const struct data_source *list; /* [n], borrowed: text and JSON lines */
    size_t n, at;                   /* at: the file in progress */
    const char *separator;          /* borrowed; "" cuts no file */
    struct file file;               /* of list[at]; closed: not begun */
    struct buf window;              /* of the file, its unread bytes from `used` on */
    size_t used;
    uint64_t read, done; /* bytes of this file in the window so far; of those before it */
    uint64_t line;       /* of JSON, from 1 */
    bool inside;         /* of a document that has given a piece */
    bool after;          /* a separator: line breaks that follow belong to it */
};
void text_reader_init(struct text_reader *r, const struct data_source *list, size_t n,
                      const char *separator);
void text_reader_release(struct text_reader *r);
/*
 * The next piece into out (its bytes are replaced), and whether its document ends with
 * it; a piece may be empty then. Line breaks beside a separator are not part of the
 * documents, empty documents are none. *source is the place of its file in the list, n
 * when there are no more. ERR_FORMAT names file and line of what is no JSON with a text.
 */
int text_reader_next(struct text_reader *r, struct buf *out, bool *ends, size_t *source);
/* Bytes read so far, of all files. */
uint64_t text_reader_bytes(const struct text_reader *r);

#endif
