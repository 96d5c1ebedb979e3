#include "repl/session/model_line.h"

#include "model/base/par.h"
#include "model/kernels/kernels.h"
#include "repl/terminal/number.h"
#include "repl/terminal/term.h"
#include "weights/bundled/bundled.h"

#include <string.h>

enum { N_PARTS = 4 };

static int format_name(struct buf *out, const struct model *m)
{
    /* Another model that goes by the name of the one that ships, as a copy saved does. */
    const char *name = bundled_is_name(m->name) && m->source != NULL ? m->source : m->name;
    int rc = term_visible(out, name, strlen(name));
    return rc == 0 && m->adapter != NULL ? buf_str(out, " with an adapter") : rc;
}

/* Of a name that is too long its end, as of a path, says most; from a folder on if it has one. */
static int add_name(struct buf *out, const char *name, int width)
{
    static const char cut[] = "...";
    int over = term_columns(name, strlen(name)) - width, one;
    if (over <= 0 || width <= (int)strlen(cut))
        return buf_str(out, name);
    for (over += (int)strlen(cut); over > 0; over -= one)
        name += term_character(name, strlen(name), &one);
    const char *slash = strchr(name, '/');
    if (slash != NULL && slash[1] != '\0')
        name = slash;
    return buf_printf(out, "%s%s", cut, name);
}

/* From what matters most to what matters least. */
static int list_parts(struct buf parts[N_PARTS], const struct model *m, enum dtype cache)
{
    const int n_threads = par_threads();
    char count[NUMBER_TEXT], precision[ENGINE_PRECISION];
    precision_words(precision, m->params.dtype, cache);
    int rc = buf_printf(&parts[0], ", %s parameters",
                        number_count(count, (double)config_params(&m->config)));
    if (rc == 0)
        rc = buf_printf(&parts[1], ", %s", precision);
    if (rc == 0)
        rc = buf_printf(&parts[2], ", %d thread%s", n_threads, n_threads == 1 ? "" : "s");
    return rc == 0 ? buf_printf(&parts[3], ", %s", kernels_name()) : rc;
}

int model_line_format(const struct repl *r, int width, struct buf *out)
{
    const struct model *m = r->model;
    struct buf name = {0}, parts[N_PARTS] = {{0}};
    int rc = format_name(&name, m), n = N_PARTS, others = 0;
    if (rc == 0)
        rc = list_parts(parts, m, repl_cache_dtype(&r->options.settings, m));
    for (int i = 0; i < N_PARTS; i++)
        others += (int)parts[i].n;
    const int columns = term_columns(buf_text(&name), name.n);
    while (width > 0 && n > 0 && columns + others > width)
        others -= (int)parts[--n].n;
    if (width > 0 && columns > width) { /* it is cut anyway */
        others = (int)parts[0].n;
        n = 1;
    }
    if (rc == 0)
        rc = width > 0 ? add_name(out, buf_text(&name), width - others)
                       : buf_str(out, buf_text(&name));
    for (int i = 0; i < n && rc == 0; i++)
        rc = buf_str(out, buf_text(&parts[i]));
    if (rc == 0)
        rc = buf_char(out, '\n');
    buf_release(&name);
    for (int i = 0; i < N_PARTS; i++)
        buf_release(&parts[i]);
    return rc == 0 && m->source != NULL && bundled_is_name(m->source)
               ? buf_printf(out, "%s\n", bundled_hint())
               : rc;
}
