/* The list of GPT-2's tensors: every name is found again, and the tables that walk the list
 * have what it says. */
#include "tests/lib/tiny.h"

#include "model/params.h"
#include "model/schema.h"

#include <string.h>

static struct config shape(bool tied)
{
    struct config c = config_of(3, 2, 8, 20, 16, 40);
    c.tie_word_embeddings = tied;
    return c;
}

static void names_are_found_again(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        const struct config c = shape(tied);
        assert_int_equal(schema_count(&c), 2 + 3 * 12 + 2 + !tied);
        for (int i = 0; i < schema_count(&c); i++) {
            const struct schema_tensor t = schema_tensor(&c, i);
            char name[64];
            schema_name(name, sizeof name, t);
            const struct schema_tensor found = schema_find(name);
            assert_ptr_equal(found.row, t.row);
            assert_int_equal(found.layer, t.layer);
        }
    }
    static const char *const none[] = {"",
                                       "wte",
                                       "h.0.wte.weight",
                                       "ln_1.weight",
                                       "h.-1.ln_1.weight",
                                       "h.0.attn.bias",
                                       "h..ln_1.weight"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_null(schema_find(none[i]).row);
}

/* Every place that the forward pass reads is filled by one row, and no two rows share one. */
static void params_have_each_once(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        const struct config c = shape(tied);
        struct params p;
        assert_ok(params_init(&p, &c, DTYPE_F16));
        uint64_t n = 0;
        for (int i = 0; i < p.n_tensors; i++) {
            const struct param_tensor *t = &p.tensors[i];
            assert_true((t->linear != NULL) != (t->data != NULL));
            assert_int_equal(t->decays, t->kind != PARAM_VECTOR);
            assert_int_equal(t->fused, strstr(t->name, "c_attn.weight") != NULL ? 3 : 0);
            n += (uint64_t)t->rows * (uint64_t)t->cols;
            for (int k = 0; k < i; k++)
                assert_true(t->linear != NULL ? t->linear != p.tensors[k].linear
                                              : t->data != p.tensors[k].data);
        }
        assert_int_equal(n, config_params(&c));
        for (int i = 0; i < c.n_layer; i++) {
            const struct layer *l = &p.layers[i];
            assert_true(l->ln_1_weight && l->ln_1_bias && l->ln_2_weight && l->ln_2_bias);
            assert_true(l->c_attn.data && l->c_attn.bias && l->attn_proj.data && l->attn_proj.bias);
            assert_true(l->c_fc.data && l->c_fc.bias && l->mlp_proj.data && l->mlp_proj.bias);
            assert_true(l->c_fc.K == 8 && l->c_fc.N == 20 && l->c_attn.N == 24);
        }
        assert_true(p.wpe && p.ln_f_weight && p.ln_f_bias && p.wte.data && p.lm_head.data);
        assert_true(p.wte.K == 8 && p.wte.N == 40);
        params_release(&p);
    }
}

static void matrices_of_a_layer(void **state)
{
    (void)state;
    static const char *const names[] = {"attn.c_attn.weight", "attn.c_proj.weight",
                                        "mlp.c_fc.weight", "mlp.c_proj.weight"};
    for (int i = 0; i < 4; i++)
        assert_string_equal(schema_matrix(i)->name, names[i]);
    assert_null(schema_matrix(4));
    struct config c = shape(true);
    assert_int_equal(schema_first_of_layers(&c), 2);
    assert_int_equal(schema_tensors_per_layer(&c), 12);
    c.type = MODEL_GPT_NEO;
    assert_int_equal(schema_first_of_layers(&c), 2);
    assert_int_equal(schema_tensors_per_layer(&c), 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_again),
        cmocka_unit_test(params_have_each_once),
        cmocka_unit_test(matrices_of_a_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
