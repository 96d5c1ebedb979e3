#ifndef PRATTLE_TRAIN_DATA_TEXT_READER_H
#define PRATTLE_TRAIN_DATA_TEXT_READER_H
/*
 * The documents of texts and JSON lines in chunks of about a megabyte, so that a text of any size
 * is read in little memory. Encoded one by one, the chunks give the ids of the whole: a long
 * document is cut only before a space or line break that follows a visible character, where GPT-2's
 * pretokenizer always begins a new word. Packed files are unpacked while they are read;
 * each text of an archive is a document of its own, like a file, and what is no text there is left
 * out. A text that begins with the byte
 * order mark of UTF-16 is read as UTF-16. A text that is not UTF-8, as in a code page such as
 * Latin-1 or with damage, is refused; but its last character may be cut off, as by head -c.
 */
#include "model/tokenizer/tokenizer.h"
#include "train/data/pairs.h"
#include "train/data/text_stream.h"
#include "train/data/utf16.h"

/* Of a line, a record or a word, unless the caller says otherwise. */
#define TEXT_LINE_MAX ((size_t)1 << 28)

struct text_reader;

/*
 * Another way to find the documents of a text than by lines and separators. next appends the next
 * document, or a part of it, to out, from the window's unread bytes, and moves `used` behind it;
 * text_reader_refill reads more of the text. *got false at the text's end.
 */
struct text_splitter {
    /* A text begins. */
    void (*begin)(struct text_reader *r, void *state);
    int (*next)(struct text_reader *r, void *state, struct buf *out, bool *ends, bool *got);
    void *state; /* borrowed */
    bool whole;  /* a long document is given in one chunk too */
};

struct text_reader {
    const struct data_source *list; /* [n], borrowed: text and JSON lines */
    size_t n, at;                   /* at: the file in progress */
    const char *separator;          /* borrowed; "" cuts no file */
    const char *field;              /* of JSON's objects; borrowed */
    /* An object that is one of these is a document as well: a chunk of the prompt, then those of
     * the completion. NULL: there are none. Borrowed. */
    const struct pairs *pairs;
    /* Its special tokens are read as such: no chunk ends in one, or with one. NULL: they are text.
     * Borrowed. */
    const struct tokenizer *special;
    size_t line_max; /* bytes of a line, a record or a word */
    /* Called when a text begins, its first bytes in the window: a splitter for it, or NULL. May set
     * stream.kind. NULL: none. */
    const struct text_splitter *(*choose)(struct text_reader *r, void *user);
    void *user;
    const struct text_splitter *splitter; /* of the text in progress; NULL: by its kind */
    struct text_stream stream;            /* of list[at]; closed: not begun */
    struct buf window; /* of the text in progress, its unread bytes from `used` on */
    size_t used;
    bool open, ended;   /* a text is in progress; it has been read to its end */
    bool beyond_ascii;  /* a character beyond ASCII was seen */
    size_t checked;     /* bytes of the window that are known to be UTF-8 */
    uint64_t before;    /* bytes of the text before the window */
    struct utf16 utf16; /* of the text in progress */
    struct buf raw;     /* UTF-16: the bytes that were read last */
    struct buf record;  /* a long document of a line or record, given up to `given` */
    size_t given;
    bool prompt;              /* the chunk given last is a prompt, and `record` its completion */
    uint64_t done;            /* bytes of the files before this one */
    uint64_t line;            /* of JSON, from 1 */
    bool inside;              /* a document that has given a chunk is not at its end */
    bool after;               /* a separator was passed: line breaks that follow belong to it */
    struct left_out left_out; /* of archives */
    uint64_t n_replaced;      /* JSON lines with a surrogate whose other half is not there */
    char replaced[TEXT_NAME + 32]; /* which was the first */
};
/* The field is TEXT_FIELD. */
void text_reader_init(struct text_reader *r, const struct data_source *list, size_t n,
                      const char *separator);
void text_reader_release(struct text_reader *r);
/*
 * Replace the bytes of out by the next chunk; *ends says whether its document ends with it, and
 * only then may the chunk be empty. Line breaks next to a separator do not belong to the documents;
 * empty documents are left out. *source is the index of the chunk's file in the list, or n if there
 * are no more chunks. ERR_FORMAT names file and line of invalid JSON or an object without a text,
 * or as text_stream_next; ERR_RANGE: a decompression bomb, or a line, record or word above
 * line_max bytes.
 */
int text_reader_next(struct text_reader *r, struct buf *out, bool *ends, size_t *source);
/* For splitters: more of the text behind the window's unread bytes, as much as there are of them;
 * r->ended says whether the text has no more. Errors as text_reader_next. */
int text_reader_refill(struct text_reader *r);
/* One note on all that was left out, one on all that was replaced. */
void text_reader_note(const struct text_reader *r, const struct progress *p);
/* Bytes read so far of all files; of packed files, packed bytes. */
uint64_t text_reader_bytes(const struct text_reader *r);

#endif
