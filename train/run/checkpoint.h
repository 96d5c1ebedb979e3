#ifndef PRATTLE_TRAIN_RUN_CHECKPOINT_H
#define PRATTLE_TRAIN_RUN_CHECKPOINT_H
/*
 * Checkpoints of a training run: FOLDER/step-000400, which is a Hugging Face model, or an
 * adapter of PEFT's, that anything opens, and beside its files
 *
 *   training.safetensors   the optimizer's blocks, as they lie in memory (block_files.h)
 *   state.json             what the run needs to go on, in its own words
 *   manifest.json          size and SHA-256 of every file; written last
 *
 * A checkpoint is written under another name in the same folder, every file synced, then renamed
 * (folder_commit, weights/tensors/folder.h): a name step-N exists only when it is whole, and older
 * ones go only after that. What was damaged later is noticed by the manifest and passed over.
 *
 * Where several processes have the parts of a model, each writes its own, if all reach the folder;
 * and a share of a large one, where all have it and the moments are divided:
 * model-00001-of-00003.safetensors and so on with model.safetensors.index.json, as Hugging Face
 * divides large models, and the same of the optimizer's blocks.
 */
#include "model/adapter.h"
#include "model/base/file_set.h"
#include "model/base/json.h"
#include "model/base/progress.h"
#include "model/base/sha256.h"
#include "train/run/block_files.h"
#include "train/run/folder.h"
#include "weights/tensors/source.h"

struct checkpoint_content {
    int64_t step;
    struct source *weights;        /* written as they are; NULL: there is */
    const struct adapter *adapter; /* an adapter alone, for the model that is loaded from */
    const char *base;
    const char *settings; /* that come with the adapter, as prattle.yaml; NULL: the base's do */
    struct block_content blocks;
    /* Where several processes have the weights and the blocks: have them write these to the folder,
     * and add their files (checkpoint_add_file). *written false, with 0: not all of them can, and
     * this one writes all. NULL: one process has them, or an adapter. */
    int (*write_parts)(void *user, const char *folder, json_t *files, bool *written);
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

/*
 * Give the checkpoint of `step` another state. Its other files stay, and whoever opens it, also
 * after a kill, finds one state or the other. On failure it is as it was; ERR_UNSUPPORTED: the file
 * system has no hard links, or cannot exchange names.
 */
int checkpoint_restate(const struct run_folder *f, int64_t step, json_t *state,
                       const struct progress *p);

/* A file of a checkpoint as its manifest has it; the name is at most this long. */
enum { CHECKPOINT_FILE_NAME = 64, CHECKPOINT_MAX_PARTS = 128 /* of weights, or of blocks */ };
struct checkpoint_file {
    char name[CHECKPOINT_FILE_NAME];
    uint64_t bytes;
    char sha256[SHA256_HEX];
};
/* Fill the last two by reading it. */
int checkpoint_hash_file(struct checkpoint_file *f, const char *folder, const struct progress *p);
int checkpoint_add_file(json_t *files, const struct checkpoint_file *f);

/* One that was verified, to read from. */
struct checkpoint {
    char *path; /* owned; a model to load */
    int64_t step;
    json_t *state;
    struct block_files blocks;
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
