#include "repl/options.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/yaml_pairs.h"

#include <stdlib.h>

enum { MAX_FILE_BYTES = 1 << 20 };

/* What was read, kept aside until all of it is known to be good. */
struct reading {
    enum origin origin;
    struct settings trial;
    char **values; /* [rows], owned */
};

static int take_pair(void *user, const struct yaml_pair *p)
{
    struct reading *r = user;
    const struct setting *row;
    int rc = option_settable(&row, p->name);
    if (rc != 0)
        return rc;
    /* A model may say how it wants to be sampled, and nothing about the machine. */
    if (r->origin == ORIGIN_MODEL && !option_per_line(row))
        return err_set(ERR_UNSUPPORTED, "%s is not a model's to set", row->name);
    char **kept = &r->values[row - option_at(0)];
    if (*kept != NULL)
        return err_set(ERR_FORMAT, "%s is given twice", row->name);
    /* null is as if it were not there. */
    if (p->text == NULL)
        return 0;
    if ((rc = option_parse(row, &r->trial, p->text)) != 0)
        return rc;
    return (*kept = mem_strdup(p->text)) == NULL ? ERR_NOMEM : 0;
}

int options_read_yaml(struct options *o, enum origin origin, const char *label, const char *text,
                      size_t n)
{
    struct reading r = {.origin = origin};
    int rows = 0;
    while (option_at(rows) != NULL)
        rows++;
    int rc = settings_copy(&r.trial, &o->settings);
    if (rc != 0)
        return rc;
    r.values = mem_array((size_t)rows, sizeof *r.values);
    rc = r.values == NULL ? ERR_NOMEM
                          : yaml_read_pairs(label, text, n, (struct yaml_shape){0}, take_pair, &r);
    for (int i = 0; i < rows && rc == 0; i++)
        if (r.values[i] != NULL)
            rc = options_set(o, option_at(i), origin, r.values[i]);
    for (int i = 0; i < rows && r.values != NULL; i++)
        mem_free(r.values[i]);
    mem_free(r.values);
    settings_release(&r.trial);
    return rc;
}

int options_read_user_file(struct options *o)
{
    char *path = file_home(HOME_CONFIG, "settings.yaml");
    if (path == NULL)
        return err_last() == ERR_MISSING ? 0 : ERR_NOMEM;
    int rc = 0;
    struct buf text = {0};
    if (file_exists(path)) {
        char *shown = file_visible(path);
        rc = file_read_all(&text, path, MAX_FILE_BYTES);
        if (rc == 0)
            rc = options_read_yaml(o, ORIGIN_FILE, shown == NULL ? "settings.yaml" : shown,
                                   buf_text(&text), text.n);
        mem_free(shown);
    }
    buf_release(&text);
    mem_free(path);
    return rc;
}
