#include "train/config/disk_room.h"

#include "model/adapter.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/file_path.h"
#include "model/base/mem.h"
#include "train/config/moments.h"
#include "train/config/size_text.h"
#include "train/optim/optimizer.h"

#include <math.h>
#include <sys/statvfs.h>

static int checkpoint_bytes(double *out, const struct run_config *c, const struct config *shape)
{
    const enum dtype precision = (enum dtype)c->training.precision;
    const bool all = c->lora.rank == 0;
    const double moment =
        (double)dtype_bytes(optimizer_moment(&c->optimizer, precision)) + sizeof(float);
    size_t n = (size_t)config_params(shape);
    int rc = all ? 0 : adapter_count(&n, &c->lora, shape);
    if (rc != 0)
        return rc;
    const double weights = (double)n * (all ? (double)dtype_bytes(precision) : sizeof(float));
    double moments = (double)n * moment;
    if (all && c->optimizer.kind == OPTIMIZER_MUON) {
        const struct moment_sizes s = moment_sizes_all(c, shape);
        moments = s.first + s.second;
    }
    *out = weights + moments;
    return 0;
}

static int find_free(struct disk_room *out, const char *folder)
{
    struct statvfs disk;
    char *there = file_part_there(folder);
    if (there == NULL)
        return ERR_NOMEM;
    out->free = statvfs(there, &disk) == 0 && disk.f_blocks > 0
                    ? (double)disk.f_bavail * (double)disk.f_frsize
                    : INFINITY;
    file_show(out->path, sizeof out->path, there);
    mem_free(there);
    return 0;
}

int run_config_disk_room(struct disk_room *out, const struct run_config *c,
                         const struct config *shape, double working)
{
    const char *folder = c->checkpoint.folder;
    /* In a folder there may be some already, of a run that was killed. */
    *out = (struct disk_room){.working = file_exists(folder) ? 0 : working};
    int rc = checkpoint_bytes(&out->checkpoint, c, shape);
    return rc == 0 ? find_free(out, folder) : rc;
}

struct disk_words {
    char checkpoint[SIZE_TEXT], working[SIZE_TEXT], free[SIZE_TEXT];
};

/* Whether it is, and the sizes in words. */
static bool too_small(struct disk_words *w, const struct disk_room *room)
{
    size_text(w->checkpoint, room->checkpoint);
    size_text(w->working, room->working);
    size_text(w->free, room->free);
    return room->checkpoint + room->working > room->free;
}

int run_config_disk_fits(const struct run_config *c, const struct config *shape, double working)
{
    struct disk_room room;
    struct disk_words w;
    int rc = run_config_disk_room(&room, c, shape, working);
    if (rc != 0 || !too_small(&w, &room))
        return rc;
    return room.working > 0
               ? err_set(ERR_IO,
                         "a checkpoint takes %s of disk and the working files %s, %s has %s free: "
                         "folder=DIR names another place",
                         w.checkpoint, w.working, room.path, w.free)
               : err_set(ERR_IO,
                         "a checkpoint takes %s of disk, %s has %s free: folder=DIR names another "
                         "place",
                         w.checkpoint, room.path, w.free);
}

int run_config_disk_note(const struct run_config *c, const struct config *shape, double working,
                         struct buf *out)
{
    struct disk_room room;
    struct disk_words w;
    int rc = run_config_disk_room(&room, c, shape, working);
    if (rc != 0 || !too_small(&w, &room))
        return rc;
    return room.working > 0
               ? buf_printf(out,
                            "  with a checkpoint of %s that is more than the %s free in %s: it "
                            "does not fit\n",
                            w.checkpoint, w.free, room.path)
               : buf_printf(out,
                            "  a checkpoint takes %s of disk, of %s free in %s: it does not fit\n",
                            w.checkpoint, w.free, room.path);
}
