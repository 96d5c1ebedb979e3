#ifndef PRATTLE_REPL_SESSION_BATCH_INPUT_H
#define PRATTLE_REPL_SESSION_BATCH_INPUT_H
/*
 * The lines of a batch's input. Of UTF-16, which a byte order mark tells, they are made UTF-8; that
 * mark, and the one of UTF-8, is no text.
 */
#include "model/base/buf.h"
#include "train/data/utf16.h"

struct batch_input {
    int fd;
    const char *path;   /* borrowed; NULL: standard input */
    struct buf pending; /* read, not yet a line; `at` of it is used */
    size_t at;
    bool ended, begun; /* begun: its first bytes have been looked at */
    struct utf16 utf16;
    struct buf raw;    /* UTF-16: the bytes that were read last */
    bool beyond_ascii; /* a line had characters beyond ASCII */
};
/* The next line without its end, borrowed until the next call; an enum request_next or a code. With
 * wait it is never REQUEST_LATER. */
int batch_input_next(struct batch_input *in, const char **line, size_t *n, bool wait);
/* `pending` has all of the input, as it was read. */
int batch_input_begin_whole(struct batch_input *in);
/* Append all that fd yields to text, as one prompt: UTF-8, or refused as by batch_input_check. */
int batch_input_whole(struct buf *text, int fd);
/* ERR_FORMAT: the line is not UTF-8; the message has the line to type. */
int batch_input_check(struct batch_input *in, const char *line, size_t n);
void batch_input_release(struct batch_input *in);

#endif
