#ifndef PRATTLE_WEIGHTS_HF_HF_FILES_H
#define PRATTLE_WEIGHTS_HF_HF_FILES_H
/* The files of a Hugging Face model that have tensors: one, or the shards of an index. */
#include "model/base/file_set.h"
#include "weights/tensors/tensor_file.h"

/* A tensor of one of them. */
struct hf_entry {
    const char *name; /* without "transformer." */
    const struct tensor_entry *entry;
    const struct tensor_file *in;
    bool used; /* a parameter of the model: for the caller */
};

struct hf_files {
    char *folder;
    const struct file_set *open; /* of the folder; NULL: none */
    char **paths;                /* [n] */
    struct tensor_file *files;   /* [n], NULL before hf_files_open */
    int n;
    struct file given;        /* the file that was asked for, open, until it is one of those */
    struct hf_entry *entries; /* [n_entries], by name */
    size_t n_entries;
};

/*
 * Which files they are, of a zeroed *f: those of a folder, or of path, which is open as `file` and
 * f's from then on (.path NULL: path is a folder). open: those of the folder that are open (NULL:
 * none); f borrows it. A folder without any is ERR_MISSING where they are needed. After a failure
 * too f is to be released.
 */
int hf_files_find(struct hf_files *f, const char *path, struct file file,
                  const struct file_set *open, bool need_weights);
/* Open them; *stamp, 0 before, becomes theirs. */
int hf_files_open(struct hf_files *f, uint64_t *stamp);
/* Then list their tensors; no two have one name. */
int hf_files_list(struct hf_files *f);
struct hf_entry *hf_files_entry(const struct hf_files *f, const char *name); /* NULL: none */
void hf_files_release(struct hf_files *f);

/* What stands behind the last slash; borrowed. */
const char *hf_last_part(const char *path);

#endif
