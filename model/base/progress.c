#include "model/base/progress.h"

#include "model/base/err.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_bool interrupted;

bool progress_counts(const char *what)
{
    static const char *const counted[] = {"tokens", "documents", "duplicates"};
    const size_t n = strlen(what);
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        const size_t end = strlen(counted[i]);
        if (n >= end && strcmp(what + n - end, counted[i]) == 0)
            return true;
    }
    return false;
}

int progress_step(const struct progress *p, const char *what, uint64_t done, uint64_t total)
{
    if (p != NULL && p->step != NULL)
        p->step(p->user, what, done, total);
    if (interrupt_pending())
        return err_set(ERR_INTERRUPTED, "interrupted");
    return 0;
}

void progress_note(const struct progress *p, const char *fmt, ...)
{
    if (p == NULL || p->note == NULL)
        return;
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    p->note(p->user, text);
}

void interrupt_raise(void)
{
    atomic_store(&interrupted, true);
}

void interrupt_clear(void)
{
    atomic_store(&interrupted, false);
}

bool interrupt_pending(void)
{
    return atomic_load_explicit(&interrupted, memory_order_relaxed);
}
