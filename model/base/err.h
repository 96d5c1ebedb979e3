#ifndef PRATTLE_MODEL_BASE_ERR_H
#define PRATTLE_MODEL_BASE_ERR_H
/*
 * Errors: what can fail returns 0 or one of these codes, after one err_set. The
 * sentence is kept per thread until the next err_set: lower case, no full stop,
 * the failure first, both numbers, what the user can do about it.
 */
enum err_code {
    ERR_NOMEM = -1,       /* no memory, or more than the machine has */
    ERR_IO = -2,          /* the operating system refused; text has strerror's words */
    ERR_FORMAT = -3,      /* a file is not what it should be */
    ERR_RANGE = -4,       /* a value outside its range, or of the wrong type */
    ERR_FULL = -5,        /* the context, the cache or a buffer is full */
    ERR_INTERRUPTED = -6, /* Ctrl-C or SIGTERM; every object is still valid */
    ERR_UNSUPPORTED = -7, /* understood, but not something this program does */
    ERR_MISSING = -8,     /* a file, name or tensor that is not there */
    ERR_EXISTS = -9,      /* would overwrite; --force allows it */
    ERR_MISMATCH = -10    /* belongs to other weights, or another version */
};

/* Set the sentence; returns code. */
int err_set(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As err_set, with ": " and strerror(errno) behind it and ERR_IO as the code. */
int err_errno(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Put "<text>: " before the sentence; returns its code. */
int err_wrap(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The last sentence of this thread ("" if none), borrowed until the next err_set. */
const char *err_text(void);
/* The code that goes with it, 0 if none. */
int err_last(void);
void err_clear(void);

#endif
