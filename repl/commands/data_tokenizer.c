#include "repl/commands/data_tokenizer.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/session/repl.h"
#include "repl/terminal/progress.h"
#include "train/run/folder.h"
#include "weights/hub/environment.h"
#include "weights/open.h"

#include <string.h>

bool data_tokenizer_is_named(const struct repl *r, const char *path)
{
    return *path != '\0' || r->model != NULL || repl_names_model(r);
}

static int open_source(struct data_tokenizer *d, const char *path)
{
    int rc = source_open(&d->source, path, 0, false, progress_show());
    if (rc == 0)
        rc = (d->name = mem_strdup(path)) == NULL ? ERR_NOMEM : 0;
    else
        rc = run_folder_explain(rc, path);
    if (rc != 0)
        return rc;
    d->tokenizer = d->source.tokenizer;
    d->has_model = d->source.table.n_tensors > 0;
    d->n_vocab = d->has_model           ? d->source.config.n_vocab
                 : d->tokenizer != NULL ? tokenizer_size(d->tokenizer)
                                        : 0;
    return 0;
}

/* Other programs are given the two files of a vocabulary; here they lie in a folder. */
static int refuse_vocabulary(const char *path)
{
    const bool is = text_ends_in(path, ".txt") ||
                    (text_ends_in(path, ".json") && !text_ends_in(path, ".index.json"));
    if (!is || file_is_folder(path) || !file_exists(path))
        return 0;
    return file_refuse(
        ERR_UNSUPPORTED, path,
        "is not a folder: tokenizer= takes one with vocab.json and merges.txt, or with "
        "tokenizer.json, or a GGUF or .model file");
}

/* Of tokenizer=PATH the vocabulary alone counts, whatever else is there. */
static int open_named(struct data_tokenizer *d, const char *path)
{
    char *expanded = file_expand(path);
    int rc = expanded == NULL ? ERR_NOMEM : refuse_vocabulary(expanded);
    if (rc == 0)
        rc = open_source(d, expanded);
    if (rc == 0 && d->tokenizer == NULL)
        rc = err_set(ERR_MISSING, "%s has no tokenizer files", file_quote(expanded));
    if (rc == 0) {
        d->has_model = false;
        d->n_vocab = tokenizer_size(d->tokenizer);
    }
    mem_free(expanded);
    return rc;
}

int data_tokenizer_open(struct data_tokenizer *d, const struct repl *r, const char *path)
{
    *d = (struct data_tokenizer){0};
    if (*path != '\0')
        return open_named(d, path);
    if (r->model == NULL)
        return repl_finds_model(r) ? open_source(d, r->options.settings.device.model) : 0;
    if ((d->name = mem_strdup(r->model->source)) == NULL)
        return ERR_NOMEM;
    d->tokenizer = r->model->tokenizer;
    d->n_vocab = r->model->config.n_vocab;
    d->has_model = true;
    return 0;
}

int data_tokenizer_open_noted(struct data_tokenizer *d, const struct repl *r,
                              const struct token_note *n)
{
    bool same = false;
    *d = (struct data_tokenizer){0};
    hub_set_offline(true);
    int rc = open_source(d, n->name);
    hub_set_offline(r->options.settings.device.offline);
    if (rc == 0)
        rc = token_note_compare(&same, n, d->tokenizer);
    if (same)
        return 0;
    data_tokenizer_close(d);
    return rc == ERR_NOMEM ? rc : 0;
}

void data_tokenizer_close(struct data_tokenizer *d)
{
    source_close(&d->source);
    mem_free(d->name);
    *d = (struct data_tokenizer){0};
}

int data_tokenizer_take(const struct call *c, const char **path)
{
    static const char key[] = "tokenizer=";
    const char *last = c->n > 0 ? c->words[c->n - 1] : "";
    const bool is = strncmp(last, key, sizeof key - 1) == 0 && !file_exists(last);
    *path = is ? last + sizeof key - 1 : "";
    return c->n - is;
}
