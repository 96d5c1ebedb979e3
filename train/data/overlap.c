#include "train/data/overlap.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "train/data/mixture.h"
#include "train/data/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct file_id {
    dev_t device;
    ino_t inode;
};

static int compare_ids(const void *a, const void *b)
{
    const struct file_id *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->inode > y->inode) - (x->inode < y->inode);
}

static bool find_id(struct file_id *id, const struct data_source *s)
{
    struct stat st;
    char *path = data_source_file(s);
    const bool is = path != NULL && stat(path, &st) == 0;
    if (is)
        *id = (struct file_id){.device = st.st_dev, .inode = st.st_ino};
    mem_free(path);
    return is;
}

/* Append the ids of the files that the paths name. */
static int add_ids(struct buf *ids, const char *paths)
{
    struct data_sources found;
    struct file_id id = {0};
    int rc = data_sources_find(&found, paths);
    if (rc != 0) {
        err_clear();
        return rc == ERR_NOMEM ? rc : 0;
    }
    for (size_t i = 0; i < found.n && rc == 0; i++)
        if (find_id(&id, &found.list[i]))
            rc = buf_add(ids, &id, sizeof id);
    data_sources_release(&found);
    return rc;
}

/* Those of a mixture or of one stream, sorted. */
static int collect_ids(struct buf *ids, const char *data)
{
    struct mixture m;
    if (mixture_parse(&m, data) != 0) {
        err_clear();
        return 0;
    }
    int rc = m.n == 0 ? add_ids(ids, data) : 0;
    for (int i = 0; i < m.n_sources && rc == 0; i++) {
        char *paths = data_list_path(mixture_path(&m, i));
        rc = paths == NULL ? ERR_NOMEM : add_ids(ids, paths);
        mem_free(paths);
    }
    mixture_release(&m);
    if (ids->n > 0)
        qsort(ids->data, ids->n / sizeof(struct file_id), sizeof(struct file_id), compare_ids);
    return rc;
}

int data_note_overlap(const char *data, const char *validation, const struct progress *p)
{
    struct buf ids = {0};
    struct data_sources held = {0};
    struct file_id id = {0};
    size_t both = 0;
    char shown[160] = "", more[60] = "";
    if (*validation == '\0' || strcmp(validation, "generated") == 0 ||
        strcmp(data, "generated") == 0)
        return 0;
    int rc = collect_ids(&ids, data);
    if (rc == 0 && ids.n > 0 && data_sources_find(&held, validation) != 0) {
        err_clear();
        held = (struct data_sources){0};
    }
    for (size_t i = 0; i < held.n; i++)
        if (find_id(&id, &held.list[i]) &&
            bsearch(&id, ids.data, ids.n / sizeof id, sizeof id, compare_ids) != NULL &&
            both++ == 0)
            file_show(shown, sizeof shown, held.list[i].path);
    if (both > 1)
        snprintf(more, sizeof more, " and %zu more", both - 1);
    if (both > 0)
        progress_note(p,
                      "validation data that is trained on too: %s%s; its loss says nothing of "
                      "texts that the model has not seen",
                      shown, more);
    data_sources_release(&held);
    buf_release(&ids);
    return rc;
}
