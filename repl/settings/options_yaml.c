#include "repl/settings/options.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/yaml_pairs.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_FILE_BYTES = 1 << 20 };

/* What was read, kept aside until all of it is known to be good. */
struct reading {
    const struct yaml_origin *from;
    struct settings trial;
    char **values; /* [rows], owned */
};

static int take_value(struct reading *r, const struct yaml_pair *p)
{
    const struct setting *row;
    int rc = option_settable(&row, p->name);
    if (rc != 0)
        return rc;
    if (r->from->may_set != NULL && !r->from->may_set(row))
        return err_set(ERR_UNSUPPORTED, "%s is not to be set from there", row->name);
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

/* A sentence about what is left out, from the one in force. */
static void tell_left_out(const struct yaml_origin *from, const char *what)
{
    err_set(ERR_RANGE, "%s: %s: %s", from->label, err_text(), what);
    from->left_out(err_text());
}

static int take_pair(void *user, const struct yaml_pair *p)
{
    struct reading *r = user;
    const int rc = take_value(r, p);
    if (rc == 0 || rc == ERR_NOMEM || r->from->left_out == NULL)
        return rc;
    tell_left_out(r->from, "left out");
    return 0;
}

static int n_rows(void)
{
    int n = 0;
    while (option_at(n) != NULL)
        n++;
    return n;
}

static void end_reading(struct reading *r)
{
    for (int i = 0, n = r->values == NULL ? 0 : n_rows(); i < n; i++)
        mem_free(r->values[i]);
    mem_free(r->values);
    settings_release(&r->trial);
}

/* On failure there is nothing to end. */
static int begin_reading(struct reading *r, const struct options *o, const struct yaml_origin *from,
                         const char *text, size_t n)
{
    *r = (struct reading){.from = from};
    int rc = settings_copy(&r->trial, &o->settings);
    if (rc != 0)
        return rc;
    r->values = mem_array((size_t)n_rows(), sizeof *r->values);
    rc = r->values == NULL
             ? ERR_NOMEM
             : yaml_read_pairs(from->label, text, n, (struct yaml_shape){0}, take_pair, r);
    if (rc != 0)
        end_reading(r);
    return rc;
}

int options_check_yaml(const struct options *o, const struct yaml_origin *from, const char *text,
                       size_t n)
{
    struct reading r;
    int rc = begin_reading(&r, o, from, text, n);
    if (rc == 0)
        end_reading(&r);
    return rc;
}

int options_read_yaml(struct options *o, const struct yaml_origin *from, const char *text, size_t n)
{
    struct reading r;
    int rc = begin_reading(&r, o, from, text, n);
    if (rc != 0)
        return rc;
    for (int i = 0, rows = n_rows(); i < rows && rc == 0; i++)
        if (r.values[i] != NULL)
            rc = options_set(o, option_at(i), from->origin, r.values[i]);
    end_reading(&r);
    return rc;
}

/* Until no value of this origin excludes another; what is left the user gave. */
static int drop_odds(struct options *o, const struct yaml_origin *from)
{
    struct generate_odds odds;
    while (generate_config_odds(&odds, &o->settings.generate, &o->settings.sampler) != 0) {
        char what[64];
        const struct setting *row = option_find(odds.yields);
        if (options_origin(o, row) != from->origin)
            row = option_find(odds.to);
        if (options_origin(o, row) != from->origin)
            break;
        snprintf(what, sizeof what, "%s is left out", row->name);
        tell_left_out(from, what);
        const int rc = options_set(o, row, from->origin, NULL);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int options_read_stored(struct options *o, const struct yaml_origin *from, const char *text,
                        size_t n)
{
    struct options alone;
    int rc = options_init(&alone);
    if (rc != 0)
        return rc;
    if ((rc = options_read_yaml(&alone, from, text, n)) == 0)
        rc = drop_odds(&alone, from);
    for (int i = 0, rows = n_rows(); i < rows && rc == 0; i++)
        if (alone.given[i][from->origin] != NULL)
            rc = options_set(o, option_at(i), from->origin, alone.given[i][from->origin]);
    options_release(&alone);
    return rc == 0 ? drop_odds(o, from) : rc;
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
            rc = options_read_yaml(
                o,
                &(struct yaml_origin){.origin = ORIGIN_FILE,
                                      .label = shown == NULL ? "settings.yaml" : shown},
                buf_text(&text), text.n);
        mem_free(shown);
    }
    buf_release(&text);
    mem_free(path);
    return rc;
}
