#ifndef PRATTLE_WEIGHTS_LOAD_H
#define PRATTLE_WEIGHTS_LOAD_H
/* From a source to a model in memory. */
#include "model/adapter.h"
#include "model/base/file_set.h"
#include "model/base/progress.h"
#include "model/model.h"
#include "weights/panel_cache.h"
#include "weights/panel_stream.h"
#include "weights/tensors/source.h"

/* As dtype: DTYPE_Q8 if the source has its matrices in Q8_0 (source_is_q8), else DTYPE_F16. */
#define LOAD_DTYPE_AUTO DTYPE_OTHER

struct load_config {
    enum dtype dtype;     /* of the matrices in memory: fp16, fp32, q8 or LOAD_DTYPE_AUTO */
    uint64_t seed;        /* for random: */
    bool says_checkpoint; /* a note names the checkpoint opened in a run's folder */
    struct panel_cache cache;
    struct load_memory memory; /* zeroed: what is available */
};

/* The precision that s has in memory. */
enum dtype load_dtype(const struct source *s, enum dtype asked);
/* Load a model; path as for source_open. An adapter's folder, or a run's folder with checkpoints of
 * one, loads the base that it names and attaches the adapter, switched on. NaN and infinite weights
 * get a note with their number and the first such tensor. On failure *out is unchanged. */
int model_load(struct model **out, const char *path, const struct load_config *c,
               const struct progress *p);

/*
 * Attach an adapter to m and switch it on, merged in the precision of m's source, or of memory if
 * m's weights have changed. On success m owns a, and an adapter that it had is freed; on failure m
 * is unchanged. ERR_RANGE names a tensor whose weights the adapter makes NaN or infinite.
 */
int adapter_load(struct adapter *a, struct model *m, const struct progress *p);
/* Loading in two steps: open and check the files, then read them. */
struct model_files {
    struct source source;
    struct adapter *adapter; /* of an adapter's folder, whose base the source is; owned */
    char *path;              /* of the source; owned */
    char *checkpoint; /* "runs/a, checkpoint of step 200", the model's name; else NULL; owned */
    /* For model_read, which the caller sets; zeroed: none, and what is available. */
    struct panel_cache cache;
    struct load_memory memory;
};
int model_files_open(struct model_files *f, const char *path, uint64_t seed,
                     const struct progress *p);
/* The same for a checkpoint's folder, a Hugging Face one or an adapter's, with files that are open
 * already, which stay the caller's; base: where that of the adapter is now, as of
 * adapter_base_resumed. */
int model_files_open_folder(struct model_files *f, const char *path, const struct file_set *open,
                            const char *base, const struct progress *p);
void model_files_close(struct model_files *f);
/* Read the model, once. f stays open, so that the file's own weights can be read again. */
int model_read(struct model **out, struct model_files *f, enum dtype dtype,
               const struct progress *p);

#endif
