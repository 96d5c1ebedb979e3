#ifndef PRATTLE_WEIGHTS_LOAD_H
#define PRATTLE_WEIGHTS_LOAD_H
/* From a source to a model in memory. */
#include "model/adapter.h"
#include "model/base/file_set.h"
#include "model/base/progress.h"
#include "model/model.h"
#include "weights/tensors/source.h"

struct load_config {
    enum dtype dtype; /* of the matrices in memory: fp16 or fp32 */
    uint64_t seed;    /* for random: */
    bool says_checkpoint; /* a note says which one a run's folder has opened */
};

/* path as source_open; an adapter's folder, or a run's with checkpoints of one, loads the base it
 * names, the adapter beside it and switched on. On failure *out is untouched. NaN, infinities: loaded, with a note that names the
 * first such tensor and how many. */
int model_load(struct model **out, const char *path, const struct load_config *c,
               const struct progress *p);

/*
 * Put an adapter beside m, switched on, from m's source in its own precision, or from memory
 * where that has changed. a is m's on success and the caller's on failure; m is then as it
 * was. One that m had goes. ERR_RANGE names a tensor that with it has weights which are NaN or
 * infinite in memory, and are not without it.
 */
int adapter_load(struct adapter *a, struct model *m, const struct progress *p);
/* The same in two: files that are open and checked, then read. */
struct model_files {
    struct source source;
    struct adapter *adapter; /* of an adapter's folder, whose base the source is; owned */
    char *path;              /* of the source; owned */
    char *checkpoint;        /* "runs/a, checkpoint of step 200", the model's name; else NULL; owned */
};
int model_files_open(struct model_files *f, const char *path, uint64_t seed,
                     const struct progress *p);
/* The same of a Hugging Face folder, or an adapter's, whose files are open; they stay the
 * caller's. */
int model_files_open_folder(struct model_files *f, const char *path, const struct file_set *open,
                            const struct progress *p);
void model_files_close(struct model_files *f);
/* Once; f stays open, its weights to be read again as they are in the file. */
int model_read(struct model **out, struct model_files *f, enum dtype dtype,
               const struct progress *p);

#endif
