#include "train/prepare/convert.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "train/prepare/token_documents.h"

enum { REPORT_EVERY = 64 };

struct conversion {
    struct token_documents documents;
    const struct tokenizer *tokenizer;
    struct output out;
    struct buf text;
    const struct progress *progress;
};

static int write_ids(void *user, const token_id *ids, size_t n, bool last)
{
    struct conversion *c = user;
    if (c->out.format != OUTPUT_JSON_LINES)
        return output_add_ids(&c->out, ids, n);
    if (last && ids[n - 1] == c->documents.end)
        n--;
    c->text.n = 0;
    int rc = tokenizer_decode(c->tokenizer, &c->text, ids, n);
    return rc == 0 ? output_add_text(&c->out, buf_text(&c->text), c->text.n) : rc;
}

static int write_documents(struct conversion *c)
{
    const struct dataset *d = &c->documents.data;
    int rc = 0;
    for (uint64_t i = 0; i < d->n_documents && rc == 0; i++) {
        rc = token_documents_read(&c->documents, i, write_ids, c);
        if (rc == 0)
            rc = output_end(&c->out);
        if (rc == 0 && i % REPORT_EVERY == 0)
            rc = progress_step(c->progress, c->documents.work, d->documents[i], d->n_tokens);
    }
    return rc;
}

int convert_run(struct convert_report *r, enum output_format f, const char *in, const char *out,
                const struct tokenizer *t, bool force, const struct progress *p)
{
    struct conversion c = {.tokenizer = t, .progress = p};
    struct token_documents *d = &c.documents;
    *r = (struct convert_report){.format = f == OUTPUT_FORMATS ? output_format_of(out) : f};
    char *path = output_path(out, "", r->format);
    int rc = path == NULL ? ERR_NOMEM
             : r->format == OUTPUT_JSON_LINES && t == NULL
                 ? err_set(ERR_MISSING, "JSON lines need the tokenizer of the ids: load a model "
                                        "that has it, or give tokenizer=PATH")
                 : token_documents_open(d, in, t, "converting tokens", p);
    r->unsplit = rc == 0 && !d->summary.bounds && output_has_bounds(r->format);
    r->unmoved = rc == 0 && d->end == TOKEN_NONE &&
                 token_documents_begin_with_end(d) != (r->format == OUTPUT_LLMC);
    if (rc == 0)
        rc = output_check_tokens(r->format, d->data.n_tokens);
    if (rc == 0)
        output_sweep(r->format, path);
    if (rc == 0)
        rc = output_open(&c.out, r->format, path, token_documents_ids(d, t), d->end, force);
    if (rc == 0)
        rc = write_documents(&c);
    if (rc == 0) {
        file_show(r->path, sizeof r->path, path);
        r->documents = c.out.n_documents;
        r->tokens = c.out.n_tokens;
        r->joins = output_joins(&c.out);
        rc = output_commit(&c.out);
    }
    output_abandon(&c.out);
    token_documents_close(d);
    buf_release(&c.text);
    mem_free(path);
    return rc;
}
