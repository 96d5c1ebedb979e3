#include "train/prepare/convert.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/sha256.h"
#include "train/data/source.h"
#include "train/data/token_note.h"
#include "train/data/tokenizer_hash.h"
#include "train/prepare/own_output.h"
#include "train/prepare/placing.h"
#include "train/prepare/token_documents.h"

#include <stdio.h>

enum { REPORT_EVERY = 64 };

struct conversion {
    struct token_documents documents;
    const struct tokenizer *tokenizer;
    struct output out;
    struct buf text;
    const struct progress *progress;
    char *folder;             /* of the note of its files; owned */
    char command[SHA256_HEX]; /* what OUT depends on */
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

/* A file that has changed is another; of a large one the ids alone might not tell. */
static int add_stamp(struct sha256 *h, const struct data_source *s)
{
    struct file f;
    char *path = data_source_file(s);
    int rc = path == NULL ? ERR_NOMEM : file_open(&f, path);
    if (rc == 0) {
        sha256_add(h, &f.stamp, sizeof f.stamp);
        file_close(&f);
    }
    mem_free(path);
    return rc;
}

static int add_stamps(struct sha256 *h, const char *in)
{
    struct data_sources s;
    int rc = data_sources_find(&s, in);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < s.n && rc == 0; i++)
        rc = add_stamp(h, &s.list[i]);
    data_sources_release(&s);
    return rc;
}

static int name_command(struct conversion *c, enum output_format f, const char *in, int n_ids)
{
    struct sha256 h;
    char numbers[64];
    int rc = sha256_init(&h);
    if (rc != 0)
        return rc;
    snprintf(numbers, sizeof numbers, "%d %d %d", f, n_ids, c->documents.end);
    tokenizer_hash_text(&h, numbers);
    tokenizer_hash_text(&h, in);
    if (c->tokenizer != NULL)
        tokenizer_hash(&h, c->tokenizer);
    sha256_add(&h, c->documents.data.identity, sizeof c->documents.data.identity);
    rc = add_stamps(&h, in);
    sha256_end_hex(&h, c->command);
    sha256_release(&h);
    return rc;
}

/* Killed in between, the same command takes back what is in its place. */
static int commit_output(struct conversion *c, const char *in)
{
    int fds[2], lock;
    struct token_note note = {0};
    if (c->out.format != OUTPUT_JSON_LINES)
        token_note_read(&note, in);
    token_note_write(&note, output_fd(&c->out));
    int rc = placing_begin(&lock, c->folder);
    if (rc == 0) {
        const int n = output_fds(&c->out, fds);
        rc = placing_write(c->folder, c->command, fds, (size_t)n);
    }
    if (rc == 0)
        rc = output_commit(&c->out);
    placing_end(lock, c->folder);
    return rc;
}

/* What lies in a folder that is read is no output. */
static int check_own(enum output_format f, const char *in, char *path)
{
    struct data_sources s;
    int rc = data_sources_find(&s, in);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < s.n && rc == 0; i++)
        if (own_output_is(&s.list[i], f, &path, 1))
            rc = own_output_refuse(s.list[i].path);
    data_sources_release(&s);
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
                 : check_own(r->format, in, path);
    if (rc == 0)
        rc = token_documents_open(d, in, t, "converting tokens", p);
    r->unsplit = rc == 0 && !d->summary.bounds && output_has_bounds(r->format);
    r->unmoved = rc == 0 && d->end == TOKEN_NONE &&
                 token_documents_begin_with_end(d) != (r->format == OUTPUT_LLMC);
    if (rc == 0)
        rc = output_check_tokens(r->format, d->data.n_tokens);
    if (rc == 0)
        output_sweep(r->format, path);
    if (rc == 0 && (c.folder = placing_folder(path, "converting")) == NULL)
        rc = ERR_NOMEM;
    if (rc == 0)
        rc = name_command(&c, r->format, in, token_documents_ids(d, t));
    if (rc == 0)
        rc = placing_take_back(c.folder, c.command, r->format, path);
    if (rc == 0)
        rc = output_open(&c.out, r->format, path, token_documents_ids(d, t), d->end, force);
    if (rc == 0)
        rc = write_documents(&c);
    if (rc == 0) {
        file_show(r->path, sizeof r->path, path);
        r->documents = c.out.n_documents;
        r->tokens = c.out.n_tokens;
        r->joins = output_joins(&c.out);
        rc = commit_output(&c, in);
    }
    output_abandon(&c.out);
    token_documents_close(d);
    buf_release(&c.text);
    mem_free(c.folder);
    mem_free(path);
    return rc;
}
