#include "train/prepare/token_documents.h"

#include "model/base/err.h"
#include "model/base/file_show.h"
#include "model/base/mem.h"
#include "train/data/source.h"

enum { IDS_AT_ONCE = 1 << 16 };

/* All of it is tokens. */
static int check_sources(const char *in)
{
    struct data_sources s;
    char shown[256];
    int rc = data_sources_find(&s, in);
    for (size_t i = 0; i < s.n && rc == 0; i++)
        if (data_kind_is_text(s.list[i].kind))
            rc = err_set(ERR_FORMAT, "%s is a text; data prepare makes tokens of it",
                         file_show(shown, sizeof shown, s.list[i].path));
    if (rc == 0 || s.n > 0)
        data_sources_release(&s);
    return rc;
}

static int read_id(const struct token_documents *d, token_id *id, uint64_t at)
{
    return dataset_read(&d->data, id, at, 1);
}

/* The tokenizer says it, or the files do: what GPT-2's documents are separated by, or what the
 * first and the last document end with. */
static int find_end(struct token_documents *d, const struct tokenizer *t)
{
    const struct data_summary *s = &d->summary;
    token_id first = TOKEN_NONE, last = s->end;
    int rc = 0;
    if (t != NULL) {
        d->end = tokenizer_eos(t);
        return 0;
    }
    if (s->bounds && s->end == TOKEN_NONE && d->data.n_documents > 1 &&
        (rc = read_id(d, &first, d->data.documents[1] - 1)) == 0)
        rc = read_id(d, &last, d->data.n_tokens - 1);
    d->end = s->end != TOKEN_NONE || first == last ? last : TOKEN_NONE;
    return rc;
}

int token_documents_open(struct token_documents *d, const char *in, const struct tokenizer *tok,
                         const char *work, const struct progress *p)
{
    *d = (struct token_documents){.end = TOKEN_NONE, .work = work, .progress = p};
    int rc = check_sources(in);
    if (rc == 0)
        rc = dataset_open_whole(&d->data, in, &DATA_LINES, tok, tok == NULL ? 0 : tokenizer_size(tok), p);
    if (rc == 0) {
        dataset_summary(&d->data, &d->summary);
        rc = find_end(d, tok);
    }
    if (rc == 0 && (d->ids = mem_array(IDS_AT_ONCE, sizeof *d->ids)) == NULL)
        rc = ERR_NOMEM;
    if (rc != 0)
        token_documents_close(d);
    return rc;
}

void token_documents_close(struct token_documents *d)
{
    dataset_close(&d->data);
    mem_free(d->ids);
    d->ids = NULL;
}

bool token_documents_begin_with_end(const struct token_documents *d)
{
    return dataset_begins_with_end(&d->data, 0);
}

int token_documents_ids(const struct token_documents *d, const struct tokenizer *tok)
{
    return tok != NULL ? tokenizer_size(tok) : d->summary.whole ? d->summary.most + 1 : INT32_MAX;
}

/* Of files whose documents begin with the end-of-text token: the one at `next` ends the document
 * before it. A file that begins without it goes on with a document of another. */
static int is_ended(const struct token_documents *d, bool *is, uint64_t next)
{
    token_id id = d->end;
    const bool begins = dataset_begins_with_end(&d->data, next);
    int rc = begins ? read_id(d, &id, next) : 0;
    *is = id == d->end;
    return rc;
}

int token_documents_read(struct token_documents *d, uint64_t i,
                         int (*take)(void *user, const token_id *ids, size_t n, bool last),
                         void *user)
{
    uint64_t first = d->data.documents[i];
    const uint64_t end = d->data.documents[i + 1];
    const bool begins = d->end != TOKEN_NONE && dataset_begins_with_end(&d->data, first);
    token_id id = TOKEN_NONE;
    bool ended = false;
    int rc = begins ? read_id(d, &id, first) : 0;
    if (rc == 0 && begins)
        rc = is_ended(d, &ended, end);
    first += begins && id == d->end;
    while (first < end && rc == 0) {
        const size_t n = end - first < IDS_AT_ONCE ? (size_t)(end - first) : IDS_AT_ONCE;
        rc = dataset_read(&d->data, d->ids, first, n);
        first += n;
        if (rc == 0)
            rc = take(user, d->ids, n, first == end && !ended);
        if (rc == 0 && first < end)
            rc = progress_step(d->progress, d->work, first, d->data.n_tokens);
    }
    return rc == 0 && ended ? take(user, &d->end, 1, true) : rc;
}
