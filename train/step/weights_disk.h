#ifndef PRATTLE_TRAIN_STEP_WEIGHTS_DISK_H
#define PRATTLE_TRAIN_STEP_WEIGHTS_DISK_H
/*
 * The block of parameters in training (weights.h), and that of their gradients, with their layers
 * in working files: a section each, between those of the tensors outside the layers, which stay in
 * memory.
 */
#include "model/base/disk_array.h"
#include "model/config.h"
#include "model/base/dtype.h"
#include "weights/tensors/source.h"

/* Where the layers are: in a folder, but for so many of them, spread evenly. */
struct weights_place {
    const char *folder;
    int n_kept, n_gradients_kept;
};
struct weights_disk {
    struct config config;
    int n_tensors;
    const size_t *offset; /* [n_tensors + 1], in elements; borrowed */
    enum dtype dtype;
    struct disk_queue
        *queue; /* of all working files of a run but the optimizer's; owned, as are: */
    struct disk_array *block; /* the weights */
    struct disk_array *gradients;
    struct weights_reader *readers; /* [n_tensors] */
};

/* d has the first four fields. ERR_NOMEM, ERR_IO (a full disk): weights_disk_close takes it back.
 */
int weights_disk_open(struct weights_disk *d, const struct weights_place *place);
void weights_disk_close(struct weights_disk *d);

/* A layer's section. */
static inline int weights_section(int layer)
{
    return layer + 1;
}
/* In bytes, where a section begins; the one behind the last: where the block ends. */
size_t weights_disk_first(const struct weights_disk *d, int section);
/* Call f for the tensors of each section of the weights, while it is in memory; changes: what f
 * does stays. Returns the first error, of f, after which it stops, or of the disk. */
int weights_disk_each(const struct weights_disk *d, bool changes,
                      int (*f)(void *user, int first, int last), void *user);
/* Let s read its tensors, which are the weights, wherever they are. d NULL: nothing to do. */
void weights_disk_read(const struct weights_disk *d, struct source *s);

#endif
