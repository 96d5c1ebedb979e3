#include "tests/lib/eval_golden.h"

#include "model/base/json.h"

struct scratch eval_scratch;
json_t *eval_reference;

void eval_golden_copy(const char *from, const char *file, const char *what, const char *to)
{
    struct buf text = {0};
    char *path = mem_sprintf("tests/golden/%s/%s", from, file);
    assert_ok(file_read_all(&text, path, 1 << 20));
    const char *at = what == NULL ? NULL : strstr(buf_text(&text), what);
    if (what != NULL) {
        assert_non_null(at);
        char *changed =
            mem_sprintf("%.*s%s%s", (int)(at - text.data), text.data, to, at + strlen(what));
        scratch_write(&eval_scratch, file, changed, strlen(changed));
        mem_free(changed);
    } else {
        scratch_write(&eval_scratch, file, text.data, text.n);
    }
    buf_release(&text);
    mem_free(path);
}

void eval_golden_open(const char *name)
{
    char *path = mem_sprintf("tests/golden/%s/reference.json", name);
    scratch_open(&eval_scratch);
    setenv("XDG_CACHE_HOME", scratch_path(&eval_scratch, "cache"), 1);
    setenv("XDG_DATA_HOME", scratch_path(&eval_scratch, "data"), 1);
    eval_golden_copy("comparison", "model.safetensors", NULL, NULL);
    eval_golden_copy("tokenizer", "vocab.json", NULL, NULL);
    eval_golden_copy("tokenizer", "merges.txt", NULL, NULL);
    assert_ok(json_read_file(&eval_reference, path, 1 << 20));
    mem_free(path);
}

void eval_golden_close(void)
{
    json_decref(eval_reference);
    scratch_close(&eval_scratch);
}

struct model *eval_golden_model(enum dtype kind, const char *what, const char *to)
{
    struct model *m = NULL;
    eval_golden_copy("comparison", "config.json", what, to);
    assert_ok(model_load(&m, eval_scratch.folder, &(struct load_config){.dtype = kind}, NULL));
    return m;
}

int eval_golden_run(struct eval_result *r, const char *name, const struct eval_config *c,
                    const char *path, struct model *m, struct model *other, int max_seqs)
{
    struct engine engine, of_other;
    assert_ok(engine_init(&engine, m, max_seqs));
    if (other != NULL)
        assert_ok(engine_init(&of_other, other, max_seqs));
    int rc = eval_run(eval_find(name), &engine, other == NULL ? NULL : &of_other, c, path, r, NULL);
    engine_release(&engine);
    if (other != NULL)
        engine_release(&of_other);
    return rc;
}

double eval_golden_number(const char *group, const char *name)
{
    const json_t *value = json_object_get(json_object_get(eval_reference, group), name);
    if (!json_is_number(value))
        fail_msg("the reference has no %s of %s", name, group);
    return json_number_value(value);
}

double eval_figure_value(const struct eval_result *r, const char *name)
{
    const struct eval_figure *f = eval_figure_find(r, name);
    if (f == NULL)
        fail_msg("%s has no %s", r->name, name);
    return f->value;
}
