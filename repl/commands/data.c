/* :data */
#include "repl/commands/commands.h"
#include "repl/commands/data_check.h"
#include "repl/commands/data_prepare.h"
#include "repl/commands/data_tokenizer.h"
#include "repl/commands/help_text.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/terminal/hint.h"
#include "repl/terminal/progress.h"
#include "repl/session/repl.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "model/gpt2_vocab.h"
#include "train/config/run_config.h"
#include "train/data/dataset.h"
#include "train/data/published.h"
#include "train/data/source.h"
#include "train/data/token_use.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_IDS = 64, BAR_COLUMNS = 20, BAR_MARGIN = 30, BARS = 8 };

/* The first n bytes of a text, or fewer where they would end inside of the end-of-text token. */
static size_t cut_before_end(const char *text, size_t n, const char *end)
{
    const size_t bytes = strlen(end);
    for (size_t back = 1; back < bytes && back <= n; back++)
        if (strncmp(text + n - back, end, bytes) == 0)
            return n - back;
    return n;
}

/* One space for any blanks, and none at the beginning: a centred title has more than a screen. */
static void join_blanks(struct buf *text)
{
    size_t to = 0;
    for (size_t i = 0; i < text->n; i++) {
        const bool blank = strchr(" \t\r\n", text->data[i]) != NULL && text->data[i] != '\0';
        if (!blank)
            text->data[to++] = text->data[i];
        else if (to > 0 && text->data[to - 1] != ' ')
            text->data[to++] = ' ';
    }
    if (text->n > 0)
        text->data[text->n = to] = '\0';
}

/* How the stream begins, as text on one line. */
static int show_beginning(const struct dataset *d, const struct tokenizer *t)
{
    token_id ids[FIRST_IDS];
    struct buf text = {0}, end = {0};
    size_t n = d->n_tokens < FIRST_IDS ? (size_t)d->n_tokens : FIRST_IDS;
    int rc = dataset_read(d, ids, 0, n);
    if (rc == 0)
        rc = tokenizer_decode(t, &text, ids, n);
    join_blanks(&text);
    size_t fits = term_fit(buf_text(&text), text.n, term_width(stdout) - 20);
    const token_id eos = tokenizer_eos(t);
    if (rc == 0 && eos != TOKEN_NONE)
        rc = tokenizer_decode(t, &end, &eos, 1);
    if (fits < text.n)
        text.data[cut_before_end(text.data, fits, buf_text(&end))] = '\0';
    if (rc == 0)
        wrap_row("begins", buf_text(&text));
    buf_release(&end);
    buf_release(&text);
    return rc;
}

static void show_vocabulary(const struct data_summary *s, const struct data_tokenizer *t)
{
    char text[160];
    const char *of = t->has_model ? "model" : "tokenizer";
    int n = snprintf(text, sizeof text, "ids %d to %d%s", s->least, s->most,
                     s->whole ? "" : " in the part that was read");
    if (t->n_vocab > 0)
        snprintf(text + n, sizeof text - (size_t)n,
                 s->most < t->n_vocab ? ", of the %s's %d" : ": not for this %s of %d", of,
                 t->n_vocab);
    wrap_row("vocabulary", text);
}

/* ---- what the documents are like ---- */

/* Classes of lengths beside each other, so that there are few rows: 2^from to 2^to - 1. */
static void show_bar(uint64_t n, uint64_t most, int from, int to)
{
    char text[160], range[48];
    const int room = term_width(stdout) - BAR_MARGIN;
    const int full = room < BAR_COLUMNS ? (room < 1 ? 1 : room) : BAR_COLUMNS;
    const int columns = n == 0 ? 0 : 1 + (int)((double)(full - 1) * (double)n / (double)most);
    const bool utf8 = term_utf8();
    int at;
    snprintf(range, sizeof range, "%" PRIu64 " to %" PRIu64, (uint64_t)1 << from,
             ((uint64_t)1 << to) - 1);
    at = snprintf(text, sizeof text, "%18s  ", range);
    for (int i = 0; i < columns; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s", utf8 ? "\xe2\x96\x84" : "#");
    snprintf(text + at, sizeof text - (size_t)at, "%s%" PRIu64, columns > 0 ? " " : "", n);
    printf("  %s%s%s\n", term_dim(stdout), text, term_plain(stdout));
}

static void show_lengths(const struct token_use *u)
{
    char text[120];
    int first = 0, last = USE_LENGTHS - 1;
    uint64_t most = 0;
    if (u->shortest == u->longest)
        snprintf(text, sizeof text, "%" PRIu64 " token%s each", u->shortest,
                 u->shortest == 1 ? "" : "s");
    else
        snprintf(text, sizeof text, "%" PRIu64 " to %" PRIu64 " tokens, median %" PRIu64,
                 u->shortest, u->longest, u->median);
    wrap_row("lengths", text);
    while (u->lengths[first] == 0)
        first++;
    while (u->lengths[last] == 0)
        last--;
    const int each = (last - first) / BARS + 1;
    uint64_t bars[USE_LENGTHS] = {0};
    for (int i = first; i <= last; i++)
        bars[(i - first) / each] += u->lengths[i];
    for (int i = 0; i <= (last - first) / each; i++)
        most = bars[i] > most ? bars[i] : most;
    for (int i = 0; first < last && i <= (last - first) / each; i++)
        show_bar(bars[i], most, first + i * each, first + (i + 1) * each);
}

static void show_use(const struct dataset *d, const struct token_use *u, int n_vocab)
{
    char text[160];
    const char *part = u->read < d->n_tokens ? " in the part that was read" : "";
    if (n_vocab > 0)
        snprintf(text, sizeof text, "%" PRIu64 " of %d ids (%.0f %%)%s", u->used, n_vocab,
                 100.0 * (double)u->used / n_vocab, part);
    else
        snprintf(text, sizeof text, "%" PRIu64 " different ids%s", u->used, part);
    wrap_row("used", text);
}

/* One row each; none where all is well. */
static void show_problems(const struct token_use *u, bool has_end, bool begins)
{
    char text[200];
    const uint64_t open = u->seen - u->ended;
    if (has_end && open > 0) {
        snprintf(text, sizeof text,
                 "%" PRIu64 " of %" PRIu64 " documents do not %s with the end-of-text token", open,
                 u->seen, begins ? "begin" : "end");
        wrap_row("look at", text);
    }
    if (has_end && u->inside > 0) {
        snprintf(text, sizeof text,
                 "the end-of-text token stands inside of documents, %" PRIu64 " time%s", u->inside,
                 u->inside == 1 ? "" : "s");
        wrap_row("look at", text);
    }
    if (u->shortest < 2)
        wrap_row("look at", "there are documents of a single token");
}

/* t: what the ids are of; zeroed where that is not known. */
static int show_documents(const struct dataset *d, const struct data_tokenizer *t)
{
    struct token_use u;
    const token_id end = t->tokenizer == NULL ? TOKEN_NONE : tokenizer_eos(t->tokenizer);
    int rc = token_use_read(&u, d, end, progress_show());
    progress_wipe();
    if (rc != 0)
        return rc;
    if (d->n_documents > 1)
        show_lengths(&u);
    show_use(d, &u, t->n_vocab);
    show_problems(&u, end != TOKEN_NONE, dataset_begins_with_end(d, 0));
    return 0;
}

/* What would show how it begins: without a model there is no tokenizer. */
static void show_how_to_read(const struct data_summary *s, bool shell)
{
    char text[160];
    const bool gpt2 = s->most == GPT2_END_OF_TEXT;
    snprintf(text, sizeof text, "%s%s shows the text", gpt2 ? "the ids are GPT-2's: " : "",
             shell  ? gpt2 ? "--model gpt2" : "--model PATH, of the model with its tokenizer,"
             : gpt2 ? ":load gpt2"
                    : ":load PATH, of the model with its tokenizer,");
    wrap_row("begins", text);
}

static void show_counts(const struct dataset *d, const struct data_summary *s, bool has_tokenizer)
{
    char text[160];
    snprintf(text, sizeof text, "%" PRIu64, d->n_documents);
    wrap_row("documents", s->bounds       ? text
                          : has_tokenizer ? "not known: the tokenizer has no end-of-text token"
                                          : "known only with the tokenizer");
    int n = snprintf(text, sizeof text, "%" PRIu64, d->n_tokens);
    if (s->bounds && d->n_documents > 1)
        snprintf(text + n, sizeof text - (size_t)n, ", %.0f a document",
                 (double)d->n_tokens / (double)d->n_documents);
    wrap_row("tokens", text);
    if (d->n_prompt > 0) {
        snprintf(text, sizeof text, "%" PRIu64 " token%s, which training reads and does not learn",
                 d->n_prompt, d->n_prompt == 1 ? "" : "s");
        wrap_row("prompts", text);
    }
}

/* What the files are noted to be of, where that is not what shows them. */
static int show_other_tokenizer(const struct token_note *note, const struct data_tokenizer *t)
{
    char text[400], shown[200];
    bool same = false;
    int rc = note->name[0] == '\0' ? 0 : token_note_compare(&same, note, t->tokenizer);
    if (rc != 0 || same || note->name[0] == '\0')
        return rc;
    snprintf(text, sizeof text,
             t->n_vocab == 0 ? "the ids are of the tokenizer of %s, which is not there now or "
                               "has changed"
                             : "the ids are of another tokenizer, that of %s",
             file_show(shown, sizeof shown, note->name));
    wrap_row("look at", text);
    return 0;
}

static int show_dataset(const struct dataset *d, const struct data_tokenizer *t,
                        const struct token_note *note, bool shell)
{
    static const struct data_tokenizer none;
    char text[160];
    struct data_summary s;
    dataset_summary(d, &s);
    snprintf(text, sizeof text, s.files == 1 ? "%s" : "%s, %zu files", s.format, s.files);
    wrap_row("format", text);
    show_counts(d, &s, t->tokenizer != NULL && s.most < t->n_vocab);
    show_vocabulary(&s, t);
    /* Of another vocabulary: what its ids are is not known. */
    int rc = show_documents(d, s.most < t->n_vocab ? t : &none);
    bool readable = t->tokenizer != NULL && s.most < tokenizer_size(t->tokenizer);
    if (rc == 0)
        rc = show_other_tokenizer(note, t);
    if (rc == 0 && t->n_vocab == 0)
        show_how_to_read(&s, shell);
    return rc == 0 && readable ? show_beginning(d, t->tokenizer) : rc;
}

/* As a run would that says how texts are read and nothing else. Ids of files may be any; generated
 * ones are the model's.
 */
static int open_data(struct dataset *d, const char *path, const struct data_tokenizer *t,
                     const struct settings *s)
{
    struct run_config c;
    struct dataset none = {0};
    int rc = run_config_init(&c);
    if (rc != 0)
        return rc;
    struct data_config data = c.data; /* borrows its texts */
    data.data = (char *)path;
    data.validation_fraction = 0;
    data.whole = true;
    data.special = s->generate.special;
    data.lines = s->eval.lines;
    data.seed = c.training.seed;
    const int n_vocab = strcmp(path, "generated") == 0 ? t->n_vocab : 0;
    rc = dataset_open(d, &none, &data, t->tokenizer, n_vocab, progress_show());
    progress_wipe();
    dataset_close(&none);
    run_config_release(&c);
    return rc;
}

void cmd_data_explain(void)
{
    const struct published *t;
    puts("Texts by name");
    for (int i = 0; (t = published_at(i)) != NULL; i++)
        wrap_column(t->help, printf("  %s", t->name), help_text_column(26));
    puts("\nSettings of prepare, each explained by help NAME");
    data_prepare_explain();
}

static int refuse_text_name(const char *name)
{
    struct buf names = {0};
    const struct published *t;
    int rc = 0;
    for (int i = 0; rc == 0 && (t = published_at(i)) != NULL; i++)
        rc = buf_printf(&names, "%s%s", i > 0 ? ", " : "", t->name);
    if (rc == 0)
        rc = err_set(ERR_MISSING, "there is no text %s; data get takes %s", file_quote(name),
                     buf_text(&names));
    buf_release(&names);
    return rc;
}

/* "wrote PATH; `eval wikitext` uses it" */
static int get_text(const struct repl *r, const char *name)
{
    const struct published *t = published_find(name);
    struct buf note = {0}, shown = {0};
    char *path, word[256];
    if (t == NULL)
        return refuse_text_name(name);
    int rc = published_get(&path, t, r->options.settings.eval.data_dir, progress_show());
    progress_wipe();
    if (rc == 0) {
        const bool of_path = text_ends_in(t->next, "=");
        rc = buf_printf(&note, "%s is there; `:%s%s` uses it", path, t->next,
                        of_path ? file_word(word, sizeof word, path) : "");
    }
    if (rc == 0 && (rc = hint_sentence(&shown, buf_text(&note))) == 0)
        wrap_say(stdout, "", "%s", buf_text(&shown));
    buf_release(&note);
    buf_release(&shown);
    mem_free(path);
    return rc;
}

static bool has_texts(const char *path)
{
    struct data_sources s;
    bool has = false;
    if (data_sources_find(&s, path) != 0) /* opening says why */
        return false;
    for (size_t i = 0; i < s.n; i++)
        has = has || data_kind_is_text(s.list[i].kind);
    data_sources_release(&s);
    return has;
}

/* Token files of another vocabulary: what separates their documents is not this one's end of text.
 */
static int open_others(struct dataset *d, const char *path, const struct data_tokenizer *t,
                       const struct settings *settings)
{
    static const struct data_tokenizer none;
    struct data_summary s;
    dataset_summary(d, &s);
    if (t->n_vocab == 0 || s.most < t->n_vocab || has_texts(path))
        return 0;
    dataset_close(d);
    *d = (struct dataset){0};
    return open_data(d, path, &none, settings); /* there is no text */
}

/* In the shell a tokenizer is opened where one is named; texts need one anyhow, and token files may
 * say theirs. */
static int show_info(struct repl *r, const struct call *c, const char *tokenizer)
{
    struct dataset d = {0};
    struct data_tokenizer t = {0};
    struct token_note note;
    const char *path = c->words[1];
    const bool open = data_tokenizer_is_named(r, tokenizer) || has_texts(path);
    token_note_read(&note, path);
    int rc = open                   ? data_tokenizer_open(&t, r, tokenizer)
             : note.name[0] != '\0' ? data_tokenizer_open_noted(&t, r, &note)
                                    : 0;
    if (rc == 0)
        rc = open_data(&d, path, &t, &r->options.settings);
    if (rc == 0)
        rc = open_others(&d, path, &t, &r->options.settings);
    if (rc == 0)
        rc = show_dataset(&d, &t, &note, c->shell);
    dataset_close(&d);
    data_tokenizer_close(&t);
    return rc;
}

int cmd_data(struct repl *r, const struct call *c)
{
    const char *tokenizer;
    if (strcmp(c->words[0], "prepare") == 0)
        return data_prepare(r, c);
    if (strcmp(c->words[0], "convert") == 0)
        return data_convert(r, c);
    if (strcmp(c->words[0], "check") == 0)
        return data_check(r, c);
    if (c->n == 2 && strcmp(c->words[0], "get") == 0)
        return get_text(r, c->words[1]);
    if (strcmp(c->words[0], "info") != 0 || data_tokenizer_take(c, &tokenizer) != 2)
        return command_usage(
            c, "info PATH|check PATH [TEXTS ...] [KEY=VALUE ...]|get NAME|prepare IN ... OUT "
               "[KEY=VALUE ...]|convert IN OUT");
    return show_info(r, c, tokenizer);
}
