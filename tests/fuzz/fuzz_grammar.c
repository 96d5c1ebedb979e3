/* Grammars and JSON schemas of any bytes: each is a grammar or is refused with a sentence, and the
 * matcher of one reads any text: here the grammar itself, over and over. */
#include "model/base/err.h"
#include "sampling/schema/json_schema.h"
#include "sampling/grammar/grammar_parse.h"
#include "sampling/grammar/matcher.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS = 2000 };

static void read_text(const struct grammar *g, const uint8_t *data, size_t size)
{
    struct matcher *m;
    if (matcher_new(&m, g, MATCHER_NODES) != 0)
        abort();
    int state = matcher_start(m);
    for (size_t i = 0; i < STEPS && size > 0 && state != MATCHER_FULL; i++) {
        int next = matcher_step(m, state, data[i % size]);
        if (next == MATCHER_FULL)
            next = matcher_step(m, state = matcher_keep(m, state), data[i % size]);
        /* A byte that does not fit is left out. */
        state = next == MATCHER_DEAD ? state : next;
    }
    matcher_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf rules = {0};
    struct grammar *g = NULL;
    const bool schema = size > 0 && *data == '{';
    err_clear();
    int rc = schema ? json_schema_grammar(&rules, (const char *)data, size) : 0;
    if (rc == 0)
        rc = grammar_parse(&g, schema ? buf_text(&rules) : (const char *)data,
                           schema ? rules.n : size);
    if ((rc == 0) != (g != NULL) || (rc != 0 && *err_text() == '\0'))
        abort();
    if (rc == 0)
        read_text(g, data, size);
    grammar_free(g);
    buf_release(&rules);
    return 0;
}
