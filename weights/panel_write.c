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
#include "model/base/file_lock.h"
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

int panel_writer_create(const char *path)
{
    struct stat st;
    int fd = file_lock_take(path, 0600);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && ftruncate(fd, 0) == 0)
        return fd;
    close(fd);
    return -1;
}

/* A disk without room says so before anything is written, where the file system can tell. */
static bool take_room(int fd, size_t bytes)
{
    return fallocate(fd, 0, 0, (off_t)(panel_block_at(bytes) + bytes)) == 0 || errno == EOPNOTSUPP;
}

bool panel_writer_commit(const struct panel_writer *w, int fd)
{
    struct panel_head *head = (struct panel_head *)w->front;
    const size_t n = panel_front_bytes(w->bytes);
    head->sum = 0;
    head->sum = xxh64(w->front, n);
    if (write_at(fd, w->front, n, 0) && fsync(fd) == 0 && rename(w->temp, w->path) == 0)
        return true;
    unlink(w->temp);
    return false;
}

static bool write_chunks(const struct panel_writer *w, const char *block, int fd)
{
    uint64_t *sums = panel_writer_sums(w);
    for (size_t i = 0; i < panel_chunks(w->bytes); i++) {
        const char *chunk = block + i * PANEL_CHUNK;
        const size_t n = panel_chunk_bytes(w->bytes, i);
        sums[i] = xxh64(chunk, n);
        if (!write_at(fd, chunk, n, panel_block_at(w->bytes) + i * PANEL_CHUNK))
            return false;
    }
    return true;
}

static void write_and_rename(const struct panel_writer *w, const char *block)
{
    int fd = panel_writer_create(w->temp);
    if (fd < 0)
        return;
    if (take_room(fd, w->bytes) && write_chunks(w, block, fd))
        panel_writer_commit(w, fd);
    else
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

static void fork_write(const struct panel_writer *w, const char *block, bool waits)
{
    int status;
    pid_t child = _Fork();
    if (child == 0) {
        leave_parent();
        if (waits || _Fork() == 0)
            write_and_rename(w, block);
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

int panel_writer_prepare(struct panel_writer *w, const char *folder, const char *key, size_t bytes,
                         const struct panel_entry *entry)
{
    *w = (struct panel_writer){.bytes = bytes};
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

void panel_writer_release(struct panel_writer *w)
{
    mem_free(w->path);
    mem_free(w->temp);
    mem_free(w->front);
    *w = (struct panel_writer){0};
}

uint64_t *panel_writer_sums(const struct panel_writer *w)
{
    return (uint64_t *)(void *)(w->front + PANEL_HEAD);
}

void panel_write(const char *folder, const char *key, const void *block, size_t bytes,
                 const struct panel_entry *entry, bool waits)
{
    struct panel_writer w;
    if (panel_writer_prepare(&w, folder, key, bytes, entry) == 0)
        fork_write(&w, block, waits);
    panel_writer_release(&w);
}
