#ifndef PRATTLE_TRAIN_RUN_CHECKPOINT_H
#define PRATTLE_TRAIN_RUN_CHECKPOINT_H
/*
 * Checkpoints of a training run: FOLDER/step-000400, which is a Hugging Face model, or an
 * adapter of PEFT's, that anything opens, and beside its files
 *
 *   training.safetensors   the optimizer's blocks, as they lie in memory
 *   state.json             what the run needs to go on, in its own words
 *   manifest.json          size and SHA-256 of every file; written last
 *
 * A checkpoint is written under another name in the same folder, every file synced, then renamed
 * (folder_commit, weights/tensors/folder.h): a name step-N exists only when it is whole, and older
 * ones go only after that. What was damaged later is noticed by the manifest and passed over.
 */
#include "model/adapter.h"
#include "model/base/file_set.h"
#include "model/base/json.h"
#include "model/base/progress.h"
#include "train/optim/optimizer.h"
#include "train/run/folder.h"
#include "train/step/stage.h"
#include "weights/tensors/source.h"

struct checkpoint_content {
    int64_t step;
    struct source *weights;        /* written as they are; NULL: there is */
    const struct adapter *adapter; /* an adapter alone, for the model that is loaded from */
    const char *base;
    const struct optimizer_block *blocks;
    int n_blocks;
    /* Bytes of them, where these are not all in this process; NULL: they are. */
    int (*read)(void *user, int block, void *to, size_t first, size_t n);
    void *user;
    json_t *state; /* an object; borrowed */
};

/*
 * Write FOLDER/step-NNNNNN, which must not be there: model.safetensors and what belongs to it by
 * source_save_hf (weights/hf/save_hf.h) or adapter_write, then the three above. On failure (ERR_IO:
 * the disk is full; ERR_INTERRUPTED) the other checkpoints are as they were.
 */
int checkpoint_write(const struct run_folder *f, const struct checkpoint_content *c,
                     const struct progress *p);

/* One that was verified, to read from. */
struct checkpoint {
    char *path; /* owned; a model to load */
    int64_t step;
    json_t *state;
    struct tensor_file *blocks;
    struct file_set files; /* all that the manifest names, open since they were verified */
};

/*
 * The newest checkpoint in a run's folder whose files are what the manifest says, or,
 * when path is itself a checkpoint, that one: c->path then names it in its run's folder,
 * also where path was "." or a link called otherwise. Each newer one that is damaged gives a
 * note. ERR_MISSING: there is none; ERR_FORMAT: none is whole.
 */
int checkpoint_open(struct checkpoint *c, const char *path, const struct progress *p);
void checkpoint_close(struct checkpoint *c);
/* Fill the block, or these spans of it (NULL: all), with what was saved under its name;
 * ERR_MISMATCH when type or size differ. */
int checkpoint_read(const struct checkpoint *c, const struct optimizer_block *b,
                    const struct spans *own);

#endif
