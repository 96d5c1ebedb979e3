#ifndef PRATTLE_MODEL_BASE_PROGRESS_H
#define PRATTLE_MODEL_BASE_PROGRESS_H
/*
 * How long work reports upwards, and how it is told to stop. Nothing below repl/
 * prints: it calls these, and a NULL progress is silent.
 */
#include <stdbool.h>
#include <stdint.h>

struct progress {
    /* done of total units (total 0: not known); called often, draws when it likes. */
    void (*step)(void *user, const char *what, uint64_t done, uint64_t total);
    /* One sentence the user should see: a warning. Borrowed for the call. */
    void (*note)(void *user, const char *text);
    void *user;
};

/* Reports, and returns ERR_INTERRUPTED when interrupt_pending(), else 0. */
int progress_step(const struct progress *p, const char *what, uint64_t done, uint64_t total);
void progress_note(const struct progress *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The one flag that Ctrl-C and SIGTERM set; safe in a signal handler. */
void interrupt_raise(void);
void interrupt_clear(void);
bool interrupt_pending(void);

#endif
