/*
 * Writing is left to a child of a child, so that nobody waits for it and nothing is left to reap:
 *
 *     this process --fork--> child --fork--> writer: niced, in a session of its own
 *          |                   |                |
 *       waits for the child   ends             KEY.tmp, sync, rename to KEY, ends
 *
 * The writer's memory is a copy of ours as of the fork, whatever is trained here meanwhile. After
 * the fork it uses functions alone that are safe there (signal-safety(7)): all texts and the buffer
 * of the header are made before.
 */
#include "weights/panel_write.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/xxh64.h"
#include "weights/panel_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOWEST_PRIORITY = 19 };

struct writer {
    char *temp, *path; /* owned */
    char *front;       /* [panel_front_bytes]: header, and room for the checksums; owned */
    const char *block;
    size_t bytes;
};

static bool write_at(int fd, const char *from, size_t n, uint64_t at)
{
    while (n > 0) {
        ssize_t done = pwrite(fd, from, n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        from += done;
        at += (uint64_t)done;
        n -= (size_t)done;
    }
    return true;
}

/* The file of this name, locked and empty; -1: another process writes it, or it cannot be made. */
static int open_temp(const char *path)
{
    struct stat mine, there;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return -1;
    /* Between open and flock another process may have renamed or deleted it. */
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &mine) == 0 && S_ISREG(mine.st_mode) &&
        stat(path, &there) == 0 && there.st_ino == mine.st_ino && there.st_dev == mine.st_dev &&
        ftruncate(fd, 0) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool write_entry(const struct writer *w, int fd)
{
    struct panel_head *head = (struct panel_head *)w->front;
    uint64_t *sums = (uint64_t *)(w->front + PANEL_HEAD);
    const uint64_t block_at = panel_block_at(w->bytes);
    /* A disk without room says so before anything is written, where the file system can tell. */
    if (fallocate(fd, 0, 0, (off_t)(block_at + w->bytes)) != 0 && errno != EOPNOTSUPP)
        return false;
    for (size_t i = 0; i < panel_chunks(w->bytes); i++) {
        const char *chunk = w->block + i * PANEL_CHUNK;
        const size_t n = panel_chunk_bytes(w->bytes, i);
        sums[i] = xxh64(chunk, n);
        if (!write_at(fd, chunk, n, block_at + i * PANEL_CHUNK))
            return false;
    }
    head->sum = 0;
    head->sum = xxh64(w->front, panel_front_bytes(w->bytes));
    return write_at(fd, w->front, panel_front_bytes(w->bytes), 0) && fsync(fd) == 0;
}

static void write_and_rename(const struct writer *w)
{
    int fd = open_temp(w->temp);
    if (fd < 0)
        return;
    if (!write_entry(w, fd) || rename(w->temp, w->path) != 0)
        unlink(w->temp);
    close(fd);
}

/* What the writer must not hold: the terminal, pipes that somebody reads to their end, locks. */
static void leave_parent(void)
{
    setsid();
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
    close_range(3, ~0u, 0);
    setpriority(PRIO_PROCESS, 0, LOWEST_PRIORITY);
    signal(SIGXFSZ, SIG_IGN);
}

static void fork_write(const struct writer *w, bool waits)
{
    int status;
    pid_t child = _Fork();
    if (child == 0) {
        leave_parent();
        if (waits || _Fork() == 0)
            write_and_rename(w);
        _exit(0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
}

/* Cut to fit, with its NUL. */
static void put_text(char *out, size_t n, const char *text)
{
    snprintf(out, n, "%s", text == NULL ? "" : text);
}

static int prepare_write(struct writer *w, const char *folder, const char *key,
                         const struct panel_entry *entry)
{
    w->path = file_join(folder, key);
    w->temp = w->path == NULL ? NULL : mem_sprintf("%s.tmp", w->path);
    w->front = w->temp == NULL ? NULL : mem_alloc(panel_front_bytes(w->bytes));
    if (w->front == NULL)
        return ERR_NOMEM;
    struct panel_head *head = (struct panel_head *)w->front;
    memcpy(head->magic, PANEL_MAGIC, sizeof head->magic);
    head->version = PANEL_FILE_VERSION;
    head->dtype = entry->dtype;
    head->block_bytes = w->bytes;
    head->chunk_bytes = PANEL_CHUNK;
    put_text(head->key, sizeof head->key, key);
    put_text(head->name, sizeof head->name, entry->name);
    put_text(head->source, sizeof head->source, entry->source);
    return 0;
}

void panel_write(const char *folder, const char *key, const void *block, size_t bytes,
                 const struct panel_entry *entry, bool waits)
{
    struct writer w = {.block = block, .bytes = bytes};
    if (prepare_write(&w, folder, key, entry) == 0)
        fork_write(&w, waits);
    mem_free(w.path);
    mem_free(w.temp);
    mem_free(w.front);
}
