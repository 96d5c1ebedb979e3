#ifndef PRATTLE_MODEL_BASE_ERR_H
#define PRATTLE_MODEL_BASE_ERR_H
/*
 * Errors. A function that can fail returns 0, or one of these codes after one err_set. The message
 * is per thread and stays until the next err_set. It is lower case without a full stop and states
 * the failure first, then the value found and the value expected, then what the user can do.
 */
enum err_code {
    ERR_NOMEM = -1,       /* no memory, or more than the machine has */
    ERR_IO = -2,          /* a system call failed; the message has strerror's text */
    ERR_FORMAT = -3,      /* malformed input */
    ERR_RANGE = -4,       /* a value out of range or of the wrong type */
    ERR_FULL = -5,        /* the context, the cache or a buffer is full */
    ERR_INTERRUPTED = -6, /* Ctrl-C or SIGTERM; every object is still valid */
    ERR_UNSUPPORTED = -7, /* valid, but not implemented */
    ERR_MISSING = -8,     /* no such file, name or tensor */
    ERR_EXISTS = -9,      /* would overwrite a file; --force allows it */
    ERR_MISMATCH = -10,   /* made for other weights, or by another version */
    ERR_NOT_FINITE = -11  /* logits, or a loss, are NaN or infinite */
};

/* Set the message. Returns code. */
int err_set(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Set the message, ": " and strerror(errno). Returns ERR_IO. */
int err_errno(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Put "<text>: " before the current message. Returns its code. */
int err_wrap(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* This thread's message, "" if none; borrowed until the next err_set. */
const char *err_text(void);
/* Its code, 0 if none. */
int err_last(void);
void err_clear(void);

/* The message as it is, to be put back after calls that may set another. */
enum { ERR_TEXT_BYTES = 1024 };
struct err_kept {
    int code;
    char text[ERR_TEXT_BYTES];
};
void err_keep(struct err_kept *k);
/* Returns its code. */
int err_restore(const struct err_kept *k);

#endif
