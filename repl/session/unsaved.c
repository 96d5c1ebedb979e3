/*
 * Discarding takes the same command twice in a row. What the first names is in r->naming; at the
 * end of the line unsaved_next_line makes it r->named, which holds for one line:
 *
 *   :quit   something is unsaved, not in named --> naming = it, refused
 *   :quit   it is in named                     --> discarded
 *   other   named is empty again
 */
#include "repl/session/unsaved.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/session/repl.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/signals.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <inttypes.h>
#include <stdio.h>

bool unsaved_has_steps(const struct repl *r)
{
    return r->run != NULL && run_step(r->run) > 0 && run_step(r->run) != run_saved_step(r->run);
}

/* Where the sentence is read: at this prompt, or in the shell after it. */
static void report_saved_run(const struct repl *r, bool leaving)
{
    char path[256], step[32];
    snprintf(step, sizeof step, "%" PRId64, run_step(r->run));
    file_word(path, sizeof path, run_path(r->run));
    if (leaving) /* which unsaved_report_resume goes on from */
        wrap_say(stdout, term_dim(stdout), "[step %s is saved]", step);
    else
        wrap_say(stdout, term_dim(stdout),
                 "[step %s is saved; `%s resume %s` continues from there]", step,
                 r->interactive && !signals_leaving() ? ":train" : "prattle train", path);
}

static int save_run(struct repl *r, bool leaving)
{
    if (r->run == NULL || run_step(r->run) == 0)
        return 0;
    if ((run_status(r->run) == RUN_FINISHED || r->told_step == run_step(r->run)) &&
        !unsaved_has_steps(r) && !run_owes_state(r->run))
        return 0;
    int rc = run_save(r->run);
    progress_wipe();
    r->told_step = run_step(r->run);
    if (rc == 0)
        report_saved_run(r, leaving);
    return rc;
}

int unsaved_save_run(struct repl *r)
{
    return save_run(r, false);
}

void unsaved_report_resume(const struct repl *r)
{
    char path[256];
    if (r->run == NULL || run_saved_step(r->run) < 0)
        return;
    wrap_say(stdout, term_dim(stdout), "[next time, `prattle %s` opens step %" PRId64 "%s]",
             file_word(path, sizeof path, run_path(r->run)), run_saved_step(r->run),
             run_status(r->run) == RUN_FINISHED
                 ? ""
                 : ", and `:train resume` continues with its training");
}

static const char *const discarders[] = {
    [DISCARD_QUIT] = ":quit",           [DISCARD_LOAD] = ":load",
    [DISCARD_TRAIN] = ":train",         [DISCARD_RESUME] = ":train resume",
    [DISCARD_LORA_LOAD] = ":lora load", [DISCARD_LORA_MERGE] = ":lora merge",
    [DISCARD_LORA_DROP] = ":lora drop",
};

/* Of `what`, after the run was saved if it can be: *failed says by what code it cannot. */
static int find_unsaved(struct repl *r, enum discarder by, unsigned what, unsigned *lost,
                        int *failed)
{
    const struct model *m = r->model;
    *lost = 0;
    *failed = (what & UNSAVED_RUN) != 0 ? save_run(r, by == DISCARD_QUIT) : 0;
    if (*failed == ERR_INTERRUPTED)
        return *failed;
    if (*failed != 0)
        *lost |= UNSAVED_RUN;
    if (m != NULL && m->changed)
        *lost |= what & UNSAVED_WEIGHTS;
    if (m != NULL && m->adapter != NULL && m->adapter->changed)
        *lost |= what & UNSAVED_ADAPTER;
    return 0;
}

/* Appends an item to the list; "" where out is empty. */
static int add_item(struct buf *out, const char *item)
{
    return buf_printf(out, "%s%s", out->n == 0 ? "" : ", ", item);
}

static int name_losses(struct buf *out, const struct repl *r, unsigned lost, const char *why)
{
    int rc = 0;
    if (lost & UNSAVED_RUN)
        rc = buf_printf(out, "the run's step %" PRId64 " (%s)", run_step(r->run), why);
    if (rc == 0 && (lost & UNSAVED_WEIGHTS))
        rc = add_item(out, "the weights (`:save PATH` keeps them)");
    if (rc == 0 && (lost & UNSAVED_ADAPTER))
        rc = add_item(out, "the adapter (`:lora save DIR` keeps it)");
    return rc;
}

static int refuse_discard(struct repl *r, enum discarder by, unsigned lost, int code)
{
    struct buf list = {0};
    char *why = mem_strdup(err_text());
    int rc = why == NULL ? ERR_NOMEM : name_losses(&list, r, lost, why);
    if (rc == 0) {
        r->naming = (struct named_loss){by, lost};
        rc = lost == UNSAVED_WEIGHTS
                 ? err_set(code,
                           "unsaved weights: `:save PATH` keeps them, `%s` again discards them",
                           discarders[by])
             : lost == UNSAVED_ADAPTER
                 ? err_set(code,
                           "unsaved adapter: `:lora save DIR` keeps it, `%s` again discards it",
                           discarders[by])
                 : err_set(code, "unsaved: %s; `%s` again discards %s", buf_text(&list),
                           discarders[by], lost == UNSAVED_RUN ? "it" : "them");
    }
    mem_free(why);
    buf_release(&list);
    return rc;
}

int unsaved_may_discard(struct repl *r, enum discarder by, unsigned what)
{
    unsigned lost, named = r->named.by == by ? r->named.what : 0;
    int failed, rc = find_unsaved(r, by, what, &lost, &failed);
    if (rc != 0 || (lost & ~named) == 0)
        return rc;
    return refuse_discard(r, by, lost, failed != 0 ? failed : ERR_EXISTS);
}

int unsaved_put_away(struct repl *r, enum discarder by, unsigned what)
{
    int rc = unsaved_may_discard(r, by, what | UNSAVED_RUN);
    if (rc == 0)
        repl_drop_run(r);
    return rc;
}

int unsaved_try_save_run(struct repl *r)
{
    int rc = unsaved_save_run(r);
    return rc == ERR_INTERRUPTED ? rc : 0;
}

bool unsaved_is_confirmed(struct repl *r, enum discarder by)
{
    r->naming = (struct named_loss){by, 0};
    return r->named.by == by;
}

void unsaved_next_line(struct repl *r)
{
    r->named = r->naming;
    r->naming = (struct named_loss){0};
}
