#ifndef PRATTLE_MODEL_BASE_FILE_H
#define PRATTLE_MODEL_BASE_FILE_H
/*
 * Reading and writing files. Reads use pread, never a memory map: a file that shrinks while it is
 * being read gives an error, not SIGBUS. file_open opens regular files only; a folder, FIFO or
 * device is refused with its kind in the message. file_path.h has paths and folders, file_show.h
 * the messages.
 */
#include "model/base/buf.h"
#include "model/base/file_path.h"
#include "model/base/file_show.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- reading ---- */

struct file {
    int fd;
    uint64_t bytes; /* size when opened */
    uint64_t stamp; /* hash of device, inode, size and modification time; never 0 */
    char *path;     /* owned; as given */
};

/* ERR_MISSING if path does not exist, ERR_FORMAT if it is not a regular file, ERR_IO. */
int file_open(struct file *f, const char *path);
void file_close(struct file *f);
/* Read exactly n bytes at offset; any thread may call this. ERR_FORMAT: the file ends before. */
int file_read_at(const struct file *f, void *dst, uint64_t offset, size_t n);
/* *same: whether n bytes of a from at_a on are those of b from at_b on. */
int file_compare(bool *same, const struct file *a, uint64_t at_a, const struct file *b,
                 uint64_t at_b, uint64_t n);
/* Append the whole file at path to out; ERR_RANGE if it has more than max bytes. */
int file_read_all(struct buf *out, const char *path, uint64_t max);
/* The same for an open file. */
int file_read_whole(struct buf *out, const struct file *f, uint64_t max);
/* *fd, the caller's, yields the bytes of a file, or what comes through a pipe or a device; a FIFO
 * without a writer is waited for. ERR_MISSING, ERR_FORMAT, ERR_IO, ERR_INTERRUPTED. */
int file_open_input(int *fd, const char *path);
/* Append all that a descriptor (standard input, a pipe) yields up to its end. ERR_INTERRUPTED. */
int file_read_fd(struct buf *out, int fd);
/* Block until fd is readable. Returns 0, or ERR_INTERRUPTED; an interrupt that arrives just before
 * the wait ends it too. */
int file_wait(int fd);

/* ---- writing ---- */

/*
 * Atomic replacement: bytes go to a temporary file in the same folder, and file_commit syncs it,
 * renames it to path and syncs the folder. Until the rename an old file keeps its contents.
 * Without force an existing path is refused with ERR_EXISTS, at file_create and again at
 * file_commit. With it, what a symbolic link leads to is replaced; the new file has the permissions
 * of the old one, and its owner where the system allows it. A pipe and a character device are
 * written as the bytes come; file_patch and file_reread fail there.
 */
struct file_writer {
    int fd;
    char *path, *temp;    /* owned; temp NULL: a pipe or a device */
    bool force, replaces; /* replaces: there was a file */
    mode_t mode;          /* of the old file */
    uid_t owner;
    gid_t group;
    uint64_t at; /* bytes written so far */
    struct buf pending;
};
int file_create(struct file_writer *w, const char *path, bool force);
int file_write(struct file_writer *w, const void *bytes, size_t n);
/* Replace n bytes at offset of those written so far; and read them back. */
int file_patch(struct file_writer *w, uint64_t offset, const void *bytes, size_t n);
int file_reread(struct file_writer *w, void *dst, uint64_t offset, size_t n);
int file_commit(struct file_writer *w);
/* Let the file be PATH + ending instead, PATH's name cut where it is too long. ERR_EXISTS: there is
 * one. Before file_commit, not of a pipe or a device. */
int file_divert(struct file_writer *w, const char *ending);
/* All of these at once: n bytes become the file at path. */
int file_write_whole(const char *path, const void *bytes, size_t n, bool force);
/* Delete the temporary file. Accepts NULL; after file_commit it does nothing. */
void file_abandon(struct file_writer *w);

/* A descriptor for reading and writing of an empty file in a folder that has no name there: it goes
 * with its last descriptor, however the program ends. -1: errno says why. */
int file_open_nameless(const char *folder);

/* Give an open file these permissions, and this owner where the system allows it. Where the group
 * cannot be this one, the other one may what others might. */
int file_set_permissions(int fd, const char *path, mode_t mode, uid_t owner, gid_t group);

/* Write all of n bytes to an open descriptor. ERR_IO. */
int file_write_fd(int fd, const void *bytes, size_t n);

/* Append n bytes to the file at path, which is created if missing: all of them, or, after an
 * error, none unless another process appended meanwhile. */
int file_append(const char *path, const void *bytes, size_t n);
/* The error that file_append would give, as far as can be told before; creates nothing. */
int file_check_append(const char *path);

/* Sync the folder that contains path, which makes a rename durable. */
int file_sync_parent(const char *path);

#endif
