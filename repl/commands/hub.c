/* :hub */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "repl/session/repl.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/table_fit.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "weights/hub/cached.h"
#include "weights/hub/environment.h"
#include "weights/hub/model_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME, SIZE, USED, REVISIONS, N_COLUMNS };

/* "548 MB", "1.5 GB", "0.5 MB" */
static const char *size_text(char out[32], uint64_t bytes)
{
    const double mb = (double)bytes / 1e6;
    snprintf(out, 32,
             mb >= 1000 ? "%.1f GB"
             : mb >= 10 ? "%.0f MB"
                        : "%.1f MB",
             mb >= 1000 ? mb / 1000 : mb);
    return out;
}

static int add_row(struct table *t, const struct cached *c, bool for_program)
{
    char size[32], when[32] = "", shown[1024];
    struct tm tm;
    int rc = table_row(t);
    if (c->used != 0 && localtime_r(&c->used, &tm) != NULL)
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
    if (rc == 0)
        rc = table_cell(t, NAME, "%s",
                        for_program ? c->name : file_show(shown, sizeof shown, c->name));
    if (rc == 0)
        rc = for_program ? table_cell(t, SIZE, "%" PRIu64, c->bytes)
                         : table_cell(t, SIZE, "%s", size_text(size, c->bytes));
    if (rc == 0)
        rc = table_cell(t, USED, "%s", when);
    if (rc == 0)
        rc = table_cell(t, REVISIONS, "%s%s%s", buf_text(&c->revisions),
                        c->in_part && c->revisions.n > 0 ? "; " : "", c->in_part ? "in part" : "");
    return rc;
}

static int print_list(const struct repl *r, const struct cached_list *l)
{
    static const char *const heads[] = {"name", "size", "last used", "revisions"}, *const keys[] = {
                                                                                       "name",
                                                                                       "bytes",
                                                                                       "used",
                                                                                       "revisions"};
    const enum table_format format = (enum table_format)r->options.settings.call.format;
    const bool for_program = format == TABLE_CSV || format == TABLE_JSON;
    struct table t;
    struct buf out = {0};
    enum table_fit fit = TABLE_WHOLE;
    int rc = 0;
    table_init(&t, for_program ? keys : heads, N_COLUMNS);
    for (int i = 0; i < l->n && rc == 0; i++)
        rc = add_row(&t, &l->all[i], for_program);
    if (rc == 0)
        rc = format == TABLE_TEXT && term_is(stdout)
                 ? table_fit(&t, 1 << REVISIONS | 1 << USED, 0, term_width(stdout) - 1, &out, &fit)
                 : table_format(&t, format, &out);
    if (rc == 0 && format == TABLE_TEXT)
        term_print(stdout, buf_text(&out));
    else if (rc == 0)
        term_put(stdout, &out);
    if (rc == 0 && fit != TABLE_WHOLE)
        wrap_say(stdout, term_dim(stdout),
                 "wider terminals and `--format csv` also show last use and revisions");
    buf_release(&out);
    table_release(&t);
    return rc;
}

static int list_cache(const struct repl *r)
{
    struct cached_list l;
    char *path = hub_cache_path();
    int rc = path == NULL ? err_last() : cached_list_read(&l);
    if (rc == 0 && l.n == 0 && r->options.settings.call.format == TABLE_TEXT)
        wrap_say(stdout, "", "nothing is in the cache %s; `%s NAME` downloads a model", path,
                 r->interactive ? ":load" : "prattle");
    else if (rc == 0)
        rc = print_list(r, &l);
    if (rc == 0)
        cached_list_release(&l);
    mem_free(path);
    return rc;
}

static int get_model(const char *name)
{
    char *path;
    int rc = hub_model_path(&path, name, true, progress_show());
    progress_wipe();
    if (rc != 0)
        return rc;
    wrap_say(stdout, "", "%s", path);
    mem_free(path);
    return 0;
}

static int remove_cached(const char *name)
{
    char size[32];
    uint64_t bytes;
    int rc = cached_remove(&bytes, name);
    if (rc == 0)
        wrap_say(stdout, "", "removed %s, %s", name, size_text(size, bytes));
    return rc;
}

int cmd_hub(struct repl *r, const struct call *c)
{
    if (c->n == 0)
        return list_cache(r);
    if (c->n == 2 && strcmp(c->words[0], "get") == 0)
        return get_model(c->words[1]);
    if (c->n == 2 && strcmp(c->words[0], "remove") == 0)
        return remove_cached(c->words[1]);
    return command_usage(c, "[get NAME|remove NAME]");
}
