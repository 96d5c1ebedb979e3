#ifndef PRATTLE_REPL_SESSION_HOSTFILE_LINE_H
#define PRATTLE_REPL_SESSION_HOSTFILE_LINE_H
/* A host's line of a hostfile of mpirun's: its name, and words KEY=VALUE behind it. */
#include <stdbool.h>
#include <stddef.h>

enum host_key { HOST_SLOTS, HOST_MAX_SLOTS, HOST_USER, HOST_PORT, HOST_KEYS };

struct host_line {
    char name[64], text[160];      /* cut off */
    const char *values[HOST_KEYS]; /* in text; NULL: none */
    const char *unknown;           /* what is no such word, and all behind it */
    const char *first, *again;     /* two words of one key, perhaps by two names */
};

/* From the name on, which is n long. */
void host_line_read(struct host_line *l, const char *host, size_t n);
/* The value of a key; 0: none, -1: it is not a whole number from 1 on. */
long host_line_number(const struct host_line *l, enum host_key key);

/* Of the key that a word begins with. */
int host_line_key_length(const char *word);
/* A host may be named with its domain or without. */
bool host_is_same(const char *a, size_t n, const char *b);

#endif
