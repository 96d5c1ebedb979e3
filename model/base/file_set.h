#ifndef PRATTLE_MODEL_BASE_FILE_SET_H
#define PRATTLE_MODEL_BASE_FILE_SET_H
/*
 * Files of one folder that are open since they were checked. Who reads the folder with such a set
 * reads these, whatever stands under their names by then; the others it opens.
 */
#include "model/base/file.h"

/* Zeroed: empty. */
struct file_set {
    struct file *files; /* [n] */
    int n;
};
/* The file is the set's from then on, or closed. */
int file_set_add(struct file_set *s, struct file file);
void file_set_close(struct file_set *s);
/* By its name in the folder; NULL: none, as where s is NULL. */
const struct file *file_set_find(const struct file_set *s, const char *name);
/* As file_open, of the set's own where it has the name: a second descriptor of that. */
int file_set_open(struct file *f, const struct file_set *s, const char *folder, const char *name);
/* As file_read_all; *found false, with 0, where there is none of this name. */
int file_set_read(struct buf *out, bool *found, const struct file_set *s, const char *folder,
                  const char *name, uint64_t max);

#endif
