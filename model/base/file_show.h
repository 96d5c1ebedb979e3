#ifndef PRATTLE_MODEL_BASE_FILE_SHOW_H
#define PRATTLE_MODEL_BASE_FILE_SHOW_H
/*
 * Paths, and any other text from outside, in messages. Control characters, escape sequences and
 * invalid UTF-8 are shown as \xNN, so that a message is safe on a terminal; a long text is cut
 * between characters and its full length is given: "abc... (5000 bytes)".
 */
#include <stddef.h>

/* s in at most 255 bytes of new memory. NULL: ERR_NOMEM. */
char *file_visible(const char *s);
/* s in out [n], n >= 8. With less than 48 bytes a cut text ends in "..." alone. Returns out. */
const char *file_show(char *out, size_t n, const char *s);
/* A path as a word to type, in quotes where a shell or the prompt would take it apart. Returns out.
 */
const char *file_word(char *out, size_t n, const char *path);
/* s in at most 120 bytes of a buffer that this thread's fourth call after this one reuses: for
 * values in err_set. */
const char *file_quote(const char *s);

/* Set "cannot VERB PATH: strerror(errno)". Returns ERR_IO. */
int file_fails(const char *verb, const char *path);
/* As file_fails, but ERR_MISSING where the path does not exist (ENOENT, ENOTDIR). */
int file_error(const char *verb, const char *path);
/* Set "PATH REASON", as in "x.json is a folder, not a file". Returns code. */
int file_refuse(int code, const char *path, const char *reason);
/* Put "cannot load PATH: " before the current message. Returns its code. */
int file_wrap(const char *path);

#endif
