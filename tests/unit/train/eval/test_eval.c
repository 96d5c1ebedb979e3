/* WikiText, PTB, LAMBADA and the split evaluation against PyTorch
 * (tests/golden/eval_reference.py), and what files can do to them. */
#include "kvcache/sequence.h"
#include "model/base/json.h"
#include "model/base/par.h"
#include "tests/lib/eval_golden.h"

#include <math.h>

static struct model *model; /* of tests/golden/comparison, fp32 */

static int open_model(void **state)
{
    (void)state;
    eval_golden_open("eval");
    model = eval_golden_model(DTYPE_F32, NULL, NULL);
    return 0;
}

static int close_model(void **state)
{
    (void)state;
    model_free(model);
    eval_golden_close();
    return 0;
}

static int measure(struct eval_result *r, const char *name, const struct eval_config *c,
                   const char *path, int max_seqs)
{
    return eval_golden_run(r, name, c, path, model, NULL, max_seqs);
}

static void expect_near(const char *group, const char *name, double got, double within)
{
    double e = eval_golden_number(group, name);
    if (!(fabs(got - e) <= within * fmax(1, fabs(e))))
        fail_msg("%s of %s is %.9g, expected %.9g", name, group, got, e);
}

static double share(const struct eval_result *r, const char *name)
{
    return eval_figure_value(r, name) / 100 * (double)r->targets;
}

/* ---- the golden numbers ---- */

static const struct golden {
    const char *group, *eval, *file;
    int seq_length, step;
    bool raw, strict;
} goldens[] = {
    {"wikitext", "wikitext", "wiki.txt", 0, 0, false, false},
    {"wikitext_7_of_50", "wikitext", "wiki.txt", 50, 7, false, false},
    {"wikitext_raw", "wikitext", "wiki.txt", 64, 64, true, false},
    {"wikitext_1", "wikitext", "wiki.txt", 1, 0, false, false},
    {"ptb", "ptb", "ptb.txt", 0, 0, false, false},
    {"text", "text", "wiki.txt", 0, 0, false, false},
    {"text_13_of_31", "text", "wiki.txt", 31, 13, false, false},
    {"lambada", "lambada", "lambada.jsonl", 0, 0, false, false},
    {"lambada_strict", "lambada", "lambada.jsonl", 0, 0, false, true},
    {"lambada_20", "lambada", "lambada.jsonl", 20, 0, false, false},
    {"lambada_20_strict", "lambada", "lambada.jsonl", 20, 0, false, true},
};
enum { N_GOLDENS = sizeof goldens / sizeof *goldens };

static void measure_golden(struct eval_result *r, const struct golden *g, int max_seqs)
{
    struct eval_config c;
    char path[128];
    eval_config_init(&c);
    c.seq_length = g->seq_length;
    c.overlap = c.last_n = g->step;
    c.detokenize = !g->raw;
    c.strict = g->strict;
    snprintf(path, sizeof path, "tests/golden/eval/%s", g->file);
    assert_ok(measure(r, g->eval, &c, path, max_seqs));
}

static void expect_golden(const char *group, const struct eval_result *r, double within)
{
    const struct eval_figure *loss = eval_figure_find(r, "loss");
    assert_non_null(loss);
    expect_near(group, "targets", (double)r->targets, 0);
    expect_near(group, "loss", loss->value, within);
    expect_near(group, "loss_error", loss->error, within);
    if (strcmp(r->name, "lambada") == 0) {
        expect_near(group, "passages", (double)r->done, 0);
        expect_near(group, "left_out", (double)r->left_out, 0);
        expect_near(group, "correct", eval_figure_value(r, "correct"), 0);
        assert_true(r->total == r->done + r->left_out);
        const struct eval_figure *perplexity = eval_figure_find(r, "perplexity");
        assert_true(perplexity->value == exp(loss->value));
        assert_true(perplexity->error == perplexity->value * loss->error);
        return;
    }
    expect_near(group, "windows", (double)r->done, 0);
    expect_near(group, "loss_per_byte", eval_figure_value(r, "loss_per_byte"), within);
    expect_near(group, "top_1", share(r, "top_1"), 1e-9);
    expect_near(group, "top_10", share(r, "top_10"), 1e-9);
    if (strcmp(r->name, "text") == 0)
        return;
    expect_near(group, "token_ratio", eval_figure_value(r, "token_ratio"), 1e-12);
    expect_near(group, "bits_per_byte", eval_figure_value(r, "bits_per_byte"), within);
    expect_near(group, "perplexity", eval_figure_value(r, "perplexity"), 20 * within);
    expect_near(group, "adjusted_perplexity", eval_figure_value(r, "adjusted_perplexity"),
                20 * within);
}

static void own_texts_are_measured_as_pytorch_does(void **state)
{
    (void)state;
    for (int i = 0; i < N_GOLDENS; i++) {
        struct eval_result r;
        measure_golden(&r, &goldens[i], 4);
        expect_golden(goldens[i].group, &r, 1e-5);
        assert_false(r.partial);
        eval_result_release(&r);
    }
}

static void batch_and_team_change_no_bit(void **state)
{
    (void)state;
    static const struct {
        int max_seqs, threads;
    } other[] = {{1, 1}, {3, 2}, {32, 3}};
    for (int i = 0; i < N_GOLDENS; i++) {
        struct eval_result first, r;
        assert_ok(par_open(2, false));
        measure_golden(&first, &goldens[i], 8);
        for (size_t k = 0; k < sizeof other / sizeof *other; k++) {
            assert_ok(par_open(other[k].threads, false));
            measure_golden(&r, &goldens[i], other[k].max_seqs);
            assert_int_equal(r.n_figures, first.n_figures);
            for (int f = 0; f < r.n_figures; f++) {
                assert_memory_equal(&r.figures[f].value, &first.figures[f].value, sizeof(double));
                assert_memory_equal(&r.figures[f].error, &first.figures[f].error, sizeof(double));
            }
            eval_result_release(&r);
        }
        eval_result_release(&first);
    }
}

/* ---- sizes ---- */

static void megatron_is_128_every_32(void **state)
{
    (void)state;
    struct eval_config c;
    struct eval_result r;
    eval_config_init(&c);
    c.like = EVAL_MEGATRON;
    assert_int_equal(measure(&r, "wikitext", &c, "tests/golden/eval/wiki.txt", 1), ERR_RANGE);
    assert_string_equal(err_text(), "seq_length must be at most 80 (the model's context), not 128");
    c.seq_length = 48;
    assert_ok(measure(&r, "wikitext", &c, "tests/golden/eval/wiki.txt", 1));
    assert_non_null(strstr(r.definition, "windows of 48, stride 32"));
    eval_result_release(&r);
}

/* A window is no longer than the text, and counts no more targets than there are. */
static void a_short_text_is_one_window(void **state)
{
    (void)state;
    static const char text[] = "4 5 6 7 8 4 5 6";
    static const int lengths[][2] = {{0, 0}, {80, 0}, {17, 0}, {16, 0}, {15, 0}, {60, 60}};
    scratch_write(&eval_scratch, "short.txt", text, sizeof text - 1);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct eval_config c;
        struct eval_result r;
        eval_config_init(&c);
        c.seq_length = lengths[i][0];
        c.last_n = lengths[i][1];
        assert_ok(measure(&r, "text", &c, scratch_path(&eval_scratch, "short.txt"), 1));
        assert_int_equal(r.config.seq_length, 15); /* 16 tokens, the end of the text among them */
        assert_int_equal(r.config.last_n, c.last_n > 0 ? 15 : 7);
        assert_int_equal(r.targets, r.config.last_n);
        eval_result_release(&r);
    }
}

static token_id likeliest(const struct sequence *s)
{
    token_id best = 0;
    for (token_id id = 1; id < model->config.n_vocab; id++)
        best = s->logits[id] > s->logits[best] ? id : best;
    return best;
}

/* A word of two tokens behind the context, of which the likeliest tokens are not the first, but
 * the second once the first is there; false: there is none. */
static bool find_half_right_word(struct buf *word, struct sequence *s, const struct ids *context)
{
    const struct tokenizer *t = model->tokenizer;
    bool found = false;
    for (token_id id = 0; id < model->config.n_vocab && !found; id++) {
        struct ids ids = {0};
        size_t n, n_end;
        const char *bytes = tokenizer_bytes(t, id, &n);
        assert_ok(sequence_set(s, context->data, context->n, NULL));
        if (bytes == NULL || n < 2 || *bytes != ' ' || id == likeliest(s))
            continue;
        assert_ok(sequence_feed(s, &id, 1, NULL));
        const token_id second = likeliest(s);
        const char *end = tokenizer_bytes(t, second, &n_end);
        word->n = 0;
        assert_ok(buf_add(word, bytes, n));
        assert_ok(buf_add(word, end, n_end));
        found = strspn(buf_text(word) + 1, "abcdefghijklmnopqrstuvwxyz") == word->n - 1;
        assert_ok(tokenizer_encode(t, &ids, word->data, word->n, 0));
        found = found && ids.n == 2 && ids.data[0] == id && ids.data[1] == second;
        ids_release(&ids);
    }
    return found;
}

/* With strict every token of the last word has to be right, not the last alone. */
static void half_a_word_is_not_the_word(void **state)
{
    (void)state;
    struct engine e;
    struct sequence s;
    struct buf word = {0}, line = {0}, context = {0};
    bool found = false;
    assert_ok(engine_init(&e, model, 1));
    assert_ok(sequence_init(&s, &e));
    for (int i = 0; i < 200 && !found; i++) {
        struct ids ids = {0};
        context.n = 0;
        for (int k = i, n = 0; n < 3; k /= 7, n++)
            assert_ok(buf_printf(&context, "%s%c%c", n > 0 ? " " : "", 'a' + k % 7, 'k' + k % 7));
        assert_ok(tokenizer_encode(model->tokenizer, &ids, context.data, context.n, 0));
        found = find_half_right_word(&word, &s, &ids);
        ids_release(&ids);
    }
    assert_true(found);
    assert_ok(buf_printf(&line, "{\"text\": \"%s%s\"}\n", buf_text(&context), buf_text(&word)));
    scratch_write(&eval_scratch, "half.jsonl", line.data, line.n);
    for (int strict = 0; strict < 2; strict++) {
        struct eval_config c;
        struct eval_result r;
        eval_config_init(&c);
        c.strict = strict;
        assert_ok(measure(&r, "lambada", &c, scratch_path(&eval_scratch, "half.jsonl"), 1));
        assert_true(eval_figure_value(&r, "correct") == !strict);
        eval_result_release(&r);
    }
    buf_release(&word);
    buf_release(&line);
    buf_release(&context);
    sequence_release(&s);
    engine_release(&e);
}

static void a_limit_leaves_the_total(void **state)
{
    (void)state;
    struct eval_config c;
    struct eval_result all, r;
    eval_config_init(&c);
    assert_ok(measure(&all, "wikitext", &c, "tests/golden/eval/wiki.txt", 2));
    c.limit = 3;
    assert_ok(measure(&r, "wikitext", &c, "tests/golden/eval/wiki.txt", 2));
    assert_int_equal(r.done, 3);
    assert_true(r.total == all.total && !r.partial);
    assert_true(r.targets == 80 + 40 + 40);
    assert_true(eval_figure_value(&r, "token_ratio") == eval_figure_value(&all, "token_ratio"));
    eval_result_release(&r);
    assert_ok(measure(&r, "text", &c, "tests/golden/eval/wiki.txt", 2));
    assert_int_equal(r.targets, 3 * 40);
    eval_result_release(&r);
    c.limit = 5;
    assert_ok(measure(&r, "lambada", &c, "tests/golden/eval/lambada.jsonl", 2));
    assert_int_equal(r.targets, 5);
    eval_result_release(&r);
    eval_result_release(&all);
}

/* Raises the interrupt at its step number `at`. */
struct stopper {
    int at, steps;
};

static void count_step(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct stopper *s = user;
    (void)what;
    (void)done;
    (void)total;
    if (++s->steps == s->at)
        interrupt_raise();
}

static void stopped_it_says_what_it_has(void **state)
{
    (void)state;
    struct eval_config c;
    struct engine e;
    struct eval_result whole, r;
    int partial = 0, empty = 0;
    eval_config_init(&c);
    c.overlap = 10;
    assert_ok(engine_init(&e, model, 2));
    assert_ok(
        eval_run(eval_find("wikitext"), &e, NULL, &c, "tests/golden/eval/wiki.txt", &whole, NULL));
    for (int at = 1; at < 200; at++) {
        struct stopper s = {at, 0};
        struct progress p = {.step = count_step, .user = &s};
        int rc =
            eval_run(eval_find("wikitext"), &e, NULL, &c, "tests/golden/eval/wiki.txt", &r, &p);
        interrupt_clear();
        if (rc == 0 && s.steps < at) {
            eval_result_release(&r);
            break;
        }
        if (rc != 0) {
            assert_int_equal(rc, ERR_INTERRUPTED);
            assert_null(r.path);
            empty++;
            continue;
        }
        if (r.partial) {
            /* What it has is what a limit gives. */
            struct eval_result limited;
            assert_true(r.done > 0 && r.done < whole.total);
            c.limit = (int64_t)r.done;
            assert_ok(eval_run(eval_find("wikitext"), &e, NULL, &c, "tests/golden/eval/wiki.txt",
                               &limited, NULL));
            c.limit = 0;
            assert_true(eval_figure_value(&limited, "loss") == eval_figure_value(&r, "loss"));
            eval_result_release(&limited);
            partial++;
        }
        eval_result_release(&r);
    }
    assert_true(partial > 3 && empty > 0);
    eval_result_release(&whole);
    engine_release(&e);
}

/* ---- files that are none ---- */

static void every_bad_file_has_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *eval, *text;
        size_t n;
        int seq_length, step;
        int rc;
        const char *sentence;
    } cases[] = {
        {"wikitext", "", 0, 0, 0, ERR_RANGE,
         "DIR/file has 0 tokens; two are needed, one to predict the other"},
        {"wikitext", "a", 1, 0, 0, ERR_RANGE,
         "DIR/file has 1 token; two are needed, one to predict the other"},
        {"wikitext", "ab cd", 5, 0, 81, ERR_RANGE, "overlap must be 1 to seq_length (80), not 81"},
        {"wikitext", "ab cd", 5, 81, 0, ERR_RANGE,
         "seq_length must be at most 80 (the model's context), not 81"},
        {"text", "ab cd", 5, 4, 5, ERR_RANGE, "last_n must be 1 to seq_length (4), not 5"},
        {"text", "", 0, 0, 0, ERR_FORMAT, NULL},
        {"lambada", "", 0, 0, 0, ERR_RANGE, "DIR/file has no passage that can be scored, of 0"},
        {"lambada", "\n \n", 3, 0, 0, ERR_RANGE,
         "DIR/file has no passage that can be scored, of 0"},
        {"lambada", "{\"text\": \"\"}", 12, 0, 0, ERR_RANGE,
         "DIR/file has no passage that can be scored, of 1"},
        {"lambada", "{\"text\": \"a b\"}\nno JSON\n", 25, 0, 0, ERR_FORMAT, NULL},
        {"lambada", "{\"text\": \"a b\"}\n{\"txt\": 1}\n", 28, 0, 0, ERR_FORMAT,
         "DIR/file line 2: expected an object whose field text is a string"},
        {"lambada", "{\"text\": 5}", 11, 0, 0, ERR_FORMAT,
         "DIR/file line 1: expected an object whose field text is a string"},
        {"lambada", "[]", 2, 0, 0, ERR_FORMAT,
         "DIR/file line 1: expected an object whose field text is a string"},
        {"ptb", NULL, 0, 0, 0, ERR_RANGE, "eval ptb needs a file: `:eval ptb FILE`"},
        {"lambada", NULL, 0, 0, 0, ERR_MISSING,
         "lambada_test.jsonl not found: `:data get lambada` downloads it; or download "
         "https://openaipublic.blob.core.windows.net/gpt-2/data/lambada_test.jsonl, save it as "
         "DIR/data/prattle/lambada/lambada_test.jsonl, or give FILE or --data-dir"},
        {"wikitext", NULL, 0, 0, 0, ERR_MISSING,
         "wiki.test.raw not found: `:data get wikitext` downloads it; or download "
         "wikitext-2-raw-v1.zip from "
         "https://huggingface.co/datasets/ggml-org/ci, save its wiki.test.raw as "
         "DIR/data/prattle/wikitext/wiki.test.raw, or give FILE or --data-dir"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct eval_config c;
        struct eval_result r;
        const char *path = NULL;
        eval_config_init(&c);
        c.seq_length = cases[i].seq_length;
        c.overlap = c.last_n = cases[i].step;
        if (cases[i].text != NULL) {
            scratch_write(&eval_scratch, "file", cases[i].text, cases[i].n);
            path = scratch_path(&eval_scratch, "file");
        }
        int rc = measure(&r, cases[i].eval, &c, path, 2);
        if (rc != cases[i].rc)
            fail_msg("case %zu: %d, %s", i, rc, err_text());
        const char *sentence = scratch_sentence(&eval_scratch, err_text());
        if (cases[i].sentence != NULL && strcmp(sentence, cases[i].sentence) != 0)
            fail_msg("case %zu: %s", i, sentence);
    }
}

static void any_bytes_are_measured(void **state)
{
    (void)state;
    static const char bytes[] = "a\0b\xff\xfe ( \xc0 ) \n\xed\xa0\x80 '";
    struct buf text = {0};
    struct eval_config c;
    struct eval_result r;
    eval_config_init(&c);
    assert_ok(buf_add(&text, bytes, sizeof bytes - 1));
    for (int i = 0; i < 3000; i++) /* one line, one word */
        assert_ok(buf_char(&text, (char)('a' + i % 7)));
    scratch_write(&eval_scratch, "file", text.data, text.n);
    assert_ok(measure(&r, "wikitext", &c, scratch_path(&eval_scratch, "file"), 2));
    assert_true(isfinite(eval_figure_value(&r, "loss")) && r.targets > 500);
    eval_result_release(&r);
    assert_ok(measure(&r, "ptb", &c, scratch_path(&eval_scratch, "file"), 2));
    eval_result_release(&r);
    buf_release(&text);
}

static void no_memory_leaks_nothing(void **state)
{
    (void)state;
    /* Not LAMBADA: jansson's scanner asserts that there is memory. */
    static const int which[] = {0, 5};
    for (int w = 0; w < 2; w++) {
        const int i = which[w];
        struct eval_config c;
        struct engine e;
        struct eval_result r;
        char path[128];
        int rc = ERR_NOMEM;
        eval_config_init(&c);
        snprintf(path, sizeof path, "tests/golden/eval/%s", goldens[i].file);
        assert_ok(engine_init(&e, model, 1));
        uint64_t k = 1;
        for (; rc != 0; k++) {
            mem_fail_at(k);
            rc = eval_run(eval_find(goldens[i].eval), &e, NULL, &c, path, &r, NULL);
            mem_fail_at(0);
            if (rc != 0)
                assert_int_equal(rc, ERR_NOMEM);
        }
        assert_true(k > 10);
        eval_result_release(&r);
        engine_release(&e);
    }
}

static void a_model_without_words_says_so(void **state)
{
    (void)state;
    struct tokenizer *kept = model->tokenizer;
    struct eval_config c;
    struct eval_result r;
    eval_config_init(&c);
    model->tokenizer = NULL;
    assert_int_equal(measure(&r, "wikitext", &c, "tests/golden/eval/wiki.txt", 1), ERR_MISSING);
    assert_non_null(strstr(err_text(), "has no tokenizer"));
    assert_int_equal(measure(&r, "lambada", &c, "tests/golden/eval/lambada.jsonl", 1), ERR_MISSING);
    model->tokenizer = kept;
}

/* ---- whole files, with DATA ---- */

#ifdef __SANITIZE_ADDRESS__
static void whole_files_are_measured_as_pytorch_does(void **state)
{
    (void)state;
    printf("# left out: all of WikiText's test and LAMBADA, which the release build measures\n");
}
#else
static const char *data(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", getenv("DATA"), name);
    return path;
}

static void read_data(struct buf *out, const char *name)
{
    out->n = 0;
    assert_ok(file_read_all(out, data(name), 1 << 24));
}

static void copy_data(const char *from, const char *to)
{
    struct buf bytes = {0};
    read_data(&bytes, from);
    scratch_write(&eval_scratch, to, bytes.data, bytes.n);
    buf_release(&bytes);
}

static void write_json(const char *name, json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT);
    assert_non_null(text);
    scratch_write(&eval_scratch, name, text, strlen(text));
    mem_free(text);
    json_decref(value);
}

/* GPT-2's vocabulary cut after n tokens, and <|endoftext|>. */
static void cut_vocabulary(int n)
{
    json_t *all, *few = json_object(), *id;
    struct buf merges = {0};
    const char *token;
    assert_ok(json_read_file(&all, data("tokenizer/vocab.json"), 1 << 24));
    json_object_foreach(all, token, id) if (json_integer_value(id) < n)
        json_object_set(few, token, id);
    json_object_set_new(few, "<|endoftext|>", json_integer(n));
    write_json("vocab.json", few);
    json_decref(all);
    read_data(&merges, "tokenizer/merges.txt");
    size_t at = 0;
    for (int lines = 0; lines < 1 + n - 256; at++) /* and the version's */
        lines += merges.data[at] == '\n';
    scratch_write(&eval_scratch, "merges.txt", merges.data, at);
    buf_release(&merges);
}

/* What a tokenizer of single bytes can say of n bytes. */
static void keep_sayable(struct buf *out, const struct tokenizer *t, const char *text, size_t n)
{
    bool sayable[256];
    for (int b = 0; b < 256; b++) {
        struct ids ids = {0};
        char byte = (char)b;
        sayable[b] = tokenizer_encode(t, &ids, &byte, 1, ENCODE_TEXT) == 0;
        ids_release(&ids);
    }
    out->n = 0;
    for (size_t i = 0; i < n; i++)
        if (sayable[(unsigned char)text[i]])
            assert_ok(buf_char(out, text[i]));
}

static void write_sayable(const struct tokenizer *t)
{
    struct buf file = {0}, text = {0}, lines = {0};
    read_data(&file, "wikitext/wiki.test.raw");
    keep_sayable(&text, t, file.data, file.n);
    scratch_write(&eval_scratch, "wiki.test.raw", text.data, text.n);
    read_data(&file, "lambada/lambada_test.jsonl");
    for (char *line = strtok(file.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        json_t *o;
        assert_ok(json_read_line(&o, line, strlen(line)));
        const json_t *all = json_object_get(o, "text");
        keep_sayable(&text, t, json_string_value(all), json_string_length(all));
        json_object_set_new(o, "text", json_stringn(buf_text(&text), text.n));
        char *dumped = json_dumps(o, JSON_COMPACT);
        assert_ok(buf_printf(&lines, "%s\n", dumped));
        mem_free(dumped);
        json_decref(o);
    }
    scratch_write(&eval_scratch, "lambada_test.jsonl", lines.data, lines.n);
    buf_release(&file);
    buf_release(&text);
    buf_release(&lines);
}

/* What tests/golden/eval/NAME has of one model. */
static void compare_whole(const char *name, const char *folder, bool sayable)
{
    char *path = mem_sprintf("tests/golden/eval/%s", name);
    struct model *own = model;
    json_t *kept = eval_reference;
    struct eval_config c;
    struct eval_result r;
    eval_config_init(&c);
    c.overlap = 96;
    assert_ok(json_read_file(&eval_reference, path, 1 << 20));
    assert_ok(model_load(&model, folder, &(struct load_config){.dtype = DTYPE_F32}, NULL));
    if (sayable)
        write_sayable(model->tokenizer);
    const size_t n = json_object_size(eval_reference);
    assert_true(n >= 2);
    for (size_t i = 0; i < n; i++) {
        const char *file = i == 0 ? "wiki.test.raw" : "lambada_test.jsonl";
        const char *data_file = i == 0 ? "wikitext/wiki.test.raw" : "lambada/lambada_test.jsonl";
        c.seq_length = i == 0 ? 128 : 0;
        c.strict = i == 2;
        assert_ok(measure(&r, i == 0 ? "wikitext" : "lambada", &c,
                          sayable ? scratch_path(&eval_scratch, file) : data(data_file), 8));
        expect_golden(i == 0 ? "wikitext" : i == 1 ? "lambada" : "lambada_strict", &r, 1e-4);
        printf("# %s %s: %.6f, %.1f s\n", name, r.name, eval_figure_value(&r, "loss"), r.seconds);
        eval_result_release(&r);
    }
    model_free(model);
    json_decref(eval_reference);
    model = own;
    eval_reference = kept;
    mem_free(path);
}

static void whole_files_are_measured_as_pytorch_does(void **state)
{
    (void)state;
    if (getenv("DATA") == NULL || *getenv("DATA") == '\0') {
        printf("# left out: all of WikiText's test and LAMBADA against PyTorch (no DATA)\n");
        return;
    }
    copy_data("weights/tiny-random-gpt2/config.json", "config.json");
    copy_data("weights/tiny-random-gpt2/model.safetensors", "model.safetensors");
    cut_vocabulary(999);
    compare_whole("tiny-random-gpt2.json", eval_scratch.folder, false);
    char *folder = mem_strdup(data("weights/SLM_4096"));
    compare_whole("SLM_4096.json", folder, true);
    mem_free(folder);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_texts_are_measured_as_pytorch_does),
        cmocka_unit_test(batch_and_team_change_no_bit),
        cmocka_unit_test(megatron_is_128_every_32),
        cmocka_unit_test(a_short_text_is_one_window),
        cmocka_unit_test(half_a_word_is_not_the_word),
        cmocka_unit_test(a_limit_leaves_the_total),
        cmocka_unit_test(stopped_it_says_what_it_has),
        cmocka_unit_test(every_bad_file_has_a_sentence),
        cmocka_unit_test(any_bytes_are_measured),
        cmocka_unit_test(no_memory_leaks_nothing),
        cmocka_unit_test(a_model_without_words_says_so),
        cmocka_unit_test(whole_files_are_measured_as_pytorch_does),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
