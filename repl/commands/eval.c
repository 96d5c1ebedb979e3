/* :eval WHAT [FILE], history */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "model/base/words.h"
#include "repl/commands/eval_report.h"
#include "repl/commands/help_text.h"
#include "repl/terminal/pager.h"
#include "repl/terminal/progress.h"
#include "repl/session/model_hint.h"
#include "repl/session/processes.h"
#include "repl/session/repl.h"
#include "repl/session/unsaved.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/data/source.h"
#include "train/eval/record.h"
#include "train/parallel/loss.h"
#include "train/parallel/world.h"
#include "weights/load.h"

#include <stdio.h>
#include <string.h>

static int refuse_unknown_eval(const char *name)
{
    struct buf names = {0};
    char shown[128], *prepared = data_find_prepared(name);
    const char *words[16] = {"history"};
    size_t n = 1;
    int rc = 0;
    const struct eval *e;
    for (int i = 0; (e = eval_at(i)) != NULL && rc == 0; i++) {
        rc = buf_printf(&names, "%s, ", e->name);
        if (n < sizeof words / sizeof *words)
            words[n++] = e->name;
    }
    const char *near = prepared != NULL ? prepared : words_nearest(name, words, n);
    if (rc == 0 && near != NULL)
        rc = err_set(ERR_MISSING, "there is no evaluation and no file %s; did you mean %s?",
                     file_show(shown, sizeof shown, name), near);
    else if (rc == 0)
        rc = err_set(ERR_MISSING, "there is no evaluation and no file %s; eval takes %sor a file",
                     file_show(shown, sizeof shown, name), buf_text(&names));
    mem_free(prepared);
    buf_release(&names);
    return rc;
}

/* What the words ask for: paths are NULL where none is given. */
struct eval_request {
    const struct eval *eval;
    const char *other, *path;
};

static int detect_text(bool *is, const char *word)
{
    char *path = file_expand(word), *prepared = data_find_prepared(word);
    *is = path != NULL && (file_exists(path) || data_is_pattern(path) ||
                           (prepared != NULL && strcmp(prepared, word) == 0));
    mem_free(prepared);
    mem_free(path);
    return path == NULL ? ERR_NOMEM : 0;
}

/* As from a pattern that the shell has put its matches for. */
static int refuse_second_text(const struct call *c, int second)
{
    bool is = false;
    int rc = detect_text(&is, c->words[second]);
    return rc == 0 && is ? err_set(ERR_RANGE,
                                   "%s: eval reads one text, one folder, or all files that match a "
                                   "pattern%s",
                                   file_quote(c->words[second]),
                                   c->shell ? " in quotes, as '*.txt'" : ", as *.txt")
                         : rc;
}

/* A file alone is a text. */
static int choose_eval(struct eval_request *w, const struct call *c)
{
    int used = 1, rc = 0;
    bool is_text = false;
    *w = (struct eval_request){.eval = eval_find(c->words[0])};
    if (w->eval == NULL && (rc = detect_text(&is_text, c->words[0])) == 0 && is_text) {
        w->eval = eval_find("text");
        used = 0;
    }
    if (rc != 0)
        return rc;
    if (w->eval == NULL)
        return refuse_unknown_eval(c->words[0]);
    if (w->eval->needs_other && used < c->n)
        w->other = c->words[used++];
    if (used < c->n)
        w->path = c->words[used++];
    if (used < c->n && strcmp(w->eval->name, "text") == 0 &&
        (rc = refuse_second_text(c, used)) != 0)
        return rc;
    if (used < c->n || (w->eval->needs_other && w->other == NULL))
        return command_usage(c, "%s %s", w->eval->name, w->eval->argument);
    return 0;
}

/* Settings of the session that it does not read, where they were given for this command. */
static int check_eval_settings(const struct repl *r, const struct eval *e, bool shell)
{
    const struct setting *const rows[] = {OPTION(eval.seq_length), OPTION(eval.overlap),
                                          OPTION(eval.last_n), OPTION(eval.detokenize),
                                          OPTION(generate.special), OPTION(eval.lines.field),
                                          OPTION(eval.lines.prompt_template),
                                          OPTION(eval.lines.completion_template)};
    const struct settings_store *store = &r->options.store;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const enum origin origin = settings_store_origin(store, rows[i]);
        const bool given = origin == ORIGIN_CALL || (shell && origin == ORIGIN_COMMAND_LINE);
        if (!given || strstr(e->settings, rows[i]->name) != NULL)
            continue;
        const char *typed =
            settings_store_source(store, settings_store_layer(store, rows[i]), rows[i]);
        return err_set(ERR_UNSUPPORTED, "eval %s does not take %.*s", e->name,
                       (int)strcspn(typed, "="), typed);
    }
    return 0;
}

static int check_eval_options(const struct repl *r, const struct eval *e, bool shell)
{
    char name[64];
    snprintf(name, sizeof name, "eval %s", e->name);
    const int rc = command_check_options(r, name, e->options);
    return rc == 0 ? check_eval_settings(r, e, shell) : rc;
}

/* The model to compare with, beside the one in memory. */
static int open_other(struct engine *e, struct model **m, const struct repl *r, const char *path)
{
    const struct settings *s = &r->options.settings;
    const enum precision_choice choice = (enum precision_choice)(
        s->call.other_dtype == PRECISION_AUTO ? s->device.dtype : s->call.other_dtype);
    struct load_config c = {.seed = s->sampler.seed,
                            .says_checkpoint = true,
                            .cache = repl_panel_cache(r),
                            .memory = repl_load_memory(r)};
    const int cache = s->call.other_cache_dtype;
    char *expanded = file_expand(path);
    int rc = expanded == NULL ? ERR_NOMEM : repl_memory_dtype(&c.dtype, choice);
    if (rc == 0)
        rc = model_load(m, expanded, &c, progress_show());
    if (rc != 0 && expanded != NULL &&
        model_hint(rc, expanded, r->interactive ? ":" : "prattle ") != 0)
        err_wrap("kl MODEL [FILE]");
    progress_wipe();
    if (rc == 0)
        rc = engine_init_as(
            e, *m, r->engine.max_seqs,
            cache_dtype_chosen(
                (enum precision_choice)(cache == PRECISION_AUTO ? s->device.cache_dtype : cache),
                (*m)->params.dtype));
    mem_free(expanded);
    return rc;
}

static int print_json(const json_t *value, size_t flags)
{
    struct buf text = {0};
    int rc = json_print(&text, value, flags | JSON_REAL_PRECISION(15));
    if (rc == 0)
        printf("%s\n", buf_text(&text));
    buf_release(&text);
    return rc;
}

/* What came out, to be seen and to be kept. */
static int report_result(struct repl *r, const struct eval_result *result, struct model *other)
{
    const struct settings *s = &r->options.settings;
    json_t *record = eval_record(result, r->model, other);
    int rc = record == NULL ? err_last() : 0;
    if (rc == 0 && s->call.json) {
        rc = print_json(record, 0);
    } else if (rc == 0) {
        rc = eval_report_show(result, r->model);
    }
    /* That it cannot be kept is no reason to lose it. */
    if (rc == 0 && s->talk.keep_results && eval_history_add(record) != 0) {
        err_wrap("the result is not kept for eval history");
        progress_warn(err_text());
    }
    json_decref(record);
    if (rc == 0 && result->partial) {
        r->told_stop = true;
        rc = err_set(ERR_INTERRUPTED, "interrupted");
    }
    return rc;
}

/* Each rank is to measure the same. */
static int check_asked(const struct repl *r, const struct eval *e)
{
    char what[64];
    snprintf(what, sizeof what, "evaluation: %s", e->name);
    return processes_check_options(r, what);
}

static int measure_model(struct repl *r, const struct eval_request *w)
{
    const struct settings *s = &r->options.settings;
    struct engine other = {0};
    struct model *other_model = NULL;
    struct eval_result result;
    struct eval_config config = s->eval;
    config.special = s->generate.special;
    config.by_ranks = w->other == NULL && world_size() > 1;
    if (!config.by_ranks && world_rank() > 0)
        return 0;
    int rc = repl_need_model(r);
    if (config.by_ranks && (rc = world_agree(rc)) == 0)
        rc = check_asked(r, w->eval);
    if (rc == 0 && (rc = repl_ready(r, s->batch.batch_size)) == 0 && w->other != NULL)
        rc = open_other(&other, &other_model, r, w->other);
    if (rc == 0 && config.by_ranks)
        rc = eval_check_file(w->eval, &config, w->path);
    if (config.by_ranks && (rc = world_agree(rc)) == 0)
        rc = processes_check_model(r);
    if (rc == 0) {
        loss_needs_all(config.by_ranks);
        rc = eval_run(w->eval, &r->engine, w->other == NULL ? NULL : &other, &config, w->path,
                      &result, progress_show());
        loss_needs_all(false);
        progress_wipe();
        if (rc == 0 && world_rank() > 0)
            eval_result_release(&result);
        else if (rc == 0) {
            rc = report_result(r, &result, other_model);
            eval_result_release(&result);
        }
    }
    if (rc == ERR_INTERRUPTED && r->interactive && !r->told_stop)
        repl_say_stopped(r, "nothing was measured yet");
    engine_release(&other);
    model_free(other_model);
    return rc;
}

/* ---- :eval history ---- */

static int print_records(const struct records *h)
{
    for (size_t i = 0; i < h->n; i++) {
        int rc = print_json(h->list[i], JSON_COMPACT);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static void say_none(const struct call *c, size_t all)
{
    if (all == 0 || c->n == 1)
        wrap_say(stdout, term_dim(stdout), "no results yet: `%s wikitext` makes one",
                 c->shell ? "prattle eval" : ":eval");
    else
        wrap_say(stdout, term_dim(stdout), "none of the %zu result%s matches", all,
                 all == 1 ? "" : "s");
}

static void show_page(const struct buf *text, bool shell)
{
    if (shell)
        term_put(stdout, text);
    else
        pager_show(buf_text(text), text->n);
}

/* c: "history", and words that the results have. */
static int show_history(const struct repl *r, const struct call *c)
{
    const struct call_settings *k = &r->options.settings.call;
    struct records h;
    struct buf out = {0};
    int rc = command_check_options(r, "eval history", "json format all last");
    if (rc == 0)
        rc = eval_history_read(&h);
    if (rc != 0)
        return rc;
    if (h.n_bad > 0) {
        char sentence[80];
        snprintf(sentence, sizeof sentence, "%zu line%s of the file of results %s not readable",
                 h.n_bad, h.n_bad == 1 ? "" : "s", h.n_bad == 1 ? "is" : "are");
        progress_warn(sentence);
    }
    const size_t all = h.n;
    eval_history_select(&h, c->words + 1, c->n - 1, k->last);
    if (k->json)
        rc = print_records(&h);
    else if (h.n == 0 && k->format == TABLE_TEXT)
        say_none(c, all);
    else if ((rc = eval_report_history(&h, k->format, term_is(stdout) ? term_width(stdout) : 0,
                                       k->all, &out)) == 0)
        show_page(&out, c->shell);
    buf_release(&out);
    records_release(&h);
    return rc;
}

/* --force says so, and at a prompt the same command once more. */
static int clear_history(struct repl *r, const struct call *c)
{
    struct records h;
    int rc = command_check_options(r, "eval history clear", "force");
    if (rc != 0 || (rc = eval_history_read(&h)) != 0)
        return rc;
    const size_t n = h.n;
    records_release(&h);
    const bool asks = n > 0 && !r->options.settings.call.force;
    if (asks && c->shell)
        return err_set(ERR_EXISTS,
                       "this deletes %zu result%s: `prattle eval history clear --force` confirms",
                       n, n == 1 ? "" : "s");
    if (asks && !c->shell && !unsaved_is_confirmed(r, DISCARD_RESULTS))
        return err_set(ERR_EXISTS,
                       "this deletes %zu result%s; `:eval history clear` again confirms", n,
                       n == 1 ? "" : "s");
    if ((rc = eval_history_clear()) == 0)
        wrap_say(stdout, term_dim(stdout), "[%zu result%s discarded]", n, n == 1 ? "" : "s");
    return rc;
}

static int use_history(struct repl *r, const struct call *c)
{
    return c->n == 2 && strcmp(c->words[1], "clear") == 0 ? clear_history(r, c)
                                                          : show_history(r, c);
}

void cmd_eval_explain(void)
{
    const struct eval *e;
    for (int i = 0; (e = eval_at(i)) != NULL; i++)
        wrap_column(e->help, printf("  %s %s", e->name, e->argument), help_text_column(26));
}

const char *cmd_eval_word(int i)
{
    const struct eval *e = eval_at(i);
    return e != NULL ? e->name : NULL;
}

int cmd_eval(struct repl *r, const struct call *c)
{
    struct eval_request w;
    if (strcmp(c->words[0], "history") == 0)
        return world_rank() == 0 ? use_history(r, c) : 0;
    int rc = choose_eval(&w, c);
    if (rc == 0)
        rc = check_eval_options(r, w.eval, c->shell);
    return rc == 0 ? measure_model(r, &w) : rc;
}
