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
    token_id end;   /* the end-of-text token; TOKEN_NONE: not known */
    token_id usual; /* what documents end with; TOKEN_NONE: not known yet */
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
    data.whole = true;
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
    if (c->usual == TOKEN_NONE)
        c->usual = last;
    c->lacks_ends |= last != c->usual;
}

static int read_id(const struct conversion *c, token_id *id, uint64_t at)
{
    return dataset_read(c->data, id, at, 1);
}

/* Of files whose documents begin with the end-of-text token: the one at `next` ends the document
 * before it. A file that begins without it goes on with a document of another. */
static int is_ended(const struct conversion *c, bool *is, uint64_t next)
{
    token_id id = c->end;
    const bool begins = dataset_begins_with_end(c->data, next);
    int rc = begins ? read_id(c, &id, next) : 0;
    *is = id == c->end;
    return rc;
}

static int write_document(struct conversion *c, uint64_t first, uint64_t end)
{
    const bool begins = c->end != TOKEN_NONE && dataset_begins_with_end(c->data, first);
    token_id id = TOKEN_NONE;
    bool ended = false;
    int rc = begins ? read_id(c, &id, first) : 0;
    first += begins && id == c->end;
    while (first < end && rc == 0) {
        const size_t n = end - first < IDS_AT_ONCE ? (size_t)(end - first) : IDS_AT_ONCE;
        rc = dataset_read(c->data, c->ids, first, n);
        first += n;
        id = c->ids[n - 1];
        if (rc == 0)
            rc = write_ids(c, c->ids, n, first == end);
        if (rc == 0 && first < end)
            rc = progress_step(c->progress, "converting tokens", first, c->data->n_tokens);
    }
    if (rc == 0 && begins && (rc = is_ended(c, &ended, end)) == 0 && ended) {
        id = c->end;
        rc = write_ids(c, &id, 1, true);
    }
    look_at_end(c, id);
    return rc == 0 ? output_end(c->out) : rc;
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

/* The tokenizer says it, or the files do: what GPT-2's documents are separated by, or what the
 * first and the last document end with. */
static int find_end(struct conversion *c, const struct data_summary *s)
{
    const struct dataset *d = c->data;
    token_id first = TOKEN_NONE, last = s->end;
    int rc = 0;
    if (c->tokenizer != NULL) {
        c->end = tokenizer_eos(c->tokenizer);
        return 0;
    }
    if (s->bounds && s->end == TOKEN_NONE && d->n_documents > 1 &&
        (rc = read_id(c, &first, d->documents[1] - 1)) == 0)
        rc = read_id(c, &last, d->n_tokens - 1);
    c->end = s->end != TOKEN_NONE || first == last ? last : TOKEN_NONE;
    return rc;
}

/* Where the end-of-text token of documents stands depends on the format. */
static bool moves_ends(const struct conversion *c, enum output_format f)
{
    return dataset_begins_with_end(c->data, 0) != (f == OUTPUT_LLMC);
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
                           .end = TOKEN_NONE,
                           .usual = t == NULL ? TOKEN_NONE : tokenizer_eos(t),
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
    if (rc == 0) {
        dataset_summary(&d, &s);
        rc = find_end(&c, &s);
    }
    r->unsplit = rc == 0 && !s.bounds && has_bounds(r->format);
    r->unmoved = rc == 0 && c.end == TOKEN_NONE && moves_ends(&c, r->format);
    if (rc == 0)
        rc = output_check_tokens(r->format, d.n_tokens);
    if (rc == 0)
        output_sweep(r->format, path);
    if (rc == 0)
        rc = output_open(&o, r->format, path, count_ids(&s, t), c.end, force);
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
