#include "model/base/buf.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void buf_release(struct buf *b)
{
    if (b == NULL)
        return;
    mem_free(b->data);
    *b = (struct buf){0};
}

int buf_reserve(struct buf *b, size_t more)
{
    if (more >= SIZE_MAX / 2 - b->n)
        return err_set(ERR_NOMEM, "cannot allocate %zu bytes", more);
    size_t need = b->n + more + 1;
    if (need <= b->cap)
        return 0;
    size_t cap = b->cap < 64 ? 64 : b->cap;
    while (cap < need)
        cap *= 2;
    char *data = mem_grow(b->data, b->n + (b->data != NULL), cap);
    if (data == NULL)
        return ERR_NOMEM;
    b->data = data;
    b->cap = cap;
    return 0;
}

int buf_add(struct buf *b, const void *bytes, size_t n)
{
    int rc = buf_reserve(b, n);
    if (rc != 0)
        return rc;
    if (n != 0)
        memcpy(b->data + b->n, bytes, n);
    b->n += n;
    b->data[b->n] = '\0';
    return 0;
}

int buf_str(struct buf *b, const char *s)
{
    return buf_add(b, s, strlen(s));
}

int buf_char(struct buf *b, char c)
{
    return buf_add(b, &c, 1);
}

int buf_vprintf(struct buf *b, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    int rc = buf_reserve(b, (size_t)n);
    if (rc != 0)
        return rc;
    vsnprintf(b->data + b->n, (size_t)n + 1, fmt, args);
    b->n += (size_t)n;
    return 0;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int rc = buf_vprintf(b, fmt, args);
    va_end(args);
    return rc;
}

const char *buf_text(const struct buf *b)
{
    return b->data == NULL ? "" : b->data;
}

void text_hex(char *out, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

bool text_ends_in(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);
    return n >= m && strcmp(text + n - m, ending) == 0;
}
