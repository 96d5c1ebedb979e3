#ifndef PRATTLE_TESTS_GGUF_OPEN_H
#define PRATTLE_TESTS_GGUF_OPEN_H
#include "weights/gguf/gguf.h"
#include "weights/gguf/source_gguf.h"

static inline int gguf_open(struct gguf *g, const char *path)
{
    struct file file;
    int rc = file_open(&file, path);
    *g = (struct gguf){0};
    return rc != 0 ? rc : gguf_open_file(g, file);
}

/* A file read as GGUF, whatever it looks like. */
static inline int gguf_open_source(struct source *s, const char *path, bool need_weights)
{
    struct file file;
    int rc = file_open(&file, path);
    return rc != 0 ? rc : source_open_gguf(s, file, need_weights, NULL);
}

#endif
