/* What Tab offers at each place of a line, and whether file names as well. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "repl/commands/command.h"
#include "repl/commands/complete.h"
#include "repl/commands/table.h"
#include "train/eval/eval.h"

#include <string.h>

static bool offers(const char *before, const char *word, const char *wanted, bool *paths)
{
    struct completion c = {0};
    bool found = false;
    complete(&c, before, word);
    for (int i = 0; i < c.n; i++)
        found = found || strcmp(c.words[i], wanted) == 0;
    if (paths != NULL)
        *paths = c.paths;
    completion_release(&c);
    return found;
}

static void tab_offers_what_fits(void **state)
{
    (void)state;
    bool paths;
    assert_true(offers("", ":s", ":session", NULL));
    assert_true(offers("", "/s", "/session", NULL));
    assert_true(offers("/set ", "top", "top_k", NULL));
    assert_false(offers("", "s", ":session", NULL));
    assert_true(offers(":set ", "top", "top_k", NULL));
    assert_false(offers(":set ", "", "force", NULL));
    assert_true(offers(":set on_full ", "", "slide", NULL));
    assert_true(offers(":set trim ", "", "off", NULL));
    assert_false(offers(":set trim on ", "", "off", NULL));
    assert_true(offers(":set kernels ", "", "portable", NULL));
    assert_true(offers(":session ", "", "load", &paths));
    assert_false(paths);
    offers(":session load ", "", "", &paths);
    assert_true(paths);
    assert_true(offers(":data ", "", "info", &paths));
    assert_false(paths);
    assert_false(offers(":data info ", "", "info", &paths));
    assert_true(paths);
    offers(":load ", "", "", &paths);
    assert_true(paths);
    assert_true(offers(":save x ", "--", "--force", NULL));
    assert_true(offers(":save x ", "--", "--dtype", NULL));
    assert_false(offers(":save x ", "--", "--draw", NULL));
    assert_false(offers(":load x ", "--", "--force", NULL));
    /* The command's own options first, the others by their letters. */
    assert_true(offers(":eval wikitext ", "--", "--limit", NULL));
    assert_true(offers(":eval wikitext ", "--", "--seq-length", NULL));
    assert_false(offers(":eval wikitext ", "--", "--top-k", NULL));
    assert_true(offers(":eval wikitext ", "--t", "--threads", NULL));
    assert_true(offers(":load x ", "--", "--threads", NULL));
    /* Nothing behind the last word that a command takes. */
    assert_true(offers(":reset ", "", "text", NULL));
    assert_false(offers(":reset text ", "", "text", NULL));
    assert_true(offers(":cache ", "", "clear", NULL));
    assert_false(offers(":cache clear x ", "", "clear", NULL));
    offers(":load x ", "", "bundled", &paths);
    assert_false(paths);
    assert_true(offers(":load ", "random:", "random:gpt2-xl", NULL));
    assert_true(offers(":help ", "", "regen", NULL));
    assert_true(offers(":help ", "", "top_k", NULL));
    assert_false(offers("My name ", "", "top_k", NULL));
}

static void tab_offers_the_models_of_the_cache(void **state)
{
    (void)state;
    struct scratch s;
    scratch_open(&s);
    setenv("HF_HUB_CACHE", s.folder, 1);
    assert_false(offers(":hub remove ", "", "cached", NULL));
    static const char *const folders[] = {"models--openai-community--gpt2",
                                          "models--openai-community--gpt2/blobs",
                                          "models--openai-community--gpt2/blobs/a",
                                          "datasets--glue",
                                          "datasets--glue/blobs",
                                          "datasets--glue/blobs/b"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        assert_ok(file_make_folder(scratch_path(&s, folders[i])));
    assert_true(offers(":load ", "", "openai-community/gpt2", NULL));
    assert_true(offers(":hub remove ", "", "openai-community/gpt2", NULL));
    assert_true(offers(":hub remove ", "", "datasets/glue", NULL));
    assert_true(offers(":hub ", "", "remove", NULL));
    assert_false(offers(":hub ", "", "openai-community/gpt2", NULL));
    unsetenv("HF_HUB_CACHE");
    scratch_close(&s);
}

/* Words of a table: each of it, and no kind's name. */
static void tab_offers_the_words_of_tables(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{":lora ", "merge"},
                                           {":eval ", "lambada"},
                                           {":eval ", "kl"},
                                           {":eval ", "history"},
                                           {":bench ", "limits"},
                                           {":bench ", "languini.yaml"},
                                           {":eval history ", "clear"},
                                           {":bench history ", "clear"},
                                           {":bench ", "train"},
                                           {":plot ", "loss_scale"},
                                           {":help ", "presets"},
                                           {":help ", "systems"},
                                           {":help ", "sampling"},
                                           {":help ", "settings"},
                                           {":set kernels ", "auto"},
                                           {":set ", "sampling"},
                                           {":set ", "top_k"}};
    bool paths;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!offers(cases[i][0], "", cases[i][1], NULL))
            fail_msg("%sdoes not offer %s", cases[i][0], cases[i][1]);
        assert_false(offers(cases[i][0], "", "word", NULL));
        assert_false(offers(cases[i][0], "", "group", NULL));
        assert_false(offers(cases[i][0], "", "value", NULL));
    }
    for (int i = 0; eval_at(i) != NULL; i++)
        assert_true(offers(":eval ", "", eval_at(i)->name, NULL));
    assert_false(offers(":eval ", "", "clear", NULL));
    assert_false(offers(":bench limits ", "", "clear", NULL));
    assert_true(offers(":bench languini.yaml ", "", "decode", &paths));
    assert_true(paths);
    assert_false(offers(":lora load ", "", "merge", &paths));
    assert_true(paths);
    assert_false(offers(":plot over=", "", "step", NULL)); /* it is so anyway */
}

static void tab_knows_the_settings_of_a_run(void **state)
{
    (void)state;
    bool paths;
    assert_true(offers(":train ", "fine", "finetune", &paths));
    assert_true(paths);
    assert_true(offers(":train ", "st", "status", NULL));
    assert_false(offers(":train finetune ", "st", "status", NULL));
    assert_true(offers(":train finetune ", "st", "steps=", &paths));
    assert_true(paths);
    assert_true(offers(":train finetune ", "optimizer.", "optimizer.grad_clip=", NULL));
    assert_true(offers(":train resume ", "lea", "learning_rate=", NULL));
    assert_true(offers(":train show ", "fine", "finetune", NULL));
    assert_true(offers(":train show finetune ", "lea", "learning_rate=", NULL));
    assert_false(offers(":train status ", "lea", "learning_rate=", &paths));
    assert_true(paths);
    /* Behind a setting, what it may be. */
    assert_false(offers(":train finetune data=", "", "steps=", &paths));
    assert_true(paths);
    offers(":train finetune validation=\"", "my te", "", &paths);
    assert_true(paths);
    offers(":train checkpoint.folder=", "", "", &paths);
    assert_true(paths);
    assert_true(offers(":train finetune schedule=", "co", "cosine_ramp", &paths));
    assert_false(paths);
    assert_true(offers(":train finetune precision=", "", "float16", NULL));
    assert_true(offers(":train finetune keep_best=", "", "off", NULL));
    assert_false(offers(":train finetune nonsense=", "", "off", &paths));
    assert_false(paths);
    assert_true(offers(":plot ", "ov", "over=machine_hours", NULL));
    assert_true(offers(":plot loss over=", "m", "machine_hours", &paths));
    assert_false(paths);
    assert_false(offers(":plot loss over=", "l", "loss", NULL));
    assert_true(offers(":set on_full=", "", "slide", NULL));
}

int main(void)
{
    commands_use(command_table);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tab_offers_what_fits),
        cmocka_unit_test(tab_offers_the_models_of_the_cache),
        cmocka_unit_test(tab_offers_the_words_of_tables),
        cmocka_unit_test(tab_knows_the_settings_of_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
