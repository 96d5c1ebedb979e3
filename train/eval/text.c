/*
 * Any text, as Languini's evaluation of a split has it: the last n targets of each window
 * count, and the window moves by n. What is read, and how its documents are put together, is as
 * in training.
 */
#include "train/eval/evals.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "train/data/source.h"
#include "train/eval/token_sums.h"
#include "train/eval/windows.h"
#include "train/parallel/world.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINES_BYTES = 64 };

int eval_open_text(struct dataset *d, const struct evaluation *ev)
{
    struct data_config c;
    struct dataset none = {0};
    const struct model *m = ev->engine->model;
    int rc = data_config_init(&c);
    if (rc != 0)
        return rc;
    struct data_config data = c; /* borrows its texts */
    data.validation_fraction = 0;
    data.special = ev->config.special;
    data.lines = ev->config.lines;
    rc = (data.data = data_list_path(ev->path)) == NULL ? ERR_NOMEM : 0;
    if (rc == 0)
        rc = dataset_open(d, &none, &data, m->tokenizer, m->config.n_vocab, ev->progress);
    dataset_close(&none);
    mem_free(data.data);
    data_config_release(&c);
    return rc;
}

static void omit(void *omitted, size_t i)
{
    ((bool *)omitted)[i] = true;
}

/* The ids of the windows to score, and which of them do not count; *omitted NULL: all do. */
static int read_ids(token_id **out, bool **omitted, const struct dataset *d,
                    const struct windows *w, const struct evaluation *ev)
{
    size_t n = eval_limited(ev, windows_count(w));
    uint64_t most = (uint64_t)w->length + 1 + (n > 0 ? (n - 1) * (uint64_t)w->step : 0);
    if (most > d->n_tokens)
        most = d->n_tokens;
    *out = mem_array(most, sizeof **out);
    if (d->completions != NULL)
        *omitted = mem_array(most, sizeof **omitted);
    if (*out == NULL || (d->completions != NULL && *omitted == NULL))
        return ERR_NOMEM;
    dataset_prompts(d, 0, most, omit, *omitted);
    return dataset_read(d, *out, 0, most);
}

/* The window is no longer than the text. */
static struct windows choose_windows(const struct dataset *d, const struct eval_config *c)
{
    struct windows w = {d->n_tokens, c->seq_length, c->last_n, .whole = false};
    if ((uint64_t)w.length >= d->n_tokens && d->n_tokens > 1) {
        w.length = (int)d->n_tokens - 1;
        w.step = w.step < w.length ? w.step : w.length;
    }
    if (w.step == 0)
        w.step = w.length > 1 ? w.length / 2 : 1;
    return w;
}

/* How lines are read where it is not as usual. */
static void describe_lines(char out[LINES_BYTES], const struct data_lines *l)
{
    char shown[40];
    const struct data_lines usual = DATA_LINES;
    const bool templates = strcmp(l->prompt_template, usual.prompt_template) != 0 ||
                           strcmp(l->completion_template, usual.completion_template) != 0;
    *out = '\0';
    if (templates)
        snprintf(out, LINES_BYTES, ", prompts and completions by templates");
    else if (strcmp(l->field, usual.field) != 0)
        snprintf(out, LINES_BYTES, ", of the field %s", file_show(shown, sizeof shown, l->field));
}

int eval_dataset(struct evaluation *ev, const struct dataset *d)
{
    struct eval_result *r = ev->result;
    struct windows w = choose_windows(d, &ev->config);
    struct passage *list = NULL;
    token_id *ids = NULL;
    bool *omitted = NULL;
    size_t n = 0;
    char shown[256], lines[LINES_BYTES];
    if (d->n_tokens < 2)
        return err_set(ERR_RANGE, "%s has %llu token%s; two are needed, one to predict the other",
                       file_show(shown, sizeof shown, ev->path), (unsigned long long)d->n_tokens,
                       d->n_tokens == 1 ? "" : "s");
    int rc = windows_check(&w, "last_n");
    if (rc == 0)
        rc = read_ids(&ids, &omitted, d, &w, ev);
    if (rc == 0)
        rc = windows_cut(&list, &n, &w, ids, ev);
    ev->config.seq_length = w.length;
    ev->config.last_n = w.step;
    if (rc == 0) {
        struct token_sums sums = {.list = list,
                                  .tokenizer = ev->engine->model->tokenizer,
                                  .omitted = omitted,
                                  .ids = ids};
        describe_lines(lines, &ev->config.lines);
        snprintf(r->definition, sizeof r->definition,
                 "windows of %d, stride %d, the last %d target%s of each, over %llu tokens in %llu "
                 "document%s%s%s%s",
                 w.length, w.step, w.step, w.step == 1 ? "" : "s", (unsigned long long)d->n_tokens,
                 (unsigned long long)d->n_documents, d->n_documents == 1 ? "" : "s",
                 omitted == NULL ? "" : ", of which the completions alone count", lines,
                 eval_special_words(ev));
        rc = eval_score(ev, list, n, token_sums_take, &sums);
        if (rc == 0 && omitted != NULL)
            r->targets = sums.loss.n;
        if (rc == 0) {
            token_sums_add_loss(&sums, r, INFINITY);
            token_sums_add_bytes(&sums, r);
            token_sums_add_accuracy(&sums, r);
        }
    }
    mem_free(list);
    mem_free(ids);
    mem_free(omitted);
    return rc;
}

int eval_text(struct evaluation *ev)
{
    struct dataset d = {0};
    char shown[256];
    int rc = eval_open_text(&d, ev);
    if (rc == 0)
        rc = eval_dataset(ev, &d);
    /* Of several ranks the first alone has counted. */
    if (rc == 0 && d.n_prompt > 0 && ev->result->targets == 0 && !ev->result->partial &&
        !(ev->config.by_ranks && world_rank() > 0))
        rc = err_set(ERR_RANGE, "there is no completion in the %" PRIu64 " window%s of %s",
                     ev->result->done, ev->result->done == 1 ? "" : "s",
                     file_show(shown, sizeof shown, ev->path));
    dataset_close(&d);
    return rc;
}
