/*
 * The scheduler pulls lines as it has room and pushes answers in the order of the lines:
 *
 *   fd -> pending -batch_input_next-> request -next_request-> scheduler -finish_request-> output
 *
 * A request lives from next_request to finish_request, in a list in the order of lines whose first
 * is the next to finish. A line that is wrong goes through it too, with its sentence, so that it
 * fails in its place. next_request waits for input only when the scheduler has nothing else to do.
 */
#include "repl/session/batch_lines.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "model/base/rng.h"
#include "model/base/progress.h"
#include "repl/session/batch_input.h"
#include "repl/session/batch_ranks.h"
#include "repl/session/json_lines.h"
#include "repl/session/processes.h"
#include "repl/settings/unused.h"
#include "repl/terminal/progress.h"
#include "repl/session/answer.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "sampling/scheduler.h"
#include "sampling/text/prompt.h"
#include "sampling/text/template.h"
#include "train/parallel/loss.h"
#include "train/parallel/world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 256 };

/* One line between next_request and finish_request. */
struct line_request {
    long line;
    struct json_prompt json;   /* with --jsonl; else only its text is used */
    int rc;                    /* not 0: the line is wrong */
    char *sentence;            /* why */
    struct line_request *next; /* of a later line */
};

struct lines {
    struct repl *repl;
    const struct settings *settings;
    struct batch_input in;
    long line, failures, written;
    bool cut; /* Ctrl-C came in the middle of a line's answers: it and those behind are left out */
    struct line_request *first,
        **last;               /* between next_request and finish_request, in order of lines */
    bool complete;            /* every line has had its turn */
    bool closed;              /* the reader of the answers has gone */
    struct file_writer *file; /* NULL: standard output */
    bool visible, echo;
    struct buf text;
    struct batch_ranks *ranks; /* NULL: one process */
    struct engine scoring;     /* for lines that want log-probabilities; model NULL: not made yet */
};

static void free_request(struct line_request *q)
{
    if (q == NULL)
        return;
    json_prompt_release(&q->json);
    mem_free(q->sentence);
    mem_free(q);
}

/* Prompts of JSON lines that are answered as they are. */
static void note_json(const struct lines *l, const char *line, size_t n)
{
    json_t *object = NULL;
    if (l->settings->batch.jsonl || l->line != 1 || n == 0 || *line != '{' || world_rank() != 0)
        return;
    if (json_read_line(&object, line, n) == 0 && json_is_string(json_object_get(object, "prompt")))
        progress_warn(l->repl->interactive ? "these lines are JSON: `:set jsonl on` reads them"
                                           : "these lines are JSON: --jsonl reads them");
    json_decref(object);
    err_clear();
}

/* The prompt in its template, where there is one. */
static int fill_prompt(struct json_prompt *p, const struct generate_config *g)
{
    struct buf whole = {0};
    const int rc = template_fill(&whole, g->template, p->text, p->n);
    if (rc != 0) {
        buf_release(&whole);
        return rc;
    }
    mem_free(p->text);
    p->text = whole.data;
    p->n = whole.n;
    return 0;
}

static int read_request(struct lines *l, struct line_request *q, const char *line, size_t n)
{
    note_json(l, line, n);
    if ((q->rc = batch_input_check(&l->in, line, n)) != 0) {
        q->sentence = mem_strdup(err_text());
        return q->sentence == NULL ? ERR_NOMEM : 0;
    }
    if (!l->settings->batch.jsonl) {
        if ((q->json.text = mem_alloc(n + 1)) == NULL)
            return ERR_NOMEM;
        memcpy(q->json.text, line, n);
        q->json.n = n;
        return 0;
    }
    if ((q->rc = json_line_prompt(&q->json, line, n, &l->repl->options, l->settings->sampler.seed,
                                  progress_warn)) == 0)
        return 0;
    q->sentence = mem_strdup(err_text());
    return q->sentence == NULL ? ERR_NOMEM : 0;
}

static int parse_request(struct lines *l, struct line_request *q, const char *line, size_t n)
{
    const int rc = read_request(l, q, line, n);
    const struct generate_config *g =
        l->settings->batch.jsonl ? &q->json.settings.generate : &l->settings->generate;
    return rc != 0 || q->rc != 0 || q->json.text == NULL ? rc : fill_prompt(&q->json, g);
}

static int next_request(void *user, struct generate_request *item, bool wait)
{
    struct lines *l = user;
    const char *line;
    size_t n;
    if (l->ranks != NULL && batch_ranks_stopped(l->ranks))
        return REQUEST_END;
    int rc = batch_input_next(&l->in, &line, &n, wait);
    if (rc != REQUEST_READY)
        return rc;
    struct line_request *q = mem_alloc(sizeof *q);
    if (q == NULL)
        return ERR_NOMEM;
    q->line = ++l->line;
    if ((rc = parse_request(l, q, line, n)) != 0) {
        free_request(q);
        return rc;
    }
    *(l->first == NULL ? &l->first : l->last) = q;
    l->last = &q->next;
    *item = (struct generate_request){.text = q->json.text,
                                      .n = q->json.n,
                                      .ids = q->json.ids.data,
                                      .n_ids = q->json.ids.n,
                                      .elsewhere = l->ranks != NULL && !batch_ranks_owns(q->line),
                                      .user = q};
    if (q->rc != 0) {
        item->rc = q->rc;
        item->error = q->sentence;
    } else if (l->settings->batch.jsonl) {
        item->sampler = &q->json.settings.sampler;
        item->generate = &q->json.settings.generate;
        item->own_draw = q->json.own_draw;
    }
    return REQUEST_READY;
}

static int escape_text(struct buf *out, const char *text, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0;) {
        size_t run = 0;
        while (i + run < n && text[i + run] != '\n' && text[i + run] != '\\')
            run++;
        rc = buf_add(out, text + i, run);
        if ((i += run) < n && rc == 0)
            rc = buf_str(out, text[i++] == '\n' ? "\\n" : "\\\\");
    }
    return rc;
}

static int write_stdout(struct lines *l, const struct buf *b)
{
    if (l->settings->batch.jsonl)
        term_put(stdout, b);
    else
        fwrite(b->data, 1, b->n, stdout);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    l->closed = errno == EPIPE;
    return err_errno("cannot write the answers");
}

/* For a person: broken between words. */
static int write_wrapped(struct lines *l, const struct buf *b)
{
    struct buf wrapped = {0};
    int rc = wrap_into(&wrapped, buf_text(b), term_width(stdout) - 1);
    if (rc == 0)
        rc = write_stdout(l, &wrapped);
    buf_release(&wrapped);
    return rc;
}

static int write_answers(struct lines *l, const struct buf *b)
{
    if (l->file != NULL)
        return file_write(l->file, b->data, b->n);
    if (term_is(stdout))
        progress_wipe(); /* elsewhere the bar stands while answers go by */
    if (l->visible && !l->settings->batch.raw && !l->settings->batch.jsonl)
        return write_wrapped(l, b);
    return write_stdout(l, b);
}

/* Prompt and answer, or an empty line where there is none. */
static int put_plain(struct lines *l, struct buf *out, const struct json_prompt *p,
                     const struct answer *a)
{
    bool raw = l->settings->batch.raw;
    struct buf one = {0};
    int rc = 0;
    if (a != NULL && l->echo && p->text != NULL)
        rc = buf_add(&one, p->text, p->n);
    if (rc == 0 && a != NULL)
        rc = buf_add(&one, buf_text(&a->text), a->text.n);
    l->text.n = 0;
    if (rc == 0)
        rc = raw ? buf_add(&l->text, buf_text(&one), one.n)
                 : escape_text(&l->text, buf_text(&one), one.n);
    if (rc == 0)
        rc = l->visible && !raw ? term_visible(out, buf_text(&l->text), l->text.n)
                                : buf_add(out, buf_text(&l->text), l->text.n);
    if (rc == 0)
        rc = buf_char(out, raw ? '\0' : '\n');
    buf_release(&one);
    return rc;
}

/* What the line asks for beside its answers. Ctrl-C gives it up: the answers alone are written. */
static int score_answers(struct lines *l, struct line_scores *out, const struct line_request *q,
                         const struct answer *answers, int n)
{
    const struct settings *s = &q->json.settings;
    struct prompt prompt = {0};
    int rc = l->scoring.model != NULL ? 0 : repl_engine(&l->scoring, l->repl->model, 1, s);
    if (rc == 0)
        rc = q->json.text == NULL
                 ? ids_add(&prompt.ids, q->json.ids.data, q->json.ids.n)
                 : prompt_encode(&prompt, l->repl->model, &s->generate, q->json.text, q->json.n);
    if (rc == 0)
        rc = line_scores_make(out, &l->scoring, s, &prompt, answers, n);
    prompt_release(&prompt);
    return rc;
}

static int put_json(struct lines *l, struct line_output *o, const struct line_request *q,
                    int64_t draw, const struct answer *answers, int n)
{
    struct line_scores scores = {0};
    struct buf *out = &o->out;
    const bool wanted = line_scores_wanted(&q->json.settings);
    int rc = wanted ? score_answers(l, &scores, q, answers, n) : 0;
    if (rc == 0 || rc == ERR_INTERRUPTED)
        rc = json_line_answer(out, json_prompt_asked(&q->json), &q->json.settings, draw, answers, n,
                              wanted && rc == 0 ? &scores : NULL);
    if (rc == ERR_NOT_FINITE) { /* this line's alone */
        o->failures++;
        rc = json_line_error(out, json_prompt_asked(&q->json), err_text());
    }
    line_scores_release(&scores);
    return rc;
}

/* What comes of a line, as it is to be written. */
static int compose_output(struct lines *l, struct line_output *o,
                          const struct generate_request *item, int failed,
                          const struct answer *answers, int n)
{
    const struct line_request *q = item->user;
    int rc = 0;
    if (failed != 0) {
        o->failures++;
        if (l->settings->batch.jsonl)
            return json_line_error(&o->out, json_prompt_asked(&q->json), err_text());
        o->warning = mem_sprintf("line %ld: %s", q->line, err_text());
        return o->warning == NULL ? ERR_NOMEM : put_plain(l, &o->out, &q->json, NULL);
    }
    const struct generate_config *g =
        l->settings->batch.jsonl ? &q->json.settings.generate : &l->settings->generate;
    for (int i = 0; i < n; i++)
        o->full |= answers[i].finish == FINISH_CONTEXT && g->on_full == ON_FULL_STOP;
    /* JSON says so; half a text would look like a whole one, but for a person who sees it end. */
    for (int i = 0; i < n && !l->settings->batch.jsonl && !l->visible; i++)
        o->cut |= answers[i].finish == FINISH_INTERRUPTED;
    if (l->settings->batch.jsonl)
        return put_json(l, o, q, item->draw, answers, n);
    for (int i = 0; i < n && rc == 0; i++)
        rc = put_plain(l, &o->out, &q->json, &answers[i]);
    return rc;
}

static int write_output(void *user, struct line_output *o)
{
    struct lines *l = user;
    l->cut |= o->cut;
    if (l->cut) /* a line's place says of which prompt it is */
        return 0;
    if (o->warning != NULL)
        progress_warn(o->warning);
    l->written++;
    l->failures += o->failures;
    int rc = write_answers(l, &o->out);
    if (o->full)
        repl_report_full(l->repl, &(struct generate_config){.on_full = ON_FULL_STOP},
                         &(struct answer){.finish = FINISH_CONTEXT}, 1);
    return rc;
}

static int finish_request(void *user, const struct generate_request *item, int failed,
                          struct answer *answers, int n)
{
    struct lines *l = user;
    struct line_request *q = item->user;
    struct line_output o = {0};
    int rc = item->elsewhere ? 0 : compose_output(l, &o, item, failed, answers, n);
    if (rc == 0 && l->ranks != NULL)
        rc = batch_ranks_next(l->ranks, q->line, item->elsewhere ? NULL : &o);
    else if (rc == 0)
        rc = write_output(l, &o);
    if (rc == 0 && failed == 0 && !item->elsewhere && !l->cut)
        rc = answer_save_sample(l->settings->batch.jsonl ? &q->json.settings : l->settings,
                                q->json.text, q->json.n, item->draw, answers, n);
    line_output_release(&o);
    l->first = q->next; /* they are done in their order */
    free_request(q);
    return rc;
}

static void show_figures(const struct settings *s, const struct scheduler_stats *b)
{
    if (!s->talk.verbose || b->wall_s <= 0)
        return;
    char drafted[80] = "", seed[32] = "";
    if (b->n_drafted_tokens > 0)
        snprintf(drafted, sizeof drafted, " %ld of %ld drafted token%s accepted;",
                 b->n_accepted_tokens, b->n_drafted_tokens, b->n_drafted_tokens == 1 ? "" : "s");
    if (!s->batch.jsonl) /* whose lines have each its own */
        snprintf(seed, sizeof seed, " seed %" PRIu64, s->sampler.seed);
    progress_wipe();
    wrap_say(stderr, "",
             "[%ld prompts, %ld prompt tokens (%ld shared), %ld new in %.2f s: %.1f tokens/s, "
             "%.2f ms per token, %.1f ms per sentence, %.2f samples/s;%s%s]",
             b->n_prompts, b->n_prompt_tokens, b->n_reused_tokens, b->n_new_tokens, b->wall_s,
             (double)b->n_new_tokens / b->wall_s,
             b->n_new_tokens > 0 ? 1e3 * b->wall_s / (double)b->n_new_tokens : 0.0,
             b->n_prompts > 0 ? 1e3 * b->wall_s / (double)b->n_prompts : 0.0,
             (double)b->n_prompts / b->wall_s, drafted, seed);
}

/* The tokens of all ranks, on rank 0. */
static void gather_stats(struct scheduler_stats *stats)
{
    long own[] = {stats->n_prompt_tokens, stats->n_reused_tokens, stats->n_new_tokens,
                  stats->n_drafted_tokens, stats->n_accepted_tokens},
         sums[5] = {0};
    for (int rank = 0; rank < world_size(); rank++) {
        long theirs[5];
        memcpy(theirs, own, sizeof own);
        world_broadcast(theirs, sizeof theirs, rank);
        for (int i = 0; i < 5; i++)
            sums[i] += theirs[i];
    }
    stats->n_prompt_tokens = sums[0];
    stats->n_reused_tokens = sums[1];
    stats->n_new_tokens = sums[2];
    stats->n_drafted_tokens = sums[3];
    stats->n_accepted_tokens = sums[4];
}

/* All ranks have all lines, and one seed. */
static int share_lines(struct lines *l, struct settings *s)
{
    if (world_size() == 1)
        return 0;
    int rc = *s->talk.save_samples != '\0'
                 ? err_set(ERR_UNSUPPORTED, "save_samples is not for several processes")
                 : 0;
    if ((rc = world_agree(rc)) == 0)
        rc = processes_check_options(l->repl, "prompts");
    if (rc != 0)
        return rc;
    world_broadcast(&s->sampler.seed, sizeof s->sampler.seed, 0);
    rc = batch_ranks_read(&l->in.pending, l->in.fd);
    if (rc == 0)
        rc = batch_input_begin_whole(&l->in);
    return world_agree(rc == 0 ? batch_ranks_open(&l->ranks, write_output, l) : rc);
}

static void report_stopped(struct repl *r, long written)
{
    char text[96] = " before the first answer was whole";
    if (written > 0)
        snprintf(text, sizeof text, " after the answers to %ld line%s; those begun are left out",
                 written, written == 1 ? "" : "s");
    if (r->interactive)
        repl_say_stopped(r, text);
    else
        wrap_say(stderr, "", "[stopped%s]", text);
}

/* Settings of a whole batch: one seed for all of its lines. */
static int run_batch(struct repl *r, struct lines *l, const struct settings *s)
{
    struct scheduler_stats stats = {0};
    const double start = clock_s();
    struct scheduler_callbacks callbacks = {.next = next_request,
                                            .done = finish_request,
                                            .progress = progress_show(),
                                            .want_logprobs =
                                                s->batch.jsonl || *s->talk.save_samples != '\0',
                                            .user = l};
    int rc = options_check_answers(&r->options, progress_warn);
    if (rc == 0 && !r->interactive && !s->batch.jsonl && world_rank() == 0)
        rc = options_say_unused(&r->options, ORIGIN_COMMAND_LINE, progress_warn);
    int texts = generate_texts(&s->generate, &s->sampler), size = s->batch.batch_size;
    if (rc == 0)
        rc = repl_ready(r, texts > size ? texts : size);
    if (l->ranks != NULL && (rc = world_agree(rc)) == 0)
        rc = processes_check_model(r);
    loss_needs_all(l->ranks != NULL);
    if (rc == 0)
        rc = scheduler_run(&r->engine, &s->generate, &s->sampler, size, &callbacks, &stats);
    if (l->ranks != NULL) {
        rc = batch_ranks_close(l->ranks, rc);
        loss_needs_all(false);
        gather_stats(&stats);
        stats.wall_s = clock_s() - start;
    }
    l->complete = rc == 0;
    if (rc != 0)
        rc = options_blame(&r->options, NULL);
    progress_wipe();
    if (l->closed)
        return 0;
    if (rc == 0)
        show_figures(s, &stats);
    if (rc == ERR_INTERRUPTED && l->cut)
        report_stopped(r, l->written);
    if (rc == 0 && l->failures > 0)
        rc = err_set(ERR_FORMAT, "%ld of %ld line%s could not be answered", l->failures, l->line,
                     l->line == 1 ? "" : "s");
    return rc;
}

/* At the prompt, where nothing else would show, it says so. */
static int commit_answers(const struct lines *l)
{
    const long answered = l->written - l->failures;
    char text[64], path[NAME_BYTES];
    file_show(path, sizeof path, l->file->path);
    snprintf(text, sizeof text, ": the answers to %ld line%s", answered, answered == 1 ? "" : "s");
    const int rc = file_commit(l->file);
    if (rc == 0 && l->repl->interactive)
        wrap_wrote(path, text);
    return rc;
}

/* Beside OUT, under a name that nothing has: OUT.partial, OUT.partial-2, ... */
static int commit_partial(struct file_writer *file, char shown[NAME_BYTES])
{
    enum { MOST = 100 };
    char ending[24] = ".partial";
    int rc = file_divert(file, ending);
    for (int i = 2; rc == ERR_EXISTS && i < MOST; i++) {
        snprintf(ending, sizeof ending, ".partial-%d", i);
        rc = file_divert(file, ending);
    }
    file_show(shown, NAME_BYTES, file->path);
    return rc == 0 ? file_commit(file) : rc;
}

/* An old OUT stays as it was; what there is instead of all is kept beside it. */
static int keep_beside(const struct lines *l, bool any)
{
    char old[NAME_BYTES], new[NAME_BYTES] = "";
    file_show(old, sizeof old, l->file->path);
    const int rc = any ? commit_partial(l->file, new) : 0;
    if (rc != 0) {
        err_wrap("the answers that there are cannot be kept");
        progress_warn(err_text());
    }
    if (any && rc == 0)
        wrap_say(stderr, "", "[%s is as it was; the answers that there are went to %s]", old, new);
    else
        wrap_say(stderr, "", "[%s is as it was]", old);
    return rc;
}

/* What could be answered is kept, as it would be on standard output; an old file is replaced only
 * by answers to all there was. Returns rc, of the batch, or the error of writing. */
static int keep_answers(const struct lines *l, int rc)
{
    struct file_writer *file = l->file;
    const bool answered = l->written > l->failures;
    struct err_kept why;
    int kept = 0;
    err_keep(&why);
    if (file->replaces && !(l->complete && (answered || l->written == 0)))
        /* JSON says why a line failed, and nothing else does. */
        kept = keep_beside(l, answered || (l->settings->batch.jsonl && l->written > 0));
    else if (rc == 0 || l->written > 0)
        kept = commit_answers(l);
    file_abandon(file);
    if (rc != 0)
        err_restore(&why);
    return rc == 0 ? kept : rc;
}

int batch_lines(struct repl *r, int fd, const char *path, const char *out)
{
    struct settings s;
    struct file_writer file;
    int rc = settings_copy(&s, &r->options.settings);
    if (rc != 0)
        return rc;
    if (s.sampler.seed == 0)
        s.sampler.seed = rng_fresh_seed();
    struct lines l = {.repl = r,
                      .settings = &s,
                      .in = {.fd = fd, .path = path},
                      .visible = out == NULL && term_is(stdout),
                      .echo = s.talk.echo != SWITCH_OFF};
    rc = answer_check_form(&s.batch);
    if (rc == 0 && world_size() == 1)
        rc = answer_check_samples(&s);
    if (rc == 0 && out != NULL && world_rank() == 0 &&
        (rc = file_create(&file, out, s.call.force)) == 0)
        l.file = &file;
    if ((rc = world_agree(rc)) == 0)
        rc = share_lines(&l, &s);
    if (rc == 0)
        rc = run_batch(r, &l, &s);
    if (l.file != NULL)
        rc = keep_answers(&l, rc);
    while (l.first != NULL) { /* what the end of the output cut off */
        struct line_request *q = l.first;
        l.first = q->next;
        free_request(q);
    }
    engine_release(&l.scoring);
    batch_input_release(&l.in);
    buf_release(&l.text);
    settings_release(&s);
    return rc;
}
