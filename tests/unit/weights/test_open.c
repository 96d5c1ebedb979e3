/* A model's files are opened once each: what was looked at and checked is what is read. */
#include "tests/lib/opens.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "weights/hf/adapter_file.h"
#include "weights/load.h"
#include "weights/open.h"
#include "weights/save.h"

static const char model[] = "random:tests/cli/data/config.json";

struct fixture {
    struct scratch scratch, out;
    int watch;
};

static void watch_path(struct fixture *x, const char *folder)
{
    x->watch = opens_watch(folder);
}

static void watch_folder(struct fixture *x)
{
    watch_path(x, x->scratch.folder);
}

static int count_opens(struct fixture *x, const char *name)
{
    return opens_count(x->watch, name);
}

static void convert(const struct fixture *x, const char *name)
{
    assert_ok(weights_convert(model, scratch_path(&x->scratch, name), 3,
                              &(struct save_config){.convert = false}, NULL));
}

static struct model *load(const char *path)
{
    struct model *m;
    assert_ok(model_load(&m, path, &(struct load_config){.dtype = DTYPE_F32}, NULL));
    return m;
}

/* The scratch folder is the model's, or has the model's file. */
static void begin(struct fixture *x, bool folder)
{
    scratch_open(&x->scratch);
    scratch_open(&x->out);
    if (folder)
        assert_ok(weights_convert(model, x->scratch.folder, 3,
                                  &(struct save_config){.convert = false}, NULL));
    else
        convert(x, "a.gguf");
}

static void end(struct fixture *x)
{
    scratch_close(&x->scratch);
    scratch_close(&x->out);
}

static void loading_opens_each_file_once(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, true);
    watch_folder(&x);
    model_free(load(x.scratch.folder));
    assert_int_equal(count_opens(&x, "model.safetensors"), 1);

    watch_folder(&x);
    model_free(load(scratch_path(&x.scratch, "model.safetensors")));
    assert_int_equal(count_opens(&x, "model.safetensors"), 1);

    /* Settings of config.json alone. */
    assert_int_equal(unlink(scratch_path(&x.scratch, "generation_config.json")), 0);
    watch_folder(&x);
    model_free(load(x.scratch.folder));
    assert_int_equal(count_opens(&x, "config.json"), 1);
    end(&x);

    begin(&x, false);
    watch_folder(&x);
    model_free(load(scratch_path(&x.scratch, "a.gguf")));
    assert_int_equal(count_opens(&x, "a.gguf"), 1);
    end(&x);
}

static void an_index_is_opened_once(void **state)
{
    (void)state;
    static const char index[] = "{\"weight_map\": {\"wte.weight\": \"one.safetensors\"}}";
    struct fixture x;
    begin(&x, true);
    scratch_write(&x.scratch, "some.index.json", index, sizeof index - 1);
    assert_int_equal(rename(scratch_path(&x.scratch, "model.safetensors"),
                            scratch_path(&x.scratch, "one.safetensors")),
                     0);
    watch_folder(&x);
    model_free(load(scratch_path(&x.scratch, "some.index.json")));
    assert_int_equal(count_opens(&x, "some.index.json"), 1);
    end(&x);
}

static void saving_and_converting_open_each_file_once(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        const char *file = i < 2 ? "model.safetensors" : "a.gguf";
        const struct save_config keep = {.convert = false};
        struct fixture x;
        begin(&x, i < 2);
        char *path = i == 0 ? mem_strdup(x.scratch.folder) : file_join(x.scratch.folder, file);
        assert_non_null(path);
        watch_folder(&x);
        assert_ok(weights_convert(path, scratch_path(&x.out, "converted"), 0, &keep, NULL));
        assert_int_equal(count_opens(&x, file), 1);

        struct model *m = load(path);
        watch_folder(&x);
        assert_ok(model_save(m, scratch_path(&x.out, "saved.gguf"), &keep, NULL));
        assert_int_equal(count_opens(&x, file), 1);
        model_free(m);
        mem_free(path);
        end(&x);
    }
}

/* Beside the base that it names, and on its own. */
static void an_adapter_is_opened_once(void **state)
{
    (void)state;
    static const char *const files[] = {"adapter_config.json", "adapter_model.safetensors"};
    for (int i = 0; i < 6; i++) {
        struct fixture x;
        struct adapter *a;
        struct source s;
        const struct adapter_config k = {.rank = 2, .alpha = 3, .targets = (char[]){"c_attn"}};
        begin(&x, true);
        struct model *m = load(x.scratch.folder);
        assert_ok(adapter_new(&a, &k, &m->config));
        adapter_randomize(a, 1);
        assert_ok(adapter_save(a, scratch_path(&x.out, "ad"), x.scratch.folder, false));
        adapter_free(a);
        /* What is looked at is the adapter's folder, or the base's. */
        const bool base = i >= 4;
        char *watched = mem_strdup(base ? x.scratch.folder : scratch_path(&x.out, "ad"));
        watch_path(&x, watched);
        if (i % 2 == 0) {
            model_free(load(scratch_path(&x.out, "ad")));
        } else {
            assert_ok(source_open(&s, scratch_path(&x.out, "ad"), 0, true, NULL));
            source_close(&s);
        }
        assert_int_equal(count_opens(&x, base ? "model.safetensors" : files[i / 2]), 1);
        mem_free(watched);
        model_free(m);
        end(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading_opens_each_file_once),
        cmocka_unit_test(an_index_is_opened_once),
        cmocka_unit_test(an_adapter_is_opened_once),
        cmocka_unit_test(saving_and_converting_open_each_file_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
