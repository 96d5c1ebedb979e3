/* :cache [clear [NAME]] */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/session/repl.h"
#include "repl/terminal/duration.h"
#include "repl/terminal/table_fit.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/data/text_cache_folder.h"
#include "weights/panel_folder.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char DAMAGED[] = "(damaged)";

enum { NAME, PRECISION, SIZE, USED, FROM, N_COLUMNS };
enum { SPARE_COLUMNS = 1 << PRECISION | 1 << FROM };

static const char *shown_name(const struct panel_listed *e)
{
    return e->header.block_bytes > 0 ? e->header.name : DAMAGED;
}

static int put_entry(struct table *t, const struct panel_listed *e)
{
    const struct panel_header *h = &e->header;
    const double age_s = difftime(time(NULL), e->used);
    char ago[24];
    const bool known = h->block_bytes > 0;
    int rc = table_row(t);
    if (rc == 0)
        rc = table_text(t, NAME, shown_name(e), SIZE_MAX);
    if (rc == 0)
        rc = table_cell(t, PRECISION, "%s", known ? dtype_short_name(h->dtype) : "");
    if (rc == 0)
        rc = table_cell(t, SIZE, "%.0f MB", (double)e->bytes / 1e6);
    if (rc == 0)
        rc = table_cell(t, USED, "%s ago", duration_text(ago, age_s > 0 ? age_s : 0));
    return rc == 0 ? table_text(t, FROM, h->source, SIZE_MAX) : rc;
}

static int print_entries(const struct panel_list *l)
{
    static const char *const heads[N_COLUMNS] = {"model", "precision", "size", "last used", "from"};
    struct table t;
    struct buf out = {0};
    enum table_fit fit;
    int rc = 0;
    table_init(&t, heads, N_COLUMNS);
    for (size_t i = 0; i < l->n && rc == 0; i++)
        rc = put_entry(&t, &l->entries[i]);
    if (rc == 0)
        rc = term_is(stdout)
                 ? table_fit(&t, SPARE_COLUMNS, 1 << USED, term_width(stdout) - 1, &out, &fit)
                 : table_format(&t, TABLE_TEXT, &out);
    if (rc == 0)
        term_put(stdout, &out);
    buf_release(&out);
    table_release(&t);
    return rc;
}

/* What was trained and measured on. */
static void show_texts(void)
{
    struct text_cache_amount held;
    char shown[256], *folder = text_cache_folder();
    if (folder == NULL)
        return;
    text_cache_count(&held, folder);
    if (held.sets > 0)
        wrap_say(stdout, term_dim(stdout), "%d encoded text%s, %.1f MB, in %s", held.sets,
                 held.sets == 1 ? "" : "s", (double)held.bytes / 1e6,
                 file_show(shown, sizeof shown, folder));
    mem_free(folder);
}

static int clear_texts(void)
{
    struct text_cache_amount gone;
    char *folder = text_cache_folder();
    if (folder == NULL)
        return err_last();
    const int rc = text_cache_clear(&gone, folder);
    mem_free(folder);
    if (gone.sets > 0)
        wrap_say(stdout, term_dim(stdout), "[%d encoded text%s removed, %.1f MB]", gone.sets,
                 gone.sets == 1 ? "" : "s", (double)gone.bytes / 1e6);
    return rc;
}

static int show_cache(const struct repl *r, const char *folder)
{
    const double limit = (double)r->options.settings.device.cache_size;
    struct panel_list l;
    char shown[256];
    int rc = panel_folder_list(&l, folder);
    if (rc == 0 && l.n > 0)
        rc = print_entries(&l);
    if (rc == 0 && l.n == 0)
        wrap_say(stdout, term_dim(stdout),
                 "no models in the cache: loading a Hugging Face model of 16 MiB or more adds it");
    if (rc == 0 && limit == 0)
        wrap_say(stdout, term_dim(stdout), "no model is added: cache_size is 0");
    else if (rc == 0 && l.n > 0)
        wrap_say(stdout, term_dim(stdout), "%zu model%s, %.0f MB of at most %g GB, in %s", l.n,
                 l.n == 1 ? "" : "s", (double)l.bytes / 1e6, limit,
                 file_show(shown, sizeof shown, folder));
    panel_list_release(&l);
    if (rc == 0)
        show_texts();
    return rc;
}

/* name NULL: all, and the texts. */
static int clear_cache(const char *folder, const char *name)
{
    struct panel_list l;
    char shown[96];
    size_t n = 0;
    double bytes = 0;
    int rc = panel_folder_list(&l, folder);
    for (size_t i = 0; i < l.n && rc == 0; i++) {
        const struct panel_listed *e = &l.entries[i];
        if (name != NULL && strcmp(shown_name(e), name) != 0)
            continue;
        if ((rc = panel_folder_drop(folder, e->key)) == 0) {
            n++;
            bytes += (double)e->bytes;
        }
    }
    panel_list_release(&l);
    if (rc == 0 && n == 0 && name != NULL)
        return err_set(ERR_MISSING, "no model %s in the cache; `:cache` lists them",
                       file_show(shown, sizeof shown, name));
    if (rc == 0)
        wrap_say(stdout, term_dim(stdout), "[%zu model%s removed, %.0f MB]", n, n == 1 ? "" : "s",
                 bytes / 1e6);
    return rc == 0 && name == NULL ? clear_texts() : rc;
}

int cmd_cache(struct repl *r, const struct call *c)
{
    if (c->n > 0 && strcmp(c->words[0], "clear") != 0)
        return command_usage(c, "[clear [NAME]]");
    char *folder = panel_folder_path();
    if (folder == NULL)
        return err_last();
    int rc = c->n == 0 ? show_cache(r, folder) : clear_cache(folder, c->n > 1 ? c->words[1] : NULL);
    mem_free(folder);
    return rc;
}
