#ifndef PRATTLE_TRAIN_DATA_TEXT_READER_H
#define PRATTLE_TRAIN_DATA_TEXT_READER_H
/*
 * The documents of texts and JSON lines, in chunks of about a megabyte that are encoded
 * one by one and give the ids of the whole: a long document is cut only before a space or
 * line break behind a visible ASCII character, where GPT-2's pretokenizer always begins
 * anew. So a text of any size is read in little memory. What is packed is unpacked while
 * it is read; each text of an archive is a document of its own, as a file is. A text that begins
 * with the byte order mark of UTF-16 is read as that. One whose first byte beyond ASCII begins no
 * character of UTF-8 is in a code page, Latin-1 or another, and refused; later such bytes are
 * damage, and stay as they are.
 */
#include "train/data/text_stream.h"
#include "train/data/utf16.h"

#define TEXT_LINE_MAX ((size_t)1 << 28)

struct text_reader {
    const struct data_source *list; /* [n], borrowed: text and JSON lines */
    size_t n, at;                   /* at: the file in progress */
    const char *separator;          /* borrowed; "" cuts no file */
    struct text_stream stream;      /* of list[at]; closed: not begun */
    struct buf window;              /* of the text in progress, its unread bytes from `used` on */
    size_t used;
    bool open, ended;   /* a text is in progress; all of it is in the window */
    bool is_utf8;       /* it has had a character beyond ASCII */
    size_t ascii;       /* else: bytes of the window known to be ASCII */
    uint64_t before;    /* bytes of the text before the window */
    struct utf16 utf16; /* of the text in progress */
    struct buf raw;     /* of it, where it is UTF-16: what was read last */
    uint64_t done;      /* bytes of the files before this one */
    uint64_t line;      /* of JSON, from 1 */
    bool inside;        /* of a document that has given a chunk */
    bool after;         /* a separator: line breaks that follow belong to it */
};
void text_reader_init(struct text_reader *r, const struct data_source *list, size_t n,
                      const char *separator);
void text_reader_release(struct text_reader *r);
/*
 * The next chunk into out (its bytes are replaced), and whether its document ends with
 * it; a chunk may be empty then. Line breaks beside a separator are not part of the
 * documents, empty documents are none. *source is the place of its file in the list, n
 * when there are no more. ERR_FORMAT names file and line of what is no JSON with a text, or
 * as text_stream_next; ERR_RANGE: a bomb, a line or word of TEXT_LINE_MAX bytes.
 */
int text_reader_next(struct text_reader *r, struct buf *out, bool *ends, size_t *source);
/* Bytes read so far, of all files, packed as they are. */
uint64_t text_reader_bytes(const struct text_reader *r);

#endif
