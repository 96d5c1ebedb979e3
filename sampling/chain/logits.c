#include "sampling/chain/logits.h"

#include "model/base/err.h"
#include "model/base/file_show.h"

#include <float.h>

/* Without a branch, so that the compiler takes several at once. */
bool logits_are_finite(const float *x, size_t n)
{
    unsigned bad = 0, good = 0;
    for (size_t i = 0; i < n; i++) {
        bad |= !(x[i] <= FLT_MAX);
        good |= x[i] >= -FLT_MAX;
    }
    return !bad && good;
}

int logits_refuse(const struct model *m, size_t n_tokens)
{
    char name[160];
    return err_set(
        ERR_NOT_FINITE,
        "%s: the logits after %zu token%s are NaN or infinite; the weights are damaged%s",
        file_show(name, sizeof name, m->name), n_tokens, n_tokens == 1 ? "" : "s",
        m->params.dtype != DTYPE_F32 ? ", or too large for fp16: --dtype fp32 may help" : "");
}
