#ifndef PRATTLE_MODEL_BASE_PROGRESS_H
#define PRATTLE_MODEL_BASE_PROGRESS_H
/*
 * Progress of long work, and its interruption. Code below repl/ never prints: it calls these
 * functions, which call back into repl/. A NULL progress is silent.
 */
#include <stdbool.h>
#include <stdint.h>

/* Work of this name counts bytes that come over a network, whose rate is of interest. */
#define PROGRESS_DOWNLOADING "downloading"
/* Whether work of this name counts what its name ends in, "checking tokens"; other work of large
 * totals counts bytes. */
bool progress_counts(const char *what);

struct progress {
    /* `done` of `total` units (total 0: not known) are done. Called often; redraws as seldom as it
     * wants. */
    void (*step)(void *user, const char *what, uint64_t done, uint64_t total);
    /* A warning for the user; text is borrowed for the call. */
    void (*note)(void *user, const char *text);
    void *user;
};

/* Report progress. Returns 0, or ERR_INTERRUPTED if interrupt_pending(). */
int progress_step(const struct progress *p, const char *what, uint64_t done, uint64_t total);
void progress_note(const struct progress *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The flag that Ctrl-C and SIGTERM set; async-signal-safe. */
void interrupt_raise(void);
void interrupt_clear(void);
bool interrupt_pending(void);

#endif
