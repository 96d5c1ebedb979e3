#include "train/data/working_file.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <sys/statvfs.h>
#include <unistd.h>

enum { BLOCK_BYTES = 1 << 18, SHOWN = 160 };

char *working_folder(void)
{
    char *folder = file_home(HOME_CACHE, "data");
    if (folder != NULL && file_make_folder(folder) != 0) {
        mem_free(folder);
        return NULL;
    }
    return folder;
}

int working_file_open(struct file *f, const char *folder, const char *name)
{
    *f = (struct file){.path = (char *)(uintptr_t)name, .fd = file_open_nameless(folder)};
    return f->fd < 0 ? file_error("write in", folder) : 0;
}

void working_file_close(struct file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    *f = (struct file){.fd = -1};
}

static int check_room(const struct file *f, const char *folder, uint64_t bytes)
{
    struct statvfs disk;
    char name[SHOWN], shown[SHOWN];
    if (fstatvfs(f->fd, &disk) != 0 || disk.f_frsize == 0)
        return 0; /* writing will tell */
    if (bytes <= disk.f_bavail * disk.f_frsize)
        return 0;
    return err_set(ERR_IO, "no room to unpack %s: %s has %.0f MB free, it needs %.0f MB",
                   file_show(name, sizeof name, f->path), file_show(shown, sizeof shown, folder),
                   (double)(disk.f_bavail * disk.f_frsize) / 1e6,
                   (double)(f->bytes + bytes) / 1e6 + 1);
}

int working_file_fill(struct file *f, const char *folder, uint64_t expected,
                      int (*read)(void *user, char *dst, size_t n, size_t *got), void *user)
{
    char *block = mem_alloc(BLOCK_BYTES);
    size_t got = BLOCK_BYTES;
    int rc = block == NULL ? ERR_NOMEM : check_room(f, folder, expected);
    while (rc == 0 && got == BLOCK_BYTES) {
        rc = read(user, block, BLOCK_BYTES, &got);
        if (rc == 0)
            rc = check_room(f, folder, got);
        if (rc == 0)
            rc = file_write_fd(f->fd, block, got);
        f->bytes += rc == 0 ? got : 0;
    }
    mem_free(block);
    return rc;
}
