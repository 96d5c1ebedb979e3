#include "weights/llmc/source_llmc.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "weights/hf/vocab.h"
#include "weights/llmc/llmc.h"

#include <string.h>

struct state {
    struct file file;
    struct llmc header;
    struct stored_tensor {
        const struct file *file;
        uint64_t at; /* in bytes */
        size_t each;
    } * stored; /* [table.n_tensors] */
};

static void close_state(void *format)
{
    struct state *st = format;
    file_close(&st->file);
    mem_free(st->stored);
    mem_free(st);
}

static int read_stored(void *user, void *dst, uint64_t first, size_t n)
{
    const struct stored_tensor *t = user;
    return file_read_at(t->file, dst, t->at + first * t->each, n * t->each);
}

static int make_readers(struct source *s, struct state *st)
{
    const size_t n = (size_t)s->table.n_tensors, each = dtype_bytes(st->header.dtype);
    if ((st->stored = mem_array(n, sizeof *st->stored)) == NULL ||
        (s->readers = mem_array(n, sizeof *s->readers)) == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < s->table.n_tensors; i++) {
        const uint64_t at = llmc_offset(&st->header, &s->table, i);
        st->stored[i] = (struct stored_tensor){&st->file, LLMC_HEADER_BYTES + at * each, each};
        s->readers[i] =
            (struct tensor_reader){.read = read_stored,
                                   .user = &st->stored[i],
                                   .dtype = st->header.dtype,
                                   .out_major = s->table.tensors[i].kind == PARAM_CONV1D};
    }
    s->dtype = st->header.dtype;
    return 0;
}

/* Of the file's own folder: "model" for model.bin. */
static int read_name(struct source *s, char **folder, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash == NULL ? path : slash + 1;
    const size_t n = strlen(base);
    *folder = slash == NULL ? mem_strdup(".") : mem_sprintf("%.*s", (int)(base - path), path);
    s->name = mem_sprintf("%.*s", (int)(text_ends_in(base, ".bin") ? n - 4 : n), base);
    return *folder == NULL || s->name == NULL ? ERR_NOMEM : 0;
}

static int read_source(struct source *s, struct state *st, const struct progress *p)
{
    char *folder = NULL;
    int rc = llmc_read(&st->header, &st->file);
    if (rc == 0) {
        s->config = st->header.config;
        rc = params_describe(&s->table, &s->config);
    }
    if (rc == 0)
        rc = make_readers(s, st);
    if (rc != 0)
        return file_wrap(st->file.path);
    if ((rc = read_name(s, &folder, st->file.path)) == 0)
        rc = vocab_open_folder(&s->tokenizer, folder, &s->config, p);
    mem_free(folder);
    return rc;
}

int source_open_llmc(struct source *s, struct file file, const struct progress *p)
{
    struct state *st = mem_alloc(sizeof *st);
    if (st == NULL) {
        file_close(&file);
        return ERR_NOMEM;
    }
    *st = (struct state){.file = file};
    *s = (struct source){.format = st, .close = close_state, .stamp = file.stamp};
    int rc = read_source(s, st, p);
    if (rc != 0)
        source_close(s);
    return rc;
}
