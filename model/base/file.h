#ifndef PRATTLE_MODEL_BASE_FILE_H
#define PRATTLE_MODEL_BASE_FILE_H
/*
 * Files. Reading is by pread, never by a map: a file that shrinks while it is read
 * gives a sentence, not SIGBUS. Only regular files open for reading: a directory,
 * FIFO or device is refused by name. All sentences show paths with control
 * characters made visible.
 */
#include "model/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct file {
    int fd;
    uint64_t bytes; /* size when opened */
    uint64_t stamp; /* of which file it is and when it was written; never 0 */
    char *path;     /* owned; as given */
};

/* ERR_MISSING when it is not there, ERR_IO or ERR_FORMAT (not a regular file). */
int file_open(struct file *f, const char *path);
void file_close(struct file *f);
/* Exactly n bytes at offset, from any thread; fewer is ERR_FORMAT, "ends at ...". */
int file_read_at(const struct file *f, void *dst, uint64_t offset, size_t n);
/* The whole file, at most max bytes (ERR_RANGE above), appended to out. */
int file_read_all(struct buf *out, const char *path, uint64_t max);
/* The same of one that is open. */
int file_read_whole(struct buf *out, const struct file *f, uint64_t max);
/* All of a descriptor (standard input, a pipe) up to its end. */
int file_read_fd(struct buf *out, int fd);
/* Wait until fd can be read: 0, or ERR_INTERRUPTED, of which no moment is missed. */
int file_wait(int fd);

/*
 * Atomic writing: bytes go to a temporary name in the same folder; file_commit
 * syncs, renames and syncs the folder. Until then the old file stands. Without
 * force, an existing path is refused with ERR_EXISTS (again at the commit).
 */
struct file_writer {
    int fd;
    char *path, *temp; /* owned */
    bool force;
    uint64_t at; /* bytes written */
    struct buf pending;
};
int file_create(struct file_writer *w, const char *path, bool force);
int file_write(struct file_writer *w, const void *bytes, size_t n);
int file_commit(struct file_writer *w);
void file_abandon(struct file_writer *w); /* NULL-safe, and harmless after a commit */

/* Put n bytes behind what the file has, making it if it is not there. */
int file_append(const char *path, const void *bytes, size_t n);

/* Make a rename last: sync the folder that path is in. */
int file_sync_parent(const char *path);

bool file_exists(const char *path);
/* Both are there, and one and the same, links followed. */
bool file_is_same(const char *a, const char *b);
bool file_is_folder(const char *path);
/* mkdir -p; 0 when it is there already. */
int file_make_folder(const char *path);
/* Whether it could be, or is there and can be written to; nothing is made. */
int file_look_folder(const char *path);
/* folder/name in fresh memory. */
char *file_join(const char *folder, const char *name);
/* "~/x" with the home folder, else a copy. */
char *file_expand(const char *path);
/*
 * Where the program keeps NAME by the XDG Base Directory Specification, in fresh memory;
 * nothing is made: $XDG_STATE_HOME/prattle/NAME or ~/.local/state/prattle/NAME, and so on.
 * NULL: ERR_NOMEM, or ERR_MISSING as the machine does not say where home is.
 */
enum file_home { HOME_CONFIG, HOME_DATA, HOME_STATE, HOME_CACHE };
char *file_home(enum file_home kind, const char *name);
/* s for a sentence, in fresh memory: control characters, escape sequences and invalid UTF-8 as
 * \xNN, safe for a terminal; what is beyond 255 bytes is cut, and how long s is said. */
char *file_visible(const char *s);
/* The same into out[n], n >= 8: what does not fit is cut at a character, "abc... (5000 bytes)"; in
 * less than 48 bytes "abc...". Returns out. */
const char *file_show(char *out, size_t n, const char *s);
/* The same in at most 120 bytes, for a value that somebody gave: borrowed until the fourth call
 * from here on in this thread. */
const char *file_quote(const char *s);
/* "cannot VERB PATH: " and errno's words, the path made visible; ERR_IO. */
int file_fails(const char *verb, const char *path);
/* Put "cannot load PATH: " before the sentence, the path made visible; its code. */
int file_wrap(const char *path);

#endif
