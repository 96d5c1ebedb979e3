#include "train/config/show.h"

#include <limits.h>
#include <string.h>

/* The columns of names and of values: narrower where rows would not fit. */
static void fit_columns(int width, int *name, int *value)
{
    enum { NAME = 31, VALUE = 24, LONGEST = 2 + NAME + 1 + VALUE + 1 + 12, LEAST = 9 };
    int over = width > 0 && width < LONGEST ? LONGEST - width : 0;
    int of_value = over < VALUE - LEAST ? over : VALUE - LEAST;
    *value = VALUE - of_value;
    *name = NAME - (over - of_value) > LEAST ? NAME - (over - of_value) : LEAST;
}

static int clamp_width(int x, int least, int most)
{
    return x > most ? most : x < least ? least : x;
}

/* Of such columns, as far as they leave room for all of the row. */
static int show_row(struct buf *out, const char *name, const char *value, const char *origin,
                    int width)
{
    int names, values, n_name = (int)strlen(name), n_value = (int)strlen(value);
    fit_columns(width, &names, &values);
    int room = width - (2 + n_name + 1 + n_value + 1 + (int)strlen(origin));
    room = width == 0 ? INT_MAX : room < 0 ? 0 : room;
    int of_name = clamp_width(names - n_name, 0, room);
    int of_value = clamp_width(names + values - n_name - of_name - n_value, 0, room - of_name);
    return buf_printf(out, "  %s%*s %s%*s %s\n", name, of_name, "", value, of_value, "", origin);
}

int run_config_show(const struct run_config *c, int width, struct buf *out)
{
    const char *section = "";
    const struct setting *row;
    int rc = 0;
    for (int i = 0; rc == 0 && (row = settings_table_at(&run_table, i)) != NULL; i++) {
        struct buf value = {0};
        if (strcmp(section, row->group) != 0)
            rc = buf_printf(out, "%s\n", section = row->group);
        if (rc == 0)
            rc = setting_format(row, c, &value);
        if (rc == 0)
            rc = show_row(out, row->name, value.n > 0 ? buf_text(&value) : "\"\"",
                          settings_store_follows(&c->store, row)
                              ? "follows"
                              : origin_name(settings_store_origin(&c->store, row)),
                          width);
        buf_release(&value);
    }
    return rc;
}
