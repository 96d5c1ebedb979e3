#ifndef PRATTLE_MODEL_BASE_BUF_H
#define PRATTLE_MODEL_BASE_BUF_H
/*
 * A growing run of bytes, always followed by a NUL that is not counted. A failed
 * append leaves the buffer as it was.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data; /* owned; NULL while nothing was ever appended */
    size_t n;
    size_t cap;
};

void buf_release(struct buf *b); /* leaves a zeroed, usable buffer */
int buf_reserve(struct buf *b, size_t more);
int buf_add(struct buf *b, const void *bytes, size_t n);
int buf_str(struct buf *b, const char *s);
int buf_char(struct buf *b, char c);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int buf_vprintf(struct buf *b, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));
/* Bytes as lower-case hexadecimal digits; out holds 2 n + 1. */
void text_hex(char *out, const unsigned char *bytes, size_t n);
bool text_ends_in(const char *text, const char *ending);
/* The bytes as a C string, never NULL; borrowed. */
const char *buf_text(const struct buf *b);

#endif
