#include "repl/commands/data_check.h"

#include "model/base/err.h"
#include "model/base/file.h"
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

/* In the shell a model is only for its vocabulary, where one is named; the files may say theirs. */
int data_check(struct repl *r, const struct call *c)
{
    struct data_tokenizer t = {0};
    struct check_report report;
    struct token_note note;
    const char *path;
    const int n = data_tokenizer_take(c, &path);
    if (n != 2 && n != 3)
        return command_usage(c, "check PATH [TEXTS]");
    char *texts = n == 3 ? data_list_path(c->words[2]) : NULL;
    int rc = n == 3 && texts == NULL ? ERR_NOMEM : 0;
    token_note_read(&note, c->words[1]);
    if (rc == 0 && data_tokenizer_is_named(r, path))
        rc = data_tokenizer_open(&t, r, path);
    else if (rc == 0 && note.name[0] != '\0')
        rc = data_tokenizer_open_noted(&t, r, &note);
    if (rc == 0)
        rc = check_run(&report, c->words[1], texts, t.tokenizer, t.n_vocab, progress_show());
    progress_wipe();
    if (rc == 0)
        show_report(&report, t.n_vocab);
    data_tokenizer_close(&t);
    mem_free(texts);
    return rc;
}
