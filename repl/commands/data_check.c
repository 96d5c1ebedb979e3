#include "repl/commands/data_check.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/commands/command.h"
#include "repl/session/repl.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/wrap.h"
#include "train/data/source.h"
#include "train/prepare/check.h"
#include "weights/open.h"

#include <inttypes.h>
#include <stdio.h>

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void show_files(const struct check_report *k)
{
    char text[200];
    snprintf(text, sizeof text, "%" PRIu64 ", %" PRIu64 " bytes", k->files, k->bytes);
    wrap_row("files", text);
    snprintf(text, sizeof text, "%s, SHA-256 of sizes and names", k->sum);
    wrap_row("sum", text);
    if (k->lists == 0)
        return;
    snprintf(text, sizeof text,
             "%" PRIu64 " list%s of %" PRIu64 " files: all are there, and as long as said",
             k->lists, plural(k->lists), k->listed);
    wrap_row("lists", text);
}

/* n_vocab 0: the ids may be any. */
static void show_report(const struct check_report *k, int n_vocab)
{
    char text[200];
    if (k->sum[0] != '\0')
        show_files(k);
    snprintf(text, sizeof text, "%" PRIu64, k->documents);
    wrap_row("documents", text);
    int n = snprintf(text, sizeof text, "%" PRIu64 ", ids %" PRId32 " to %" PRId32, k->tokens,
                     k->least, k->most);
    if (n_vocab > 0)
        snprintf(text + n, sizeof text - (size_t)n, ", all in the vocabulary of %d", n_vocab);
    wrap_row("tokens", text);
    if (k->indexed > 0) {
        snprintf(text, sizeof text, "%" PRIu64 " record%s, each where it says", k->indexed,
                 plural(k->indexed));
        wrap_row("index", text);
    }
    if (k->texts > 0) {
        snprintf(text, sizeof text, "%" PRIu64 " document%s, which give the same tokens", k->texts,
                 plural(k->texts));
        wrap_row("texts", text);
    }
}

/* In the shell a model is only for its vocabulary, where one is named. */
int data_check(struct repl *r, const struct call *c)
{
    struct source source = {0};
    struct check_report report;
    char *texts = c->n == 3 ? data_list_path(c->words[2]) : NULL;
    if (c->n != 2 && c->n != 3)
        return command_usage(c, "check PATH [TEXTS]");
    int rc = c->n == 3 && texts == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && r->model == NULL && c->shell && repl_names_model(r))
        rc = source_open(&source, r->options.settings.device.model, 0, false, progress_show());
    const struct tokenizer *t = r->model != NULL ? r->model->tokenizer : source.tokenizer;
    const int n_vocab = r->model != NULL             ? r->model->config.n_vocab
                        : source.table.n_tensors > 0 ? source.config.n_vocab
                        : t != NULL                  ? tokenizer_size(t)
                                                     : 0;
    if (rc == 0)
        rc = check_run(&report, c->words[1], texts, t, n_vocab, progress_show());
    progress_wipe();
    if (rc == 0)
        show_report(&report, n_vocab);
    source_close(&source);
    mem_free(texts);
    return rc;
}
