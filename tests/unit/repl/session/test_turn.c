/* What turns say of their prompts and of the texts before them is what copies of these would say,
 * whatever became of the text. */
#include "repl/session/turn.h"

#include "model/base/mem.h"
#include "model/base/rng.h"
#include "tests/lib/test.h"

enum { MANY = 40, VOCAB = 1 << 20 };

/* A turn, and plain copies of what it is to remember. */
struct told {
    struct turn turn;
    struct ids before, prompt;
};

static struct ids text;
static struct told told[MANY];
static int n_told;
static uint64_t counter;

static size_t any(size_t n)
{
    return (size_t)(rng_uniform(1, 0, counter++) * (float)n);
}

static void add_some(struct ids *to, size_t n)
{
    for (; n > 0; n--)
        assert_ok(ids_add(to, &(token_id){(token_id)counter++}, 1));
}

static void set_ids(struct ids *to, const token_id *ids, size_t n)
{
    if (n > 0)
        memmove(to->data, ids, n * sizeof *ids);
    to->n = n;
}

static void copy_ids(struct ids *to, const struct ids *from)
{
    ids_release(to);
    assert_ok(ids_add(to, from->data, from->n));
}

/* As generation leaves the text: prompt and answer, their newest half, or what it was. */
static void answer_turn(struct told *t, struct prompt *p)
{
    struct answer a = {.slid = any(4) == 0, .unread = any(5) == 0};
    copy_ids(&t->prompt, &p->ids);
    if (!a.unread) {
        add_some(&a.ids, any(6));
        copy_ids(&text, &p->ids);
        assert_ok(ids_add(&text, a.ids.data, a.ids.n));
        if (a.slid && text.n > 0)
            set_ids(&text, text.data + text.n / 2, text.n - text.n / 2);
    }
    a.slid &= !a.unread;
    turn_take_prompt(&t->turn, p, &text, &a);
    ids_release(&a.ids);
    ids_release(&p->ids);
}

static void take_turn(void)
{
    struct told *t = &told[n_told++];
    struct prompt p = {0};
    const bool more = any(2) == 0;
    *t = (struct told){0};
    copy_ids(&t->before, &text);
    assert_ok(turn_begin(&t->turn, &text, false, more));
    if (more)
        copy_ids(&p.ids, &text);
    add_some(&p.ids, any(5));
    answer_turn(t, &p);
}

static void draw_again(void)
{
    struct told *t = &told[n_told - 1];
    struct prompt p = {0};
    assert_ok(turn_copy_prompt(&t->turn, &text, &p));
    answer_turn(t, &p);
}

static void undo_turn(void)
{
    struct told *t = &told[--n_told];
    size_t n;
    assert_ok(ids_reserve(&text, t->before.n));
    const token_id *prompt = turn_prompt(&t->turn, &text, &n);
    const token_id *before = turn_before(&t->turn, prompt, &n);
    set_ids(&text, before, n);
    assert_int_equal(text.n, t->before.n);
    if (text.n > 0)
        assert_memory_equal(text.data, t->before.data, text.n * sizeof *text.data);
    turn_release(&t->turn);
    ids_release(&t->before);
    ids_release(&t->prompt);
}

static void check_prompt(void)
{
    size_t n;
    const token_id *prompt = turn_prompt(&told[n_told - 1].turn, &text, &n);
    assert_int_equal(n, told[n_told - 1].prompt.n);
    if (n > 0)
        assert_memory_equal(prompt, told[n_told - 1].prompt.data, n * sizeof *prompt);
}

static void lengths_are_as_good_as_copies(void **state)
{
    (void)state;
    for (int step = 0; step < 4000; step++) {
        size_t what = any(4);
        if (n_told == 0 || (what < 2 && n_told < MANY))
            take_turn();
        else if (what == 2)
            draw_again();
        else
            undo_turn();
        if (n_told > 0)
            check_prompt();
    }
    while (n_told > 0)
        undo_turn();
    ids_release(&text);
}

/* A text that goes on is not stored with each of its turns. */
static void a_turn_that_goes_on_has_no_ids(void **state)
{
    (void)state;
    struct turn t = {0};
    struct prompt p = {0};
    struct answer a = {0};
    add_some(&text, 9);
    assert_ok(turn_begin(&t, &text, false, true));
    copy_ids(&p.ids, &text);
    add_some(&text, 3);
    add_some(&a.ids, 3);
    turn_take_prompt(&t, &p, &text, &a);
    assert_null(t.replaced.data);
    assert_null(t.prompt.data);
    turn_release(&t);
    ids_release(&a.ids);
    ids_release(&p.ids);
    ids_release(&text);
}

/* And not one for another text, nor with numbers that no session has. */
static void a_line_brings_a_turn_back(void **state)
{
    (void)state;
    static const char bad[][112] = {
        "temperature: 1\n",
        "# answer: text 3 prompt 12 of 12 seed 1 draw 0 position 0 drawn 6 held 0 begun 0 ended "
        "0\n",
        "# answer: text 3 prompt 0 of 12 seed 1 draw 0 position 0 drawn 6 held 0 begun 0 ended 0\n",
        "# answer: text 9 prompt 7 of 12 seed 1 draw 0 position 0 drawn 6 held 0 begun 0 ended 0\n",
        "# answer: text 3 prompt 7 of 12 seed 1 draw -1 position 0 drawn 6 held 0 begun 0 ended "
        "0\n",
        "# answer: text 3 prompt 7 of 12 seed 1 draw 0 position 9223372036854775807 drawn 6 held "
        "0\n"};
    struct turn back = {0}, none = {0},
                t = {.n_before = 3, .n_prompt = 7, .begun = true, .ended = true, .n_drawn = 6};
    struct buf line = {0};
    add_some(&text, 12);
    t.settings.sampler.seed = UINT64_MAX;
    t.settings.sampler.draw = 2;
    assert_ok(turn_format(&t, &text, &t.settings, &line));
    assert_ok(buf_str(&line, "temperature: 1\n"));
    assert_true(turn_parse(&back, buf_text(&line), &text, VOCAB));
    assert_int_equal(back.n_before, 3);
    assert_int_equal(back.n_prompt, 7);
    assert_true(back.begun && back.ended && !back.held_space);
    assert_int_equal(back.n_drawn, 6);
    assert_true(back.settings.sampler.seed == UINT64_MAX);
    assert_int_equal(back.settings.sampler.draw, 2);
    assert_int_equal(back.n_answers, 1);
    assert_int_equal(back.answers[0].n, 5);
    assert_memory_equal(back.answers[0].data, text.data + 7, 5 * sizeof *text.data);
    text.n--;
    assert_false(turn_parse(&none, buf_text(&line), &text, VOCAB));
    text.n++;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(turn_parse(&none, bad[i], &text, VOCAB));
    turn_release(&back);
    buf_release(&line);
    ids_release(&text);
}

/* With the settings that it had, where the session has others by now; one that none can have, or
 * that no answer goes by, is no session's. */
static void a_line_brings_a_setting_back(void **state)
{
    (void)state;
    static const char *const bad[] = {"top_k: \"-5\"", "threads: \"1\"", "no_such: \"1\"", "top_k"};
    struct turn t = {.n_prompt = 7};
    struct settings now;
    struct buf line = {0};
    settings_init(&now);
    assert_ok(settings_copy(&t.settings, &now));
    t.settings.sampler.top_k = 5;
    t.settings.sampler.draw = 3;
    mem_free(t.settings.generate.speculate);
    t.settings.generate.speculate = mem_strdup("\n# answer's \"x\"");
    add_some(&text, 12);
    assert_ok(turn_format(&t, &text, &now, &line));
    assert_ok(buf_str(&line, "top_k: \"9\"\n"));
    assert_non_null(strstr(buf_text(&line), "\n# answer's top_k: \"5\"\n"));
    for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
        const bool good = i == sizeof bad / sizeof *bad;
        struct turn back = {0};
        struct buf lines = {0};
        assert_ok(settings_copy(&back.settings, &now));
        assert_ok(buf_printf(&lines, "%s%s%s", buf_text(&line), good ? "" : "# answer's ",
                             good ? "" : bad[i]));
        assert_int_equal(turn_parse(&back, buf_text(&lines), &text, VOCAB), good);
        if (good) {
            assert_int_equal(back.settings.sampler.top_k, 5);
            assert_int_equal(back.settings.sampler.draw, 3);
            assert_string_equal(back.settings.generate.speculate, t.settings.generate.speculate);
            assert_true(back.settings.sampler.top_p == now.sampler.top_p);
        }
        turn_release(&back);
        buf_release(&lines);
    }
    turn_release(&t);
    buf_release(&line);
    ids_release(&text);
}

/* The prompt and the answer of a text that was cut are lines of their own. */
static void lines_bring_back_what_was_cut(void **state)
{
    (void)state;
    struct turn t = {.n_before = 2, .slid = true}, back = {0}, none = {0};
    struct buf lines = {0};
    add_some(&text, 5);
    add_some(&t.prompt, 4);
    t.n_prompt = 4;
    assert_ok(turn_format(&t, &text, &t.settings, &lines));
    assert_int_equal(lines.n, 0); /* nothing was drawn */
    struct answer answer = {0};
    add_some(&answer.ids, 9);
    assert_ok(turn_take_answers(&t, &answer, 1));
    assert_ok(turn_format(&t, &text, &t.settings, &lines));
    assert_ok(buf_str(&lines, "temperature: 1\n"));
    assert_true(turn_parse(&back, buf_text(&lines), &text, VOCAB));
    assert_true(back.slid);
    assert_int_equal(back.n_before, 2);
    assert_int_equal(back.n_prompt, 4);
    assert_int_equal(back.prompt.n, 4);
    assert_memory_equal(back.prompt.data, t.prompt.data, 4 * sizeof *text.data);
    assert_int_equal(back.answers[0].n, 9);
    assert_memory_equal(back.answers[0].data, answer.ids.data, 9 * sizeof *text.data);
    assert_false(turn_parse(&none, buf_text(&lines), &text, (int)answer.ids.data[8]));
    turn_release(&none);
    lines.data[strstr(buf_text(&lines), "# drawn") - buf_text(&lines)] = '!';
    assert_false(turn_parse(&none, buf_text(&lines), &text, VOCAB));
    turn_release(&none);
    turn_release(&t);
    turn_release(&back);
    buf_release(&lines);
    ids_release(&answer.ids);
    ids_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lengths_are_as_good_as_copies),
                                       cmocka_unit_test(a_turn_that_goes_on_has_no_ids),
                                       cmocka_unit_test(a_line_brings_a_turn_back),
                                       cmocka_unit_test(a_line_brings_a_setting_back),
                                       cmocka_unit_test(lines_bring_back_what_was_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
