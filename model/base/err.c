#include "model/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1024 };

static _Thread_local char text[TEXT_BYTES];
static _Thread_local int last;

int err_set(int code, const char *fmt, ...)
{
    /* An argument may point into text itself. */
    char fresh[TEXT_BYTES];
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
    char fresh[TEXT_BYTES / 2];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(fresh, sizeof fresh, fmt, ap);
    va_end(ap);
    return err_set(ERR_IO, "%s: %s", fresh, strerror(saved));
}

int err_wrap(const char *fmt, ...)
{
    char outer[TEXT_BYTES / 2], inner[TEXT_BYTES];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(outer, sizeof outer, fmt, ap);
    va_end(ap);
    memcpy(inner, text, sizeof inner);
    return err_set(last, "%s: %.*s", outer, (int)(TEXT_BYTES - strlen(outer) - 3), inner);
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
