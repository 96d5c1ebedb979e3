#include "tests/lib/random_adapter.h"

#include "tests/lib/normal.h"
#include "tests/lib/test.h"

struct adapter *random_adapter(const struct config *c, const char *targets, int rank, bool rslora)
{
    char names[128];
    struct adapter *a;
    const struct adapter_config k = {
        .rank = rank, .alpha = 3, .dropout = 0.05f, .rslora = rslora, .targets = names};
    snprintf(names, sizeof names, "%s", targets);
    assert_ok(adapter_new(&a, &k, c));
    for (size_t i = 0; i < a->n; i++)
        a->data[i] = 0.1f * normal_number(4, 2, i);
    return a;
}
