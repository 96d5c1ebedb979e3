/* :eval WHAT [FILE] */
#include "repl/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/eval_view.h"
#include "repl/progress.h"
#include "repl/repl.h"

#include <stdio.h>
#include <string.h>

static int unknown(const char *name)
{
    struct buf names = {0};
    char shown[128];
    int rc = 0;
    const struct eval *e;
    for (int i = 0; (e = eval_at(i)) != NULL && rc == 0; i++)
        rc = buf_printf(&names, "%s, ", e->name);
    if (rc == 0)
        rc = err_set(ERR_MISSING, "there is no evaluation and no file %s; eval takes %sor a file",
                     file_show(shown, sizeof shown, name), buf_text(&names));
    buf_release(&names);
    return rc;
}

/* The evaluation that the words ask for, and its file, NULL for none; a file alone is a text. */
static int choose(const struct eval **e, const char **path, const struct call *c)
{
    *e = eval_find(c->words[0]);
    *path = c->n > 1 ? c->words[1] : NULL;
    if (*e == NULL && c->n == 1) {
        char *file = file_expand(c->words[0]);
        if (file == NULL)
            return ERR_NOMEM;
        if (file_exists(file)) {
            *e = eval_find("text");
            *path = c->words[0];
        }
        mem_free(file);
    }
    if (*e == NULL)
        return unknown(c->words[0]);
    if (c->n > 2)
        return err_set(ERR_RANGE, "usage: %seval %s %s", c->shell ? "prattle " : ":", (*e)->name,
                       (*e)->argument);
    return 0;
}

static int check_options(const struct repl *r, const struct eval *e)
{
    char name[64];
    snprintf(name, sizeof name, "eval %s", e->name);
    return command_check_options(r, name, e->options);
}

int cmd_eval(struct repl *r, const struct call *c)
{
    const struct settings *s = &r->options.settings;
    const struct eval *e;
    const char *path;
    struct eval_result result;
    int rc = choose(&e, &path, c);
    if (rc == 0)
        rc = check_options(r, e);
    if (rc == 0)
        rc = repl_need_model(r);
    if (rc == 0)
        rc = repl_ready(r, s->batch.batch_size);
    if (rc != 0)
        return rc;
    rc = eval_run(e, &r->engine, NULL, &s->eval, path, &result, progress_show());
    progress_wipe();
    if (rc != 0)
        return rc;
    eval_view_show(&result, r->model);
    if (result.partial)
        rc = err_set(ERR_INTERRUPTED, "interrupted");
    eval_result_release(&result);
    return rc;
}
