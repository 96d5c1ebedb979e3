#include "repl/commands/data_check.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "repl/commands/command.h"
#include "repl/commands/data_tokenizer.h"
#include "repl/session/repl.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/wrap.h"
#include "train/data/source.h"
#include "train/prepare/check.h"

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
        snprintf(text, sizeof text, "%" PRIu64 " document%s, which give%s the same tokens",
                 k->texts, plural(k->texts), k->texts == 1 ? "s" : "");
        wrap_row("texts", text);
    }
}

/* What the words say: the data, what it was made of, and how that is read. */
struct request {
    const char *path; /* borrowed */
    struct buf texts; /* a list as data_config.data has them */
    struct prepare_config as;
};

static int read_request(struct request *q, const struct call *c)
{
    int rc = prepare_config_init(&q->as);
    for (int i = 1; i < c->n && rc == 0; i++)
        if (prepare_config_is_word(c->words[i]))
            rc = prepare_config_set(&q->as, c->words[i]);
        else if (q->path == NULL)
            q->path = c->words[i];
        else
            rc = data_list_add(&q->texts, c->words[i]);
    if (rc == 0 && q->path == NULL)
        rc = command_usage(c, "check PATH [TEXTS ...] [KEY=VALUE ...]");
    return rc == 0 ? prepare_config_check_reading(&q->as) : rc;
}

/* Such have no tokens before a tokenizer makes them. */
static bool is_of_texts(const char *path)
{
    struct data_sources s = {0};
    char *list = data_list_path(path);
    const bool is = list != NULL && data_sources_find(&s, list) == 0 && s.n > 0 &&
                    data_kind_is_text(s.list[0].kind);
    data_sources_release(&s);
    mem_free(list);
    err_clear();
    return is;
}

/* In the shell a model is only for its vocabulary, where one is named or texts are encoded; the
 * files may say theirs. */
int data_check(struct repl *r, const struct call *c)
{
    struct data_tokenizer t = {0};
    struct request q = {0};
    struct check_report report;
    struct token_note note = {0};
    int rc = read_request(&q, c);
    if (rc == 0)
        token_note_read(&note, q.path);
    if (rc == 0 && data_tokenizer_is_named(r, q.as.tokenizer))
        rc = data_tokenizer_open(&t, r, q.as.tokenizer);
    else if (rc == 0 && note.name[0] != '\0')
        rc = data_tokenizer_open_noted(&t, r, &note);
    else if (rc == 0 && is_of_texts(q.path))
        rc = data_tokenizer_open(&t, r, "");
    if (rc == 0)
        rc = check_run(&report, q.path, &r->options.settings.eval.lines,
                       q.texts.n > 0 ? buf_text(&q.texts) : NULL, &q.as, t.tokenizer, t.n_vocab,
                       progress_show());
    progress_wipe();
    if (rc == 0)
        show_report(&report, t.n_vocab);
    data_tokenizer_close(&t);
    prepare_config_release(&q.as);
    buf_release(&q.texts);
    return rc;
}
