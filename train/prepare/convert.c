#include "train/prepare/convert.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "train/data/dataset.h"
#include "train/data/source.h"

#include <stdio.h>
#include <string.h>

enum { IDS_AT_ONCE = 1 << 16, REPORT_EVERY = 64 };

struct conversion {
    const struct dataset *data;
    const struct tokenizer *tokenizer;
    struct output *out;
    token_id *ids; /* [IDS_AT_ONCE] */
    struct buf text;
    token_id end; /* of documents; TOKEN_NONE: not known yet */
    bool splits;  /* at the end-of-text token: the files have no other bounds */
    bool lacks_ends;
    const struct progress *progress;
};

/* All of it is tokens. */
static int check_tokens(const char *in)
{
    struct data_sources s;
    char shown[256];
    int rc = data_sources_find(&s, in);
    for (size_t i = 0; i < s.n && rc == 0; i++)
        if (s.list[i].kind == DATA_TEXT || s.list[i].kind == DATA_JSON_LINES)
            rc = err_set(ERR_FORMAT, "%s is a text; data prepare makes tokens of it",
                         file_show(shown, sizeof shown, s.list[i].path));
    if (rc == 0 || s.n > 0)
        data_sources_release(&s);
    return rc;
}

static int open_data(struct dataset *d, const char *in, const struct tokenizer *t,
                     const struct progress *p)
{
    struct data_config c;
    struct dataset none = {0};
    int rc = data_config_init(&c);
    if (rc != 0)
        return rc;
    struct data_config data = c; /* borrows its texts */
    data.data = (char *)in;
    data.validation_fraction = 0;
    rc = dataset_open(d, &none, &data, t, t == NULL ? 0 : tokenizer_size(t), p);
    dataset_close(&none);
    data_config_release(&c);
    return rc;
}

static int write_ids(struct conversion *c, const token_id *ids, size_t n, bool last)
{
    if (c->out->format != OUTPUT_JSON_LINES)
        return output_add_ids(c->out, ids, n);
    if (last && n > 0 && ids[n - 1] == tokenizer_eos(c->tokenizer))
        n--;
    c->text.n = 0;
    int rc = tokenizer_decode(c->tokenizer, &c->text, ids, n);
    return rc == 0 ? output_add_text(c->out, buf_text(&c->text), c->text.n) : rc;
}

/* The last id of a document: the end-of-text token, or what the first document ends with. */
static void look_at_end(struct conversion *c, token_id last)
{
    if (c->end == TOKEN_NONE)
        c->end = last;
    c->lacks_ends |= last != c->end;
}

/* n ids that stand in c->ids, of which the last is the last of all. */
static int write_block(struct conversion *c, size_t n, bool last)
{
    int rc = 0;
    for (size_t from = 0, to = 0; to < n && rc == 0; from = to) {
        do {
            to++;
        } while (to < n && !(c->splits && c->ids[to - 1] == c->end));
        const bool ends = (c->splits && c->ids[to - 1] == c->end) || (last && to == n);
        if (ends)
            look_at_end(c, c->ids[to - 1]);
        rc = write_ids(c, c->ids + from, to - from, ends);
        if (rc == 0 && ends)
            rc = output_end(c->out);
    }
    return rc;
}

static int write_document(struct conversion *c, uint64_t first, uint64_t end)
{
    int rc = first == end ? output_end(c->out) : 0;
    while (first < end && rc == 0) {
        const size_t n = end - first < IDS_AT_ONCE ? (size_t)(end - first) : IDS_AT_ONCE;
        rc = dataset_read(c->data, c->ids, first, n);
        first += n;
        if (rc == 0)
            rc = write_block(c, n, first == end);
        if (rc == 0 && first < end)
            rc = progress_step(c->progress, "converting tokens", first, c->data->n_tokens);
    }
    return rc;
}

static int write_documents(struct conversion *c)
{
    const struct dataset *d = c->data;
    int rc = (c->ids = mem_array(IDS_AT_ONCE, sizeof *c->ids)) == NULL ? ERR_NOMEM : 0;
    for (uint64_t i = 0; i < d->n_documents && rc == 0; i++) {
        rc = write_document(c, d->documents[i], d->documents[i + 1]);
        if (rc == 0 && i % REPORT_EVERY == 0)
            rc = progress_step(c->progress, "converting tokens", d->documents[i], d->n_tokens);
    }
    mem_free(c->ids);
    buf_release(&c->text);
    return rc;
}

/* Ids are below this. */
static int count_ids(const struct data_summary *s, const struct tokenizer *t)
{
    return t != NULL ? tokenizer_size(t) : s->whole ? s->most + 1 : INT32_MAX;
}

static bool has_bounds(enum output_format f)
{
    return f != OUTPUT_NANOGPT && f != OUTPUT_LLMC;
}

int convert_run(struct convert_report *r, enum output_format f, const char *in, const char *out,
                const struct tokenizer *t, bool force, const struct progress *p)
{
    struct dataset d = {0};
    struct data_summary s = {.bounds = true};
    struct output o = {.file.fd = -1, .index.fd = -1};
    struct conversion c = {.data = &d,
                           .tokenizer = t,
                           .out = &o,
                           .end = t == NULL ? TOKEN_NONE : tokenizer_eos(t),
                           .progress = p};
    *r = (struct convert_report){.format = f == OUTPUT_FORMATS ? output_format_of(out) : f};
    char *path = output_path(out, "", r->format);
    int rc = path == NULL ? ERR_NOMEM
             : r->format == OUTPUT_JSON_LINES && t == NULL
                 ? err_set(ERR_MISSING, "JSON lines need the tokenizer of the ids: load a model "
                                        "that has it, or give --model PATH")
                 : check_tokens(in);
    if (rc == 0)
        rc = open_data(&d, in, t, p);
    if (rc == 0)
        dataset_summary(&d, &s);
    c.splits = !s.bounds && c.end != TOKEN_NONE;
    r->unsplit = !s.bounds && c.end == TOKEN_NONE && has_bounds(r->format);
    if (rc == 0)
        rc = output_check_tokens(r->format, d.n_tokens);
    if (rc == 0)
        output_sweep(r->format, path);
    if (rc == 0)
        rc = output_open(&o, r->format, path, count_ids(&s, t), force);
    if (rc == 0)
        rc = write_documents(&c);
    if (rc == 0) {
        file_show(r->path, sizeof r->path, path);
        r->documents = o.n_documents;
        r->tokens = o.n_tokens;
        r->joins = c.lacks_ends && o.n_documents > 1 && !has_bounds(r->format);
        rc = output_commit(&o);
    }
    output_abandon(&o);
    dataset_close(&d);
    mem_free(path);
    return rc;
}
