/* What other programs and runs leave beside texts: in a folder or a pattern it is left out, and
 * what is named itself is refused with what it is. */
#include "tests/lib/data_set.h"
#include "tests/lib/notes.h"

#include "model/base/file_path.h"
#include "train/data/source.h"

static const struct {
    const char *name, *bytes;
    size_t n;
} others[] = {
    {"run/lock", "4711\n", 5},
    {"run/step-000003/config.json", "{}", 2},
    {"run/step-000003/model.safetensors", "{}", 2},
    {"ended/metrics.jsonl", "{\"step\":1,\"tokens\":9}\n", 22},
    {"model/config.json", "{}", 2},
    {"model/model.safetensors", "{}", 2},
    {"adapter/adapter_config.json", "{}", 2},
    {"adapter/adapter_model.safetensors", "{}", 2},
    {"m.gguf", "GGUF\3", 5},
    {"n.svg", "<svg width='8'>", 15},
    {"p.pdf", "%PDF-1.7", 8},
    {"w.docx", "PK\3\4\24\0\6\0", 8},
};

static int write_others(void **state)
{
    data_setup(state);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char path[256];
        snprintf(path, sizeof path, "all/%s", others[i].name);
        *strrchr(path, '/') = '\0';
        assert_ok(file_make_folder(scratch_path(&data_scratch, path)));
        path[strlen(path)] = '/';
        scratch_write(&data_scratch, path, others[i].bytes, others[i].n);
    }
    data_text("all/a.txt", "one");
    data_text("all/z.txt", "two");
    return 0;
}

static void they_are_left_out(void **state)
{
    (void)state;
    static const char *const names[] = {"all", "all/*"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct notes notes = {0};
        const struct progress p = {.note = notes_take, .user = &notes};
        struct data_config c = data_config_of(&names[i], 1);
        struct dataset d, v;
        assert_ok(dataset_open(&d, &v, &c, data_tokenizer, 0, &p));
        assert_string_equal(data_shown(&d), "|one$|two$");
        assert_int_equal(notes.n, 1);
        assert_string_equal(scratch_sentence(&data_scratch, notes.first),
                            "left out: DIR/all/adapter is a model, not a folder of texts; also "
                            "DIR/all/ended, DIR/all/m.gguf, DIR/all/model, DIR/all/n.svg and 3 "
                            "more");
        dataset_close(&d);
        dataset_close(&v);
        data_config_release(&c);
    }
}

static void named_they_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *sentence;
    } cases[] = {
        {"all/run", "DIR/all/run is the folder of a run, not of texts"},
        {"all/ended", "DIR/all/ended is the folder of a run, not of texts"},
        {"all/model", "DIR/all/model is a model, not a folder of texts"},
        {"all/run/step-000003", "DIR/all/run/step-000003 is a model, not a folder of texts"},
        {"all/adapter", "DIR/all/adapter is a model, not a folder of texts"},
        {"all/m.gguf", "DIR/all/m.gguf is a model (GGUF), not text or tokens"},
        {"all/p.pdf", "DIR/all/p.pdf is a PDF: `pdftotext DIR/all/p.pdf NEW.txt`"},
        {"all/w.docx", "DIR/all/w.docx is a Word document: `pandoc -t plain --wrap=none "
                       "DIR/all/w.docx -o NEW.txt`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct data_config c = data_config_of(&cases[i].name, 1);
        struct dataset d, v;
        assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, NULL), ERR_FORMAT);
        assert_string_equal(scratch_sentence(&data_scratch, err_text()), cases[i].sentence);
        data_config_release(&c);
    }
}

/* Who names it may want a model of it. */
static void a_picture_that_is_text_is_read_when_named(void **state)
{
    (void)state;
    data_expect("all/n.svg", "|<svg width='8'>$");
}

/* A list's words end at commas. */
static void a_comma_in_a_name_is_explained(void **state)
{
    (void)state;
    data_text("one, two.txt", "three");
    struct data_sources s;
    char *path = data_path("one, two.txt"), *written = data_list_path(path);
    assert_int_equal(data_sources_find(&s, path), ERR_MISSING);
    assert_string_equal(scratch_sentence(&data_scratch, err_text()),
                        "cannot open DIR/one: No such file or directory; a comma in a name is "
                        "written \\,: 'DIR/one\\, two.txt'");
    assert_ok(data_sources_find(&s, written));
    assert_int_equal(s.n, 1);
    data_sources_release(&s);
    mem_free(path);
    mem_free(written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_left_out),
        cmocka_unit_test(named_they_are_refused),
        cmocka_unit_test(a_comma_in_a_name_is_explained),
        cmocka_unit_test(a_picture_that_is_text_is_read_when_named),
    };
    return cmocka_run_group_tests(tests, write_others, data_teardown);
}
