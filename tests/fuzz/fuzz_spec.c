/* spec_read and spec_figures on any bytes: they end, what is refused is explained, and no command
 * that is accepted is another program's. */
#include "model/base/err.h"
#include "repl/bench/spec.h"
#include "repl/bench/spec_words.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_variant(const struct spec_entry *e, const json_t *variant)
{
    char **words;
    if (spec_words(&words, e->command, variant, "bundled") != 0)
        abort();
    if (strcmp(words[0], "prattle") != 0 || words[1] == NULL)
        abort();
    spec_free_words(words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spec s;
    double values[SPEC_FIGURES];
    err_clear();
    if (spec_read(&s, "f", (const char *)data, size) != 0) {
        if (strncmp(err_text(), "f", 1) != 0 && err_last() != ERR_NOMEM)
            abort();
        return 0;
    }
    for (int i = 0; i < s.n; i++) {
        const struct spec_entry *e = &s.entries[i];
        for (size_t k = 0; k < json_array_size(e->variants) && k < 4; k++)
            check_variant(e, json_array_get(e->variants, k));
        err_clear();
        if (spec_figures(values, e, json_array_get(e->variants, 0), (const char *)data, size) !=
                0 &&
            err_text()[0] == '\0')
            abort();
    }
    spec_release(&s);
    return 0;
}
