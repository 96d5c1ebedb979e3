#include "model/base/settings_file.h"

#include "model/base/err.h"
#include "model/base/file_show.h"
#include "model/base/mem.h"
#include "model/base/yaml_pairs.h"

#include <string.h>
#include <strings.h>

/* Copies that are read into, and that replace the originals only if the whole text is valid. */
struct reading {
    const struct settings_text *from;
    struct settings_store store;
    void *values;
    char **texts;   /* [rows], owned; NULL: not given */
    char **sources; /* [rows], owned; "LABEL line N", or LABEL if the text is derived */
    bool *seen;     /* [rows] */
};

void settings_report_left_out(const struct settings_text *from, const char *place, const char *what)
{
    bool known = place != NULL && !from->derived;
    err_set(ERR_RANGE, "%s: %s: %s", known ? place : from->label, err_text(), what);
    from->left_out(err_text());
}

/* A heading over settings, in a table without sections. */
static int refuse_heading(const char *name)
{
    char shown[80];
    return err_set(ERR_FORMAT,
                   "%s: there are no sections here: write its settings without it, each at the "
                   "beginning of a line",
                   file_show(shown, sizeof shown, name));
}

static bool is_group(const struct settings_table *t, const char *name)
{
    for (int i = 0; i < t->n; i++)
        if (strcasecmp(t->rows[i].group, name) == 0)
            return true;
    return false;
}

/* A list of a name that is no setting is read, for the error to say that. */
static bool takes_list(void *user, const char *name)
{
    const struct reading *r = user;
    const struct setting *row = settings_table_find(r->store.table, name);
    return row == NULL || setting_is_list(row);
}

/* What is neither a value nor a list that may be. */
static int refuse_value(void *user, const char *name, bool list)
{
    const struct reading *r = user;
    const struct setting *row = settings_table_find(r->store.table, name);
    if (row == NULL)
        return refuse_heading(name);
    if (row->json && !list)
        return err_set(ERR_FORMAT, "%s: write the JSON in quotes, as %s: '{...}'", row->name,
                       row->name);
    return err_set(ERR_FORMAT, "%s: expected one value, not a %s: write %s: %s", row->name,
                   list ? "list" : "mapping", row->name,
                   row->argument == NULL ? "VALUE" : row->argument);
}

/* The row of a pair. 0 with *row NULL: a section's heading without settings. */
static int find_pair(const struct settings_table *t, const struct yaml_pair *p,
                     const struct setting **row)
{
    const bool alone = *p->section == '\0', heading = settings_table_has_section(t, p->name);
    *row = NULL;
    if (!alone && !settings_table_has_section(t, p->section))
        return settings_table_no_section(t, p->section);
    if (alone && p->text == NULL && heading)
        return 0;
    char *key = alone ? mem_strdup(p->name) : mem_sprintf("%s.%s", p->section, p->name);
    int rc = key == NULL ? ERR_NOMEM : settings_table_lookup(t, row, key, true);
    mem_free(key);
    if (rc != 0 && alone && heading)
        return err_set(ERR_FORMAT, "%s is a section: its settings stand under it", p->name);
    if (rc != 0 && !t->sections && p->text == NULL && is_group(t, p->name))
        return refuse_heading(p->name);
    return rc;
}

static int take_value(struct reading *r, const struct yaml_pair *p)
{
    const struct settings_table *t = r->store.table;
    const struct setting *row;
    int rc = find_pair(t, p, &row);
    if (rc != 0 || row == NULL)
        return rc;
    if (r->from->may_set != NULL && !r->from->may_set(row))
        return err_set(ERR_UNSUPPORTED, "%s is not to be set from there", row->name);
    bool *seen = &r->seen[row - t->rows];
    if (*seen)
        return err_set(ERR_FORMAT, "%s%s%s is given twice", t->sections ? row->group : "",
                       t->sections ? "." : "", row->name);
    /* null counts as not given. */
    if (p->text == NULL) {
        *seen = t->sections;
        return 0;
    }
    if ((rc = settings_table_parse(t, row, r->values, p->text)) != 0)
        return rc;
    *seen = true;
    char **text = &r->texts[row - t->rows], **source = &r->sources[row - t->rows];
    if ((*text = mem_strdup(p->text)) == NULL)
        return ERR_NOMEM;
    *source = mem_strdup(r->from->derived ? r->from->label : p->place);
    return *source == NULL ? ERR_NOMEM : 0;
}

static int take_pair(void *user, const struct yaml_pair *p)
{
    struct reading *r = user;
    const int rc = take_value(r, p);
    if (rc == 0 || rc == ERR_NOMEM || r->from->left_out == NULL)
        return rc;
    settings_report_left_out(r->from, p->place, "left out");
    return 0;
}

static void release_reading(struct reading *r, const struct settings_table *t)
{
    for (int i = 0; i < t->n && r->texts != NULL; i++)
        mem_free(r->texts[i]);
    for (int i = 0; i < t->n && r->sources != NULL; i++)
        mem_free(r->sources[i]);
    mem_free(r->texts);
    mem_free(r->sources);
    mem_free(r->seen);
    if (r->values != NULL)
        settings_table_release(t, r->values);
    mem_free(r->values);
    settings_store_release(&r->store);
}

/* To be released also after a failure. */
static int read_values(struct reading *r, const struct settings_store *s, const void *values,
                       int layer, const struct settings_text *from)
{
    const struct settings_table *t = s->table;
    *r = (struct reading){.from = from,
                          .values = mem_alloc(t->bytes),
                          .texts = mem_array((size_t)t->n, sizeof *r->texts),
                          .sources = mem_array((size_t)t->n, sizeof *r->sources),
                          .seen = mem_array((size_t)t->n, sizeof *r->seen)};
    bool all = r->values != NULL && r->texts != NULL && r->sources != NULL && r->seen != NULL;
    int rc = all ? 0 : ERR_NOMEM;
    if (rc == 0 && (rc = settings_table_copy(t, r->values, values)) == 0)
        rc = settings_store_copy(&r->store, s);
    const struct yaml_shape shape = {.sections = t->sections,
                                     .lists = t->sections,
                                     .list = t->sections ? NULL : takes_list,
                                     .refuse = t->sections ? NULL : refuse_value,
                                     .item = t->item};
    if (rc == 0)
        rc = yaml_read_pairs(from->label, from->text, from->n, shape, take_pair, r);
    for (int i = 0; i < t->n && rc == 0; i++)
        if (r->texts[i] != NULL)
            rc = settings_store_set_from(&r->store, r->values, layer, &t->rows[i], r->texts[i],
                                         r->sources[i]);
    return rc;
}

int settings_check(const struct settings_store *s, const void *values, int layer,
                   const struct settings_text *from)
{
    struct reading r;
    int rc = read_values(&r, s, values, layer, from);
    release_reading(&r, s->table);
    return rc;
}

int settings_read(struct settings_store *s, void *values, int layer,
                  const struct settings_text *from)
{
    const struct settings_table *t = s->table;
    struct reading r;
    int rc = read_values(&r, s, values, layer, from);
    if (rc == 0) {
        struct settings_store old = *s;
        *s = r.store;
        r.store = old;
        settings_table_release(t, values);
        memcpy(values, r.values, t->bytes);
        mem_free(r.values);
        r.values = NULL;
    }
    release_reading(&r, t);
    return rc;
}
