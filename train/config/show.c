#include "train/config/show.h"

#include <stdbool.h>
#include <string.h>

struct show_columns {
    int width; /* 0: as wide as it comes */
    int name, value;
};

static const char *origin_shown(const struct run_config *c, const struct setting *row)
{
    return settings_store_follows(&c->store, row)
               ? "follows"
               : origin_name(settings_store_origin(&c->store, row));
}

/* Narrower where rows would not fit. */
static struct show_columns fit_columns(const struct run_config *c, int width)
{
    enum { NAME = 31, VALUE = 24, ORIGIN = 8, LEAST_VALUE = 8, LEAST_NAME = 9, FEW_BREAK = 19 };
    const struct setting *row;
    int origin = 0;
    for (int i = 0; (row = settings_table_at(&run_table, i)) != NULL; i++) {
        const int n = (int)strlen(origin_shown(c, row));
        origin = n > origin ? n : origin;
    }
    if (width < 2 + FEW_BREAK + 1 + LEAST_VALUE + 1 + origin)
        origin = origin < ORIGIN ? origin : ORIGIN;
    const int longest = 2 + NAME + 1 + VALUE + 1 + origin;
    const int over = width > 0 && width < longest ? longest - width : 0;
    const int of_value = over < VALUE - LEAST_VALUE ? over : VALUE - LEAST_VALUE;
    const int name = NAME - (over - of_value);
    return (struct show_columns){width, name > LEAST_NAME ? name : LEAST_NAME, VALUE - of_value};
}

/* A name or an origin that has no room beside the value has a line to itself; an origin wider than
 * its column ends at the edge. */
static int show_row(struct buf *out, const struct show_columns *c, const char *name,
                    const char *value, const char *origin)
{
    const int n_name = (int)strlen(name), n_value = (int)strlen(value);
    const int values_at = 2 + c->name + 1, origins_at = values_at + c->value + 1;
    const bool broken = n_name > c->name;
    const bool squeezed = c->width > 0 && !broken && values_at + n_value > c->width;
    const int n_origin = (int)strlen(origin);
    int at = squeezed ? 2 + n_name + 1 : values_at;
    if (broken && c->width > 0 && at + n_value > c->width)
        at = c->width - n_value < 2 ? 2 : c->width - n_value;
    int rc = broken ? buf_printf(out, "  %s\n%*s%s", name, at, "", value)
                    : buf_printf(out, "  %-*s%s", at - 2, name, value);
    at += n_value;
    const int apart = at < origins_at ? origins_at - at : 1, edge = c->width - n_origin;
    if (rc == 0 && (c->width == 0 || at + apart <= edge))
        return buf_printf(out, "%*s%s\n", apart, "", origin);
    if (rc == 0 && at < edge)
        return buf_printf(out, "%*s%s\n", edge - at, "", origin);
    at = origins_at < edge ? origins_at : edge < 2 ? 2 : edge;
    return rc == 0 ? buf_printf(out, "\n%*s%s\n", at, "", origin) : rc;
}

/* A setting in force, behind its section where that is another than the last one's. */
static int show_setting(struct buf *out, const struct run_config *c,
                        const struct show_columns *columns, const struct setting *row,
                        const char **section)
{
    struct buf value = {0};
    int rc = 0;
    if (strcmp(*section, row->group) != 0)
        rc = buf_printf(out, "%s\n", *section = row->group);
    if (rc == 0)
        rc = setting_format(row, c, &value);
    if (rc == 0)
        rc = show_row(out, columns, row->name, value.n > 0 ? buf_text(&value) : "\"\"",
                      origin_shown(c, row));
    buf_release(&value);
    return rc;
}

int run_config_show(const struct run_config *c, int width, struct buf *out)
{
    const char *section = "";
    const struct show_columns columns = fit_columns(c, width);
    const struct setting *row;
    int rc = 0;
    for (int i = 0; rc == 0 && (row = settings_table_at(&run_table, i)) != NULL; i++)
        rc = show_setting(out, c, &columns, row, &section);
    return rc;
}

int run_config_show_named(const struct run_config *c, int width, char *const *names, int n,
                          struct buf *out)
{
    const char *section = "";
    const struct show_columns columns = fit_columns(c, width);
    const struct setting *row;
    int rc = 0;
    for (int i = 0; rc == 0 && i < n; i++)
        if ((rc = settings_table_lookup(&run_table, &row, names[i], false)) == 0)
            rc = show_setting(out, c, &columns, row, &section);
    return rc;
}
