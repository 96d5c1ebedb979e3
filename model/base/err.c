#include "model/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char text[ERR_TEXT_BYTES];
static _Thread_local int last;

int err_set(int code, const char *fmt, ...)
{
    /* An argument may point into text itself. */
    char fresh[ERR_TEXT_BYTES];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(fresh, sizeof fresh, fmt, ap);
    va_end(ap);
    memcpy(text, fresh, sizeof text);
    return last = code;
}

int err_errno(const char *fmt, ...)
{
    int saved = errno;
    char fresh[ERR_TEXT_BYTES / 2];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(fresh, sizeof fresh, fmt, ap);
    va_end(ap);
    return err_set(ERR_IO, "%s: %s", fresh, strerror(saved));
}

int err_wrap(const char *fmt, ...)
{
    char outer[ERR_TEXT_BYTES / 2], inner[ERR_TEXT_BYTES];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(outer, sizeof outer, fmt, ap);
    va_end(ap);
    memcpy(inner, text, sizeof inner);
    return err_set(last, "%s: %.*s", outer, (int)(ERR_TEXT_BYTES - strlen(outer) - 3), inner);
}

const char *err_text(void)
{
    return text;
}

int err_last(void)
{
    return last;
}

void err_clear(void)
{
    text[0] = '\0';
    last = 0;
}

void err_keep(struct err_kept *k)
{
    k->code = last;
    memcpy(k->text, text, sizeof text);
}

int err_restore(const struct err_kept *k)
{
    memcpy(text, k->text, sizeof text);
    return last = k->code;
}
