#include "repl/session/model_line.h"

#include "model/base/par.h"
#include "model/kernels/kernels.h"
#include "repl/terminal/term.h"
#include "weights/bundled/bundled.h"

#include <string.h>

/* "7.1M", "1.6B", "26K". */
static int add_count(struct buf *out, double n)
{
    const int power = n >= 999.95e6 ? 9 : n >= 999.5e3 ? 6 : 3;
    return buf_printf(out, power == 3 ? "%.0f%c" : "%.1f%c",
                      n / (power == 9 ? 1e9 : power == 6 ? 1e6 : 1e3),
                      power == 9 ? 'B' : power == 6 ? 'M' : 'K');
}

int model_line_format(const struct repl *r, struct buf *out)
{
    const struct model *m = r->model;
    const int n_threads = par_threads();
    int rc = term_visible(out, m->name, strlen(m->name));
    if (rc == 0 && m->adapter != NULL)
        rc = buf_str(out, " with an adapter");
    if (rc == 0)
        rc = buf_str(out, ", ");
    if (rc == 0)
        rc = add_count(out, (double)config_params(&m->config));
    if (rc == 0)
        rc = buf_printf(out, " parameters, %s, %d thread%s, %s\n",
                        dtype_short_name(m->params.dtype), n_threads, n_threads == 1 ? "" : "s",
                        kernels_name());
    return rc == 0 && bundled_is_name(m->name) ? buf_printf(out, "%s\n", bundled_hint()) : rc;
}
