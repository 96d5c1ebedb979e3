#include "train/data/characters.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "train/data/mixture.h"
#include "train/data/source.h"
#include "weights/foreign/meta_vocab.h"

/* Before the files of a folder are looked into: whether one of these can have a meta.pkl. */
static bool has_meta(const char *path)
{
    struct tokenizer *t = NULL;
    char *meta = NULL, *expanded = file_expand(path);
    bool has = expanded != NULL && file_is_folder(expanded) && file_exists_in(expanded, "meta.pkl");
    if (expanded != NULL && !has && text_ends_in(expanded, ".bin") &&
        meta_vocab_beside(&t, &meta, expanded) == 0)
        has = t != NULL;
    tokenizer_free(t);
    mem_free(meta);
    mem_free(expanded);
    return has;
}

static int find_in_source(char **meta, const char *path)
{
    struct data_sources s;
    struct tokenizer *t = NULL;
    char *list = has_meta(path) ? data_list_path(path) : NULL;
    if (list == NULL)
        return 0;
    if (data_sources_find(&s, list) != 0) { /* opening says why */
        err_clear();
        s = (struct data_sources){0};
    }
    int rc =
        s.n > 0 && s.list[0].kind == DATA_NANOGPT ? meta_vocab_beside(&t, meta, s.list[0].path) : 0;
    tokenizer_free(t);
    data_sources_release(&s);
    mem_free(list);
    return rc;
}

int characters_find(char **meta, const char *data)
{
    struct mixture m;
    *meta = NULL;
    if (mixture_parse(&m, data) != 0) {
        err_clear();
        return 0;
    }
    int rc = find_in_source(meta, m.n > 0 ? mixture_path(&m, 0) : data);
    mixture_release(&m);
    return rc;
}

int characters_note(const struct token_file *files, size_t n, const struct tokenizer *t,
                    const struct progress *p)
{
    int rc = 0;
    bool noted = false;
    for (size_t i = 0; i < n && rc == 0 && !noted; i++) {
        struct tokenizer *own = NULL;
        char *meta = NULL, shown[160], path[160];
        if (files[i].format == TOKENS_NANOGPT)
            rc = meta_vocab_beside(&own, &meta, files[i].file.path);
        noted = own != NULL && t != NULL && !tokenizer_same(own, t);
        if (noted)
            progress_note(p,
                          "the ids of %s are characters of %s, and not of the model's tokenizer: "
                          "init=random trains a model with these characters",
                          file_show(path, sizeof path, files[i].file.path),
                          file_show(shown, sizeof shown, meta));
        tokenizer_free(own);
        mem_free(meta);
    }
    return rc;
}
