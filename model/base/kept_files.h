#ifndef PRATTLE_MODEL_BASE_KEPT_FILES_H
#define PRATTLE_MODEL_BASE_KEPT_FILES_H
/*
 * The bytes of a few files that came with a model, in memory, so that they are written again with
 * it as they were, whatever has become of their folder.
 */
#include <stdbool.h>
#include <stddef.h>

enum { KEPT_FILES_MAX = 12 };

struct kept_file {
    const char *name; /* a literal */
    char *bytes;      /* [n], owned, and a NUL after them */
    size_t n;
};

/* Zeroed: empty. */
struct kept_files {
    struct kept_file files[KEPT_FILES_MAX];
    int n;
};
void kept_files_release(struct kept_files *k); /* leaves it empty */
/* Add a copy of a file, instead of one of that name. ERR_NOMEM: *k is as it was. */
int kept_files_add(struct kept_files *k, const char *name, const char *bytes, size_t n);
const struct kept_file *kept_files_find(const struct kept_files *k, const char *name); /* or NULL */
/* Copy all into an empty *k. ERR_NOMEM: it is empty again. */
int kept_files_copy(struct kept_files *k, const struct kept_files *from);
size_t kept_files_bytes(const struct kept_files *k);
/* Write them into an existing folder. ERR_EXISTS: it has one of these names, without force. */
int kept_files_write(const struct kept_files *k, const char *folder, bool force);

#endif
