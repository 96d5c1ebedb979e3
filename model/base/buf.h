#ifndef PRATTLE_MODEL_BASE_BUF_H
#define PRATTLE_MODEL_BASE_BUF_H
/*
 * A growable byte buffer. The bytes are always followed by a NUL that n does not count. Every
 * append returns 0 or ERR_NOMEM, and a failed append leaves the buffer unchanged. A zeroed struct
 * is an empty buffer.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data; /* [cap], owned; NULL before the first append */
    size_t n;
    size_t cap;
};

void buf_release(struct buf *b); /* leaves an empty buffer */
/* Reserve room to append `more` bytes. */
int buf_reserve(struct buf *b, size_t more);
int buf_add(struct buf *b, const void *bytes, size_t n);
int buf_str(struct buf *b, const char *s);
int buf_char(struct buf *b, char c);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int buf_vprintf(struct buf *b, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));
/* n bytes as lower-case hexadecimal digits and a NUL; out [2 n + 1]. */
void text_hex(char *out, const unsigned char *bytes, size_t n);
bool text_ends_in(const char *text, const char *ending);
/* The bytes as a C string, "" for an empty buffer; borrowed until the next append. */
const char *buf_text(const struct buf *b);

#endif
