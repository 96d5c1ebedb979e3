#include "repl/session/model_line.h"

#include "model/base/par.h"
#include "model/kernels/kernels.h"
#include "repl/terminal/number.h"
#include "repl/terminal/term.h"
#include "weights/bundled/bundled.h"

#include <string.h>

int model_line_format(const struct repl *r, struct buf *out)
{
    const struct model *m = r->model;
    const int n_threads = par_threads();
    char count[NUMBER_TEXT];
    int rc = term_visible(out, m->name, strlen(m->name));
    if (rc == 0 && m->adapter != NULL)
        rc = buf_str(out, " with an adapter");
    if (rc == 0)
        rc = buf_str(out, ", ");
    if (rc == 0)
        rc = buf_printf(out, "%s parameters, %s, %d thread%s, %s\n",
                        number_count(count, (double)config_params(&m->config)),
                        dtype_short_name(m->params.dtype), n_threads, n_threads == 1 ? "" : "s",
                        kernels_name());
    return rc == 0 && bundled_is_name(m->name) ? buf_printf(out, "%s\n", bundled_hint()) : rc;
}
