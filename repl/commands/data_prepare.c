#include "repl/commands/data_prepare.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/commands/command.h"
#include "repl/commands/data_tokenizer.h"
#include "repl/commands/help_text.h"
#include "repl/session/repl.h"
#include "repl/terminal/number.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/data/source.h"
#include "train/data/token_note.h"
#include "train/prepare/convert.h"
#include "train/prepare/output.h"
#include "train/prepare/prepare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const words[] = {
    "format=megatron",        "format=nanogpt",      "format=llmc",     "format=tfrecord",
    "format=jsonl",           "duplicates=exact",    "duplicates=near", "shuffle=on",
    "split=0.95,0.025,0.025", "min_length=",         "field=",          "seed=",
    "record_limit=",          "document_separator=", "special=on",      "tokenizer="};

const char *data_prepare_word(int i)
{
    return i < (int)(sizeof words / sizeof *words) ? words[i] : NULL;
}

void data_prepare_explain(void)
{
    const struct setting *s;
    for (int i = 0; (s = settings_table_at(&prepare_settings, i)) != NULL; i++)
        wrap_column(s->help, printf("  %s=", s->name), help_text_column(26));
}

/* What the words say: paths in, one path out, settings. */
struct request {
    struct buf in; /* a list as data_config.data has them */
    char *out;     /* owned */
    struct prepare_config config;
};

static int take_path(struct request *q, const char *word, bool last)
{
    if (last)
        return (q->out = file_expand(word)) == NULL ? ERR_NOMEM : 0;
    return data_list_add(&q->in, word);
}

static int read_request(struct request *q, const struct call *c, const char *usage)
{
    int n = 0, seen = 0, rc = prepare_config_init(&q->config);
    for (int i = 1; i < c->n; i++)
        n += !prepare_config_is_word(c->words[i]);
    if (rc == 0 && n < 2)
        rc = command_usage(c, "%s", usage);
    for (int i = 1; i < c->n && rc == 0; i++)
        rc = prepare_config_is_word(c->words[i]) ? prepare_config_set(&q->config, c->words[i])
                                                 : take_path(q, c->words[i], ++seen == n);
    if (rc == 0)
        rc = output_check_name(q->out);
    return rc == 0 && q->config.format == 0 ? output_check_ending(q->out) : rc;
}

static void show_bytes(char *out, size_t size, double bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    int i = 0;
    for (; bytes >= 1000 && i < 4; i++)
        bytes /= 1000;
    snprintf(out, size, i == 0 ? "%.0f %s" : "%.1f %s", bytes,
             i == 0 && bytes == 1 ? "byte" : units[i]);
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void show_left_out(const struct prepare_report *p)
{
    char text[120];
    int n = 0;
    if (p->short_ones > 0)
        n = snprintf(text, sizeof text, "%" PRIu64 " too short", p->short_ones);
    if (p->duplicates > 0)
        snprintf(text + n, sizeof text - (size_t)n, "%s%" PRIu64 " repeated", n > 0 ? ", " : "",
                 p->duplicates);
    if (p->short_ones + p->duplicates > 0)
        wrap_row("left out", text);
}

/* A share of few documents may be none. */
static void show_empty_parts(const struct prepare_report *p)
{
    char text[400];
    const uint64_t documents = p->documents - p->duplicates - p->short_ones;
    for (int i = 0; i < p->n_parts; i++)
        if (p->parts[i].documents == 0) {
            snprintf(text, sizeof text,
                     "%s has no document: %" PRIu64 " %s too few for these shares",
                     p->parts[i].path, documents, documents == 1 ? "is" : "are");
            wrap_row("look at", text);
        }
}

/* A prefix of Megatron's that is the name of a folder as well opens the folder. */
static void show_folder(const char *path)
{
    char text[600];
    if (!file_is_folder(path))
        return;
    snprintf(text, sizeof text, "%s is a folder too: %s.bin names what was written", path, path);
    wrap_row("look at", text);
}

/* What became of the bounds of documents, which were known in IN. */
static void show_bounds(enum output_format f, bool unmoved, bool joins)
{
    char text[400];
    if (unmoved)
        wrap_row("look at", "llm.c's documents begin with the end-of-text token, others end with "
                            "it: without a tokenizer=PATH that has one it stays where it is");
    if (!joins)
        return;
    snprintf(text, sizeof text,
             "%s's files have no bounds but the end-of-text token, and not every document ends "
             "with it: some are one now",
             output_format_name(f));
    wrap_row("look at", text);
}

static void show_read(const struct prepare_report *p, double seconds)
{
    char text[400], bytes[32], rate[32];
    int n =
        snprintf(text, sizeof text, "%" PRIu64 " document%s, ", p->documents, plural(p->documents));
    show_bytes(bytes, sizeof bytes, (double)p->text_bytes);
    show_bytes(rate, sizeof rate, (double)p->text_bytes / (seconds > 0 ? seconds : 1));
    if (p->text_bytes == 0)
        snprintf(text + n, sizeof text - (size_t)n,
                 "%" PRIu64 " token%s, end-of-text tokens not counted", p->tokens,
                 plural(p->tokens));
    else if (seconds >= 1 && !p->went_on)
        snprintf(text + n, sizeof text - (size_t)n, "%s of text, %s/s", bytes, rate);
    else
        snprintf(text + n, sizeof text - (size_t)n, "%s of text", bytes);
    wrap_row("read", text);
}

/* Behind Megatron's prefix, where a file that is none of the two has that name. */
static const char *files_of(enum output_format f, const char *path)
{
    return f == OUTPUT_MEGATRON && file_exists(path) ? ".bin and .idx" : "";
}

static void show_prepared(const struct prepare_report *p, int n_vocab, double seconds)
{
    char text[400], bytes[32];
    progress_wipe();
    show_read(p, seconds);
    show_left_out(p);
    snprintf(text, sizeof text, n_vocab > 0 ? "%s, ids of a vocabulary of %d" : "%s",
             output_format_name(p->format), n_vocab);
    wrap_row("format", text);
    for (int i = 0; i < p->n_parts; i++) {
        const bool lines = p->format == OUTPUT_JSON_LINES;
        show_bytes(bytes, sizeof bytes, (double)p->parts[i].tokens);
        int n = snprintf(text, sizeof text, "%s%s: %" PRIu64 " document%s, ", p->parts[i].path,
                         files_of(p->format, p->parts[i].path), p->parts[i].documents,
                         plural(p->parts[i].documents));
        if (lines)
            snprintf(text + n, sizeof text - (size_t)n, "%s of text", bytes);
        else
            snprintf(text + n, sizeof text - (size_t)n, "%" PRIu64 " token%s", p->parts[i].tokens,
                     plural(p->parts[i].tokens));
        wrap_row(i == 0 ? "wrote" : "", text);
    }
    for (int i = 0; i < p->n_parts && p->format == OUTPUT_MEGATRON; i++)
        show_folder(p->parts[i].path);
    show_empty_parts(p);
    show_bounds(p->format, p->unmoved, p->joins);
}

static void show_converted(const struct convert_report *r, bool has_tokenizer)
{
    char text[400];
    progress_wipe();
    wrap_row("format", output_format_name(r->format));
    snprintf(text, sizeof text, "%s%s: %" PRIu64 " document%s, %" PRIu64 " %s%s%s", r->path,
             files_of(r->format, r->path), r->documents, plural(r->documents), r->tokens,
             r->format == OUTPUT_JSON_LINES ? "byte" : "token", plural(r->tokens),
             r->format == OUTPUT_JSON_LINES ? " of text" : "");
    wrap_row("wrote", text);
    if (r->unsplit)
        wrap_row("look at", has_tokenizer
                                ? "where documents end is not known: the tokenizer has no "
                                  "end-of-text token; each file is one document"
                                : "where documents end only the tokenizer of these ids says: "
                                  "without tokenizer=PATH each file is one document");
    show_bounds(r->format, r->unmoved && !r->unsplit, r->joins);
}

/* Texts need a tokenizer; ids are copied as they are, and compared with one where it is named. */
static bool makes_text(const struct request *q)
{
    return (q->config.format > 0 ? (enum output_format)(q->config.format - 1)
                                 : output_format_of(q->out)) == OUTPUT_JSON_LINES;
}

/* Of what files IN is. */
enum { IN_TEXT = 1, IN_JSON_LINES = 2, IN_TOKENS = 4 };

static int look_at_files(int *found, const char *in)
{
    struct data_sources s;
    int rc = data_sources_find(&s, in);
    *found = 0;
    for (size_t i = 0; i < s.n && rc == 0; i++)
        *found |= s.list[i].kind == DATA_TEXT         ? IN_TEXT
                  : s.list[i].kind == DATA_JSON_LINES ? IN_JSON_LINES
                                                      : IN_TOKENS;
    if (rc == 0 || s.n > 0)
        data_sources_release(&s);
    return rc;
}

/* More than another format. */
static bool asks_for_more(const struct prepare_config *c)
{
    return c->split[0] != '\0' || c->shuffle || c->duplicates != DUPLICATES_KEEP ||
           c->min_length > 0;
}

static int convert_files(struct repl *r, const struct request *q, const struct tokenizer *t)
{
    struct convert_report report;
    const enum output_format format =
        q->config.format > 0 ? (enum output_format)(q->config.format - 1) : OUTPUT_FORMATS;
    int rc = convert_run(&report, format, buf_text(&q->in), q->out, t,
                         r->options.settings.call.force, progress_show());
    progress_wipe();
    if (rc == 0)
        show_converted(&report, t != NULL);
    return rc;
}

static int prepare_files(struct repl *r, const struct request *q, const struct data_tokenizer *from)
{
    struct prepare_report report = {0};
    struct prepare_config config = q->config; /* borrows its texts */
    const struct tokenizer *t = from->tokenizer;
    config.opened_by = from->name;
    const double begun = clock_s();
    int rc = prepare_run(&report, &config, buf_text(&q->in), q->out, t,
                         r->options.settings.call.force, progress_show());
    progress_wipe();
    if (rc == 0)
        show_prepared(&report,
                      report.format == OUTPUT_JSON_LINES || t == NULL ? 0 : tokenizer_size(t),
                      clock_s() - begun);
    if (rc == ERR_INTERRUPTED)
        repl_say_stopped(r, "the same command continues");
    else if (rc != 0 && report.stays)
        wrap_say(stdout, term_dim(stdout),
                 "[what was read stays; the same command continues when the cause is gone]");
    return rc;
}

/* The tokenizer that the files of tokens are noted to be of, as data info has it; none: t is
 * zeroed. */
static int open_noted(struct data_tokenizer *t, struct repl *r, const struct request *q)
{
    struct token_note note;
    token_note_read(&note, buf_text(&q->in));
    return note.name[0] == '\0' ? 0 : data_tokenizer_open_noted(t, r, &note);
}

/* Of files of tokens, or not of such alone. */
static int make_of(struct repl *r, const struct request *q, bool tokens, bool converts)
{
    struct data_tokenizer t = {0};
    const bool named = data_tokenizer_is_named(r, q->config.tokenizer);
    int rc = tokens ? prepare_config_check_tokens(&q->config) : 0;
    if (rc == 0 && tokens && !named)
        rc = open_noted(&t, r, q);
    const bool noted = t.tokenizer != NULL;
    if (rc == 0 && !noted && (!tokens || named || makes_text(q)))
        rc = data_tokenizer_open(&t, r, q->config.tokenizer);
    if (rc == 0)
        rc = converts ? convert_files(r, q, t.tokenizer) : prepare_files(r, q, &t);
    if (rc == 0 && tokens && makes_text(q) && !named && !noted)
        wrap_row("look at", "the ids were read by the tokenizer of the model that ships with "
                            "prattle; tokenizer=PATH names another");
    data_tokenizer_close(&t);
    return rc;
}

/* Either command takes what has tokens and JSON lines: who names a file means the same by both. */
static int make_tokens(struct repl *r, const struct call *c, const char *usage, bool prepares)
{
    struct request q = {0};
    int found = 0, rc = read_request(&q, c, usage);
    if (rc == 0)
        rc = look_at_files(&found, buf_text(&q.in));
    const bool tokens = found == IN_TOKENS;
    if (rc == 0)
        rc = make_of(r, &q, tokens,
                     prepares ? tokens && !asks_for_more(&q.config)
                              : found != IN_JSON_LINES && !(tokens && asks_for_more(&q.config)));
    prepare_config_release(&q.config);
    buf_release(&q.in);
    mem_free(q.out);
    return rc;
}

int data_convert(struct repl *r, const struct call *c)
{
    return make_tokens(r, c, "convert IN OUT [KEY=VALUE ...]", false);
}

int data_prepare(struct repl *r, const struct call *c)
{
    return make_tokens(r, c, "prepare IN ... OUT [KEY=VALUE ...]", true);
}
