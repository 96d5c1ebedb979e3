#include "tests/lib/prepared.h"

#include "model/base/par.h"

static int prepare(struct prepare_report *r, const char *in, const char *out,
                   const char *const *words, const struct tokenizer *t, const struct progress *p,
                   uint64_t failing)
{
    struct prepare_config c;
    char *from = data_path(in), *to = data_path(out);
    assert_ok(prepare_config_init(&c));
    for (; words != NULL && *words != NULL; words++)
        assert_ok(prepare_config_set(&c, *words));
    mem_fail_at(failing);
    int rc = prepare_run(r, &c, from, to, t, true, p);
    mem_fail_at(0);
    prepare_config_release(&c);
    mem_free(from);
    mem_free(to);
    return rc;
}

int prepare_with(struct prepare_report *r, const char *in, const char *out,
                 const char *const *words, const struct tokenizer *t, const struct progress *p)
{
    return prepare(r, in, out, words, t, p, 0);
}

void prepare_without_memory(const char *in, const char *out, const char *const *words,
                            const char *file, uint64_t documents)
{
    struct prepare_report r;
    int rc = -1;
    assert_ok(par_open(1, false)); /* a team of its own would be made while memory is short */
    for (uint64_t k = 1; rc != 0; k++) {
        rc = prepare(&r, in, out, words, data_tokenizer, NULL, k);
        if (rc != 0) {
            if (rc != ERR_NOMEM)
                fail_msg("allocation %d: %s", (int)k, err_text());
            assert_false(file_exists(scratch_path(&data_scratch, file)));
        }
        assert_true(k < 100000);
    }
    assert_int_equal(r.documents, documents);
    par_close();
}
