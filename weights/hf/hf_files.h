#ifndef PRATTLE_WEIGHTS_HF_HF_FILES_H
#define PRATTLE_WEIGHTS_HF_HF_FILES_H
/* The tensor files of a Hugging Face model: one, or the shards that an index lists. */
#include "model/base/file_set.h"
#include "weights/tensors/tensor_file.h"

/* A tensor, and its file. */
struct hf_entry {
    const char *name; /* without "transformer." */
    const struct tensor_entry *entry;
    const struct tensor_file *in;
    bool used; /* for the caller: whether it is a parameter of the model */
};

struct hf_files {
    char *folder;
    const struct file_set
        *open;                 /* files of the folder that are open already; borrowed; NULL: none */
    char **paths;              /* [n] */
    struct tensor_file *files; /* [n], NULL before hf_files_open */
    int n;
    struct file given;        /* the file of hf_files_find, until hf_files_open moves it */
    struct hf_entry *entries; /* [n_entries], by name */
    size_t n_entries;
};

/* Whether a folder has weights, or their index, by name. */
bool hf_files_are_in(const char *folder);
/*
 * Find the files, for a zeroed *f: those of the folder `path` if file.path is NULL; else of path, a
 * tensor file or an index, open as `file`, which f takes over. open: files of the folder that are
 * open already, borrowed (NULL: none). ERR_MISSING: the folder has none, and need_weights;
 * ERR_FORMAT: a bad index. To be released also after a failure.
 */
int hf_files_find(struct hf_files *f, const char *path, struct file file,
                  const struct file_set *open, bool need_weights);
/* Open the files; *stamp, 0 before, receives their combined stamp. */
int hf_files_open(struct hf_files *f, uint64_t *stamp);
/* List the tensors of the open files. ERR_FORMAT: two have the same name. */
int hf_files_list(struct hf_files *f);
struct hf_entry *hf_files_entry(const struct hf_files *f, const char *name); /* NULL: none */
void hf_files_release(struct hf_files *f);

/* The last component of a path; borrowed. */
const char *hf_last_part(const char *path);

#endif
