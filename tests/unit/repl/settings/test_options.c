#include "tests/lib/test.h"

#include "repl/settings/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fresh(void **state)
{
    static struct options o;
    *state = &o;
    return options_init(&o);
}

static int drop(void **state)
{
    options_release(*state);
    return 0;
}

static void set(struct options *o, const char *name, enum origin origin, const char *text)
{
    assert_non_null(settings_table_find(&options_table, name));
    assert_ok(options_set(o, settings_table_find(&options_table, name), origin, text));
}

static void assert_value(struct options *o, const char *name, const char *expected)
{
    struct buf value = {0};
    assert_ok(setting_format(settings_table_find(&options_table, name), &o->settings, &value));
    assert_string_equal(buf_text(&value), expected);
    buf_release(&value);
}

static bool is_number(const struct setting *r)
{
    return r->type == SETTING_INT || r->type == SETTING_INT64 || r->type == SETTING_FLOAT;
}

static void rows_are_sound(void **state)
{
    struct options *o = *state;
    const struct setting *r, *other;
    for (int i = 0; (r = settings_table_at(&options_table, i)) != NULL; i++) {
        assert_true(strspn(r->name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(r->name));
        assert_true(r->help != NULL && strlen(r->help) > 8 && r->group != NULL);
        for (int k = 0; k < i; k++) {
            other = settings_table_at(&options_table, k);
            assert_false(setting_called(other, r->name) || setting_called(r, other->name));
            assert_true(r->letter == 0 || r->letter != other->letter);
            /* Two rows for one place would hide each other. */
            if (r->type != SETTING_SHORTHAND && other->type != SETTING_SHORTHAND)
                assert_true(r->offset != other->offset);
        }
        if (r->type == SETTING_SHORTHAND) {
            assert_non_null(settings_table_find(&options_table, r->shorthand_for));
            continue;
        }
        /* What is built in is in its own range, and reads back as itself. */
        struct buf value = {0}, again = {0};
        assert_ok(setting_format(r, &o->settings, &value));
        assert_ok(settings_table_parse(&options_table, r, &o->settings, buf_text(&value)));
        assert_ok(setting_format(r, &o->settings, &again));
        assert_string_equal(buf_text(&value), buf_text(&again));
        buf_release(&value);
        buf_release(&again);
    }
}

/* The bounds of the table are ones that the modules take, one step beyond is refused
 * by name, with the value and both bounds. */
static void ranges_hold(void **state)
{
    struct options *o = *state;
    const struct setting *r;
    for (int i = 0; (r = settings_table_at(&options_table, i)) != NULL; i++) {
        if (!is_number(r))
            continue;
        char text[64];
        struct buf bounds = {0};
        assert_ok(setting_range(r, &bounds));
        for (int high = 0; high < 2; high++) {
            snprintf(text, sizeof text, "%.17g", high ? r->max : r->min);
            assert_ok(settings_table_parse(&options_table, r, &o->settings, text));
            const struct settings *now = &o->settings;
            if (r->offset < offsetof(struct settings, sampler)) {
                set(o, "top_k", ORIGIN_USER_FILE, "2"); /* contrastive search wants it */
                assert_ok(generate_config_check(&now->generate, &now->sampler));
            } else if (r->offset < offsetof(struct settings, device)) {
                assert_ok(sampler_config_check(&now->sampler));
            }
            double beyond = high ? r->max * 2 + 1 : r->min - 1;
            snprintf(text, sizeof text, "%.17g", beyond);
            assert_fails(settings_table_parse(&options_table, r, &o->settings, text), ERR_RANGE,
                         buf_text(&bounds));
            assert_true(strncmp(err_text(), r->name, strlen(r->name)) == 0);
        }
        buf_release(&bounds);
        options_set(o, r, ORIGIN_SET, NULL);
        options_clear(o, ORIGIN_SET);
        set(o, r->name, ORIGIN_SET, settings_store_text(&o->store, ORIGIN_BUILT_IN, r));
    }
}

static void odd_values_are_refused(void **state)
{
    struct options *o = *state;
    static const char *const cases[][2] = {
        {"temperature", "nan"},
        {"temperature", "-1"},
        {"temperature", "inf"},
        {"temperature", ""},
        {"temperature", "1x"},
        {"temperature", "0x1p3"},
        {"temperature", " 1"},
        {"top_p", "1.0001"},
        {"top_p", "nan"},
        {"top_k", "-1"},
        {"top_k", "4.5"},
        {"top_k", "1e-3"},
        {"top_k", "999999999999"},
        {"max_new_tokens", "-1"},
        {"mirostat", "3"},
        {"max_new_tokens", "1000000000000"},
        {"seed", "-1"},
        {"seed", "18446744073709551616"},
        {"seed", ""},
        {"trim", "maybe"},
        {"trim", ""},
        {"on_full", "slid"},
        {"on_full", ""},
        {"on_full", "stop|slide"},
        {"dtype", "fp8"},
        {"batch_size", "0"},
        {"num_beams", "0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf before = {0};
        const struct setting *r = settings_table_find(&options_table, cases[i][0]);
        setting_format(r, &o->settings, &before);
        assert_fails(options_set(o, r, ORIGIN_SET, cases[i][1]), ERR_RANGE, "must be");
        assert_value(o, r->name, buf_text(&before));
        buf_release(&before);
    }
    set(o, "temperature", ORIGIN_SET, "1e-30");
    set(o, "seed", ORIGIN_SET, "18446744073709551615");
    assert_true(o->settings.sampler.seed == UINT64_MAX);
    set(o, "dtype", ORIGIN_SET, "f16");
    assert_value(o, "dtype", "fp16");
}

/* The later origin wins, whatever came first, and its value comes back. */
static void origins_hide_each_other(void **state)
{
    struct options *o = *state;
    const struct setting *k = settings_table_find(&options_table, "top_k");
    set(o, "top-k", ORIGIN_COMMAND_LINE, "40");
    set(o, "top_k", ORIGIN_USER_FILE, "10");
    set(o, "top_k", ORIGIN_MODEL, "20");
    assert_int_equal(o->settings.sampler.top_k, 40);
    assert_int_equal(settings_store_origin(&o->store, k), ORIGIN_COMMAND_LINE);
    set(o, "top_k", ORIGIN_SET, "50");
    assert_int_equal(o->settings.sampler.top_k, 50);
    options_clear(o, ORIGIN_SET);
    assert_int_equal(o->settings.sampler.top_k, 40);
    options_clear(o, ORIGIN_COMMAND_LINE);
    assert_int_equal(o->settings.sampler.top_k, 20);
    options_clear(o, ORIGIN_MODEL);
    options_clear(o, ORIGIN_USER_FILE);
    assert_int_equal(o->settings.sampler.top_k, 0);
    assert_int_equal(settings_store_origin(&o->store, k), ORIGIN_BUILT_IN);
    set(o, "greedy", ORIGIN_SET, "on");
    assert_value(o, "temperature", "0");
    set(o, "greedy", ORIGIN_SET, "off");
    assert_value(o, "temperature", "0.8");
    set(o, "temperature", ORIGIN_SET, "2");
    set(o, "greedy", ORIGIN_SET, "off"); /* which it is */
    assert_value(o, "temperature", "2");
    assert_int_equal(
        options_set(o, settings_table_find(&options_table, "greedy"), ORIGIN_SET, "banana"),
        ERR_RANGE);
    assert_string_equal(err_text(), "greedy must be on or off, not banana");
}

static void words_become_options(void **state)
{
    struct options *o = *state;
    char *words[] = {strdup("a"),         strdup("--top-k"),
                     strdup("40"),        strdup("-n5"),
                     strdup("--no-trim"), strdup("--top_p=0.5"),
                     strdup("--no_pin"),  strdup("--verbose"),
                     strdup("b"),         strdup("--stop="),
                     strdup("--no-echo"), strdup("--special"),
                     strdup("off"),       strdup("--no-repeat-ngram-size"),
                     strdup("3"),         strdup("-"),
                     strdup("--"),        strdup("--top-k")};
    enum { N = sizeof words / sizeof words[0] };
    char *all[N];
    memcpy(all, words, sizeof words);
    int n = N;
    assert_ok(options_take(o, ORIGIN_COMMAND_LINE, words, &n));
    assert_int_equal(n, 4);
    assert_string_equal(words[0], "a");
    assert_string_equal(words[1], "b");
    assert_string_equal(words[2], "-");
    assert_string_equal(words[3], "--top-k");
    const struct settings *s = &o->settings;
    assert_int_equal(s->sampler.top_k, 40);
    assert_int_equal(s->generate.max_new_tokens, 5);
    assert_false(s->generate.trim);
    assert_false(s->device.pin);
    assert_true(s->talk.verbose);
    assert_false(s->generate.special);
    assert_int_equal(s->talk.echo, SWITCH_OFF);
    assert_int_equal(s->sampler.no_repeat_ngram_size, 3);
    assert_value(o, "stop", "");
    for (int i = 0; i < N; i++)
        free(all[i]);
}

/* The texts that break repetitions are there unless others, or none, are asked for. */
static void texts_have_built_in_values(void **state)
{
    (void)state;
    struct options o;
    assert_ok(options_init(&o));
    assert_value(&o, "chain", SAMPLER_CHAIN);
    assert_value(&o, "dry_breakers", SAMPLER_DRY_BREAKERS);
    set(&o, "dry_breakers", ORIGIN_SET, "");
    assert_value(&o, "dry_breakers", "");
    options_release(&o);
}

static void bad_words_are_named(void **state)
{
    static const char *const cases[][3] = {
        {"--topk", "3", "did you mean top_k?"},
        {"--top-k", NULL, "--top-k needs a value"},
        {"-n", NULL, "-n needs a value"},
        {"-Z", NULL, "there is no option -Z"},
        {"--top-k=x", NULL, "top_k must be a whole number, 0 to"},
        {"--verbose=\033[2J", NULL, "verbose must be on or off, not \\x1b[2J"},
        {"--no-such", NULL, "there is no setting no_such"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *words[2] = {strdup(cases[i][0]), cases[i][1] ? strdup(cases[i][1]) : NULL};
        char *all[2] = {words[0], words[1]};
        int n = words[1] != NULL ? 2 : 1;
        int rc = options_take(*state, ORIGIN_COMMAND_LINE, words, &n);
        assert_says(rc, cases[i][2]);
        free(all[0]);
        free(all[1]);
    }
}

static int yaml(struct options *o, enum origin origin, const char *text)
{
    const struct settings_text from = {.label = "settings.yaml",
                                       .text = text,
                                       .n = strlen(text),
                                       .may_set = origin == ORIGIN_MODEL ? option_per_line : NULL};
    return options_read(o, origin, &from);
}

static void yaml_is_read(void **state)
{
    struct options *o = *state;
    assert_ok(yaml(o, ORIGIN_USER_FILE, ""));
    assert_ok(yaml(o, ORIGIN_USER_FILE, "# nothing\n"));
    assert_ok(yaml(o, ORIGIN_USER_FILE,
                   "top-k: 40\ntemperature: 0.5\nstop: \"\\n,Q:\"\nkeep: yes\nstop_token: ~\n"));
    assert_int_equal(o->settings.sampler.top_k, 40);
    assert_string_equal(o->settings.generate.stop, "\\n,Q:");
    assert_true(o->settings.talk.keep);
    assert_ok(yaml(o, ORIGIN_MODEL, "top_p: 0.9\n"));
    assert_value(o, "top_p", "0.9");
    /* Several texts may be a list, each as it is. */
    assert_ok(yaml(o, ORIGIN_USER_FILE, "stop:\n  - \"a,\"\n  - 'b\\n'\nlogit_bias: [\"5:-1\"]\n"));
    assert_string_equal(o->settings.generate.stop, "a\\,,b\\\\n");
    assert_string_equal(o->settings.sampler.logit_bias, "5:-1");
    assert_ok(yaml(o, ORIGIN_USER_FILE, "stop: []\n"));
    assert_string_equal(o->settings.generate.stop, "");
}

static void bad_yaml_changes_nothing(void **state)
{
    struct options *o = *state;
    static const char *const cases[][2] = {
        {"top_p: 0.5\ntopk: 1\n", "settings.yaml line 2: there is no setting topk; did you mean"},
        {"top_p: 0.5\n\ntop_k: many\n", "settings.yaml line 3: top_k must be a whole"},
        {"top_p: 0.5\ntop_p: 0.6\n", "line 2: top_p is given twice"},
        {"top_p: 0.5\ntop_k: [1, 2]\n",
         "line 2: top_k: expected one value, not a list: write top_k: N"},
        {"top_p: 0.5\nstop: {a: b}\n",
         "line 2: stop: expected one value, not a mapping: write stop: TEXT,..."},
        {"top_p: 0.5\nkeep:\n  on: 1\n",
         "line 2: keep: expected one value, not a mapping: write keep: VALUE"},
        {"grammar: {\"type\": \"object\"}\n", "line 1: grammar: write the JSON in quotes"},
        {"top_p: 0.5\nsampling:\n  top_k: 3\n",
         "line 2: sampling: there are no sections here: write its settings without it, each at the "
         "beginning of a line"},
        {"top_p: 0.5\nSampling:\ntop_k: 3\n", "line 2: Sampling: there are no sections here"},
        {"top_p: 0.5\nstopp: [a, b]\n", "line 2: there is no setting stopp; did you mean stop?"},
        {"top_p: 0.5\nstop: [\"\", b]\n", "line 2: stop: empty word in \",b\""},
        {"top_p: 0.5\nstop: [a, [b]]\n", "line 2: expected single values in the list"},
        {"- a\n", "line 1: expected settings as"},
        {"hello\n", "line 1: expected settings as"},
        {"top_p: \"0.5\n", "settings.yaml line"},
        {"top_p: 0.5\n---\ntop_p: 0.6\n", "line 3: expected settings as"},
        {"top_p: 0.5\nprompt: x\n", "line 2: prompt is for one command"},
        {"top_p: 0.5\nstop: [a, ~]\n", "line 2: nothing (~ or null) in the list"},
        {"top_p: 0.5\nstop:\n- a\n-\n", "nothing (~ or null) in the list"},
        {"? [a]\n: b\n", "line 1: expected the name of a setting"},
        {"top_p: &a 0.5\ntop_k: *a\n", "line 2: settings are read without aliases"},
        {"top_p: 0.5\ngreedy: maybe\n", "line 2: greedy must be on or off, not maybe"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int rc = yaml(o, ORIGIN_USER_FILE, cases[i][0]);
        assert_says(rc, cases[i][1]);
        assert_value(o, "top_p", "0.95");
    }
    /* What is only looked at changes nothing either. */
    const struct settings_text from = {.label = "it", .text = "top_p: 0.5", .n = 10};
    assert_ok(options_check(o, ORIGIN_SET, &from));
    assert_value(o, "top_p", "0.95");
    assert_fails(yaml(o, ORIGIN_MODEL, "save_samples: /etc/passwd\n"), ERR_UNSUPPORTED,
                 "save_samples is not to be set from there");
}

static struct buf left_out;
static void take_sentence(const char *sentence)
{
    assert_ok(buf_printf(&left_out, "%s\n", sentence));
}

/* What comes with a model: the values that are no good are named, and the others hold. */
static void stored_settings_never_stand_in_the_way(void **state)
{
    struct options *o = *state;
    struct settings_text from = {
        .label = "x.yaml", .may_set = option_per_line, .left_out = take_sentence};
    static const struct {
        const char *yaml, *option, *text; /* what the user gives */
        const char *name, *value;         /* what holds then */
        const char *said;
    } rows[] = {
        {"top_p: 0.5\ntop_k: -1\nmin_p: 0.1\n", NULL, NULL, "min_p", "0.1",
         "x.yaml line 2: top_k must be a whole number, 0 to 1e7, not -1: left out\n"},
        {"temprature: 1\nsave_samples: /x\ntop_k: 3\ntop_k: 4\n", NULL, NULL, "top_k", "3",
         "x.yaml line 1: there is no setting temprature; did you mean temperature?: left out\n"
         "x.yaml line 2: save_samples is not to be set from there: left out\n"
         "x.yaml line 4: top_k is given twice: left out\n"},
        {"num_beams: 4\npenalty_alpha: 0.6\n", NULL, NULL, "num_beams", "4",
         "x.yaml line 2: num_beams is 4 and penalty_alpha is 0.6: beam search and contrastive "
         "search "
         "exclude each other: penalty_alpha is left out\n"},
        {"num_beams: 4\nnum_return_sequences: 5\n", NULL, NULL, "num_beams", "4",
         "x.yaml line 2: num_return_sequences must be at most num_beams (4), not 5: "
         "num_return_sequences is "
         "left out\n"},
        {"penalty_alpha: 0.6\n", NULL, NULL, "penalty_alpha", "0",
         "x.yaml line 1: top_k must be 2 to 512 for contrastive search, not 0: penalty_alpha is "
         "left out\n"},
        {"penalty_alpha: 0.6\ntop_k: 4\n", "num_beams", "3", "num_beams", "3",
         "x.yaml line 1: num_beams is 3 and penalty_alpha is 0.6: beam search and contrastive "
         "search "
         "exclude each other: penalty_alpha is left out\n"},
        {"num_beams: 3\ntop_k: 4\n", "penalty_alpha", "0.6", "num_beams", "1",
         "x.yaml line 1: num_beams is 3 and penalty_alpha is 0.6: beam search and contrastive "
         "search "
         "exclude each other: num_beams is left out\n"},
        /* What the user hides is at odds all the same, for when it comes to light. */
        {"penalty_alpha: 0.6\nnum_beams: 3\n", "num_beams", "1", "penalty_alpha", "0",
         "x.yaml line 1: num_beams is 3 and penalty_alpha is 0.6: beam search and contrastive "
         "search "
         "exclude each other: penalty_alpha is left out\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        left_out.n = 0;
        options_clear(o, ORIGIN_MODEL);
        options_clear(o, ORIGIN_COMMAND_LINE);
        if (rows[i].option != NULL)
            set(o, rows[i].option, ORIGIN_COMMAND_LINE, rows[i].text);
        from.text = rows[i].yaml;
        from.n = strlen(rows[i].yaml);
        assert_ok(options_read_stored(o, &from));
        assert_string_equal(buf_text(&left_out), rows[i].said);
        assert_value(o, rows[i].name, rows[i].value);
        assert_ok(generate_config_check(&o->settings.generate, &o->settings.sampler));
    }
    /* The lines of what was made from a file are not the file's. */
    left_out.n = 0;
    options_clear(o, ORIGIN_MODEL);
    from.derived = true;
    from.text = "top_p: 0.5\ntop_k: -1\n";
    from.n = strlen(from.text);
    assert_ok(options_read_stored(o, &from));
    assert_string_equal(buf_text(&left_out), "x.yaml: top_k must be a whole number, 0 to "
                                             "1e7, not -1: left out\n");
    from.derived = false;
    /* The user's own stay, and are refused. */
    left_out.n = 0;
    options_clear(o, ORIGIN_MODEL);
    options_clear(o, ORIGIN_COMMAND_LINE);
    set(o, "num_beams", ORIGIN_COMMAND_LINE, "3");
    set(o, "penalty_alpha", ORIGIN_SET, "0.6");
    from.text = "top_k: 4";
    from.n = 8;
    assert_ok(options_read_stored(o, &from));
    assert_int_equal(left_out.n, 0);
    assert_fails(generate_config_check(&o->settings.generate, &o->settings.sampler), ERR_RANGE,
                 "exclude each other");
    buf_release(&left_out);
}

static void assert_check(struct options *o, const char *said)
{
    left_out.n = 0;
    assert_ok(options_check_answers(o, take_sentence));
    assert_string_equal(left_out.n == 0 ? "" : buf_text(&left_out), said);
}

/* What the user asks for in the session is done, and a file's value is there again after it. */
static void a_files_value_gives_way(void **state)
{
    struct options *o = *state;
    static const char note[] = ": num_beams is 3 and penalty_alpha is 0.6: beam search and "
                               "contrastive search exclude each other: num_beams is left out\n";
    char said[256];
    struct settings_text from = {.label = "x.json",
                                 .text = "num_beams: 3\ntop_k: 4\n",
                                 .n = 22,
                                 .derived = true,
                                 .may_set = option_per_line,
                                 .left_out = take_sentence};
    for (int user = 0; user < 2; user++) {
        assert_ok(user ? yaml(o, ORIGIN_USER_FILE, from.text) : options_read_stored(o, &from));
        assert_check(o, "");
        set(o, "penalty_alpha", ORIGIN_SET, "0.6");
        assert_value(o, "num_beams", "1");
        snprintf(said, sizeof said, "%s%s", user ? "settings.yaml line 1" : "x.json", note);
        assert_check(o, said);
        assert_check(o, "");
        set(o, "penalty_alpha", ORIGIN_SET, NULL);
        assert_value(o, "num_beams", "3");
        set(o, "num_return_sequences", ORIGIN_CALL, "5");
        assert_check(o, "");
        assert_value(o, "num_beams", "1");
        options_clear(o, ORIGIN_CALL);
        assert_value(o, "num_beams", "3");
        options_clear(o, user ? ORIGIN_USER_FILE : ORIGIN_MODEL);
    }
    /* The user's file comes before the model's; what it has by itself is left out after that. */
    assert_ok(yaml(o, ORIGIN_USER_FILE, "num_beams: 2\n"));
    from.text = "penalty_alpha: 0.6\ntop_k: 4\n";
    from.n = strlen(from.text);
    left_out.n = 0;
    assert_ok(options_read_stored(o, &from));
    assert_string_equal(buf_text(&left_out),
                        "x.json: num_beams is 2 and penalty_alpha is 0.6: beam "
                        "search and contrastive search exclude each other: "
                        "penalty_alpha is left out\n");
    from.text = "num_beams: 5\n";
    from.n = strlen(from.text);
    options_clear(o, ORIGIN_MODEL);
    assert_ok(options_read_stored(o, &from));
    set(o, "num_return_sequences", ORIGIN_SET, "4");
    assert_value(o, "num_beams", "5");
    set(o, "num_return_sequences", ORIGIN_SET, "6");
    assert_value(o, "num_beams", "1");
    set(o, "num_return_sequences", ORIGIN_SET, NULL);
    /* Where the model's value is not why it fails, it stays, and is named. */
    options_clear(o, ORIGIN_USER_FILE);
    options_clear(o, ORIGIN_MODEL);
    from.text = "top_k: 1\n";
    from.n = strlen(from.text);
    assert_ok(options_read_stored(o, &from));
    set(o, "penalty_alpha", ORIGIN_SET, "0.6");
    left_out.n = 0;
    assert_fails(options_check_answers(o, take_sentence), ERR_RANGE,
                 "x.json: top_k must be 2 to 512 for contrastive search, not 1");
    assert_int_equal(left_out.n, 0);
    buf_release(&left_out);
}

/* What turns out to be no good once it is used is still said with its place in the file. */
static void errors_name_the_line_of_the_users_file(void **state)
{
    struct options *o = *state;
    const struct setting *lora = settings_table_find(&options_table, "lora");
    assert_ok(yaml(o, ORIGIN_USER_FILE, "top_k: 4\nnum_beams: 3\nlora: /none\n"));
    assert_ok(options_check_answers(o, take_sentence));
    assert_ok(yaml(o, ORIGIN_USER_FILE, "penalty_alpha: 0.6\ntop_k: 4\nnum_beams: 3\n"));
    assert_fails(options_check_answers(o, take_sentence), ERR_RANGE,
                 "settings.yaml line 3 and settings.yaml line 1: num_beams is 3 and penalty_alpha");
    set(o, "penalty_alpha", ORIGIN_USER_FILE, NULL);
    assert_ok(yaml(o, ORIGIN_USER_FILE, "top_k: 4\nnum_beams: 3\nlora: /none\n"));
    err_set(ERR_MISSING, "cannot open it");
    assert_fails(options_blame(o, lora), ERR_MISSING, "settings.yaml line 3: cannot open it");
    err_set(ERR_RANGE, "top_k is 4, which is a pity");
    assert_fails(options_blame(o, NULL), ERR_RANGE, "settings.yaml line 1: top_k is 4, which");
    set(o, "top_k", ORIGIN_SET, "4");
    err_set(ERR_RANGE, "top_k is 4, which is a pity");
    assert_int_equal(options_blame(o, NULL), ERR_RANGE);
    assert_string_equal(err_text(), "top_k is 4, which is a pity");
    err_set(ERR_IO, "no setting at all");
    assert_int_equal(options_blame(o, NULL), ERR_IO);
    assert_string_equal(err_text(), "no setting at all");
}

static void copies_are_deep(void **state)
{
    struct options *o = *state;
    struct settings copy;
    set(o, "stop", ORIGIN_SET, "one");
    assert_ok(settings_copy(&copy, &o->settings));
    set(o, "stop", ORIGIN_SET, "two");
    assert_string_equal(copy.generate.stop, "one");
    assert_ptr_not_equal(copy.device.model, o->settings.device.model);
    settings_release(&copy);
}

static void lines_are_limited_to_answers(void **state)
{
    (void)state;
    static const char *const yes[] = {"temperature", "stop", "max_new_tokens", "seed", "num_beams"};
    static const char *const no[] = {"threads", "model", "save_samples", "prompt", "jsonl", "keep"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        assert_true(option_per_line(settings_table_find(&options_table, yes[i])));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_false(option_per_line(settings_table_find(&options_table, no[i])));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_are_sound),           TEST(ranges_hold),
        TEST(odd_values_are_refused),   TEST(origins_hide_each_other),
        TEST(words_become_options),     TEST(texts_have_built_in_values),
        TEST(bad_words_are_named),      TEST(yaml_is_read),
        TEST(bad_yaml_changes_nothing), TEST(stored_settings_never_stand_in_the_way),
        TEST(a_files_value_gives_way),  TEST(errors_name_the_line_of_the_users_file),
        TEST(copies_are_deep),          TEST(lines_are_limited_to_answers),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
