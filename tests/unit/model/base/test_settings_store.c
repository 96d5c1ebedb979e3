#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "model/base/settings_file.h"
#include "model/base/settings_words.h"

#include <string.h>

struct thing {
    int count, size;
    bool flag;
    char *text, *path;
};

#define AT(field) offsetof(struct thing, field)

static int refuse_x(const struct setting *row, const char *text)
{
    return strchr(text, 'x') == NULL ? 0 : err_set(ERR_FORMAT, "%s has an x", row->name);
}

/* A count given takes back what layers below say of the size. */
static int forget_size(struct settings_store *s, void *values, int layer, const struct setting *row)
{
    const struct setting *size = settings_table_find(s->table, "size");
    int rc = 0;
    for (int below = 1; below < layer && rc == 0 && row->offset == AT(count); below++)
        rc = settings_store_set(s, values, below, size, NULL);
    return rc;
}

static const struct setting rows[] = {
    {.group = "a",
     .name = "count",
     .letter = 'c',
     .type = SETTING_INT,
     .offset = AT(count),
     .max = 9},
    {.group = "a", .name = "size", .also = "n", .type = SETTING_INT, .offset = AT(size), .max = 9},
    {.group = "b", .name = "flag", .type = SETTING_BOOL, .offset = AT(flag)},
    {.group = "b", .name = "text", .also = "n", .type = SETTING_STRING, .offset = AT(text)},
    {.group = "b", .name = "path", .type = SETTING_PATH, .offset = AT(path)},
    {.group = "b",
     .name = "none",
     .type = SETTING_SHORTHAND,
     .shorthand_for = "count",
     .shorthand_value = "0"},
};
static const struct settings_table plain = {
    .rows = rows, .n = sizeof rows / sizeof rows[0], .bytes = sizeof(struct thing)};
static const struct settings_table in_sections = {.rows = rows,
                                                  .n = sizeof rows / sizeof rows[0],
                                                  .bytes = sizeof(struct thing),
                                                  .sections = true,
                                                  .check = refuse_x,
                                                  .given = forget_size};

struct held {
    struct thing values;
    struct settings_store store;
};

static int init(struct held *h, const struct settings_table *t)
{
    *h = (struct held){.values = {.count = 3, .text = "built in"}};
    return settings_store_init(&h->store, t, &h->values);
}

static void release(struct held *h)
{
    settings_table_release(h->store.table, &h->values);
    settings_store_release(&h->store);
}

static int set(struct held *h, int layer, const char *name, const char *text)
{
    const struct setting *row;
    int rc = settings_table_lookup(h->store.table, &row, name, false);
    return rc != 0 ? rc : settings_store_set(&h->store, &h->values, layer, row, text);
}

static enum origin origin(const struct held *h, const char *name)
{
    return settings_store_origin(&h->store, settings_table_find(h->store.table, name));
}

static void layers_hide_each_other(void **state)
{
    (void)state;
    struct held h;
    assert_ok(init(&h, &plain));
    assert_string_equal(h.values.text, "built in");
    assert_string_equal(h.values.path, "");
    assert_ok(settings_store_push(&h.store, ORIGIN_FILE));
    assert_ok(settings_store_push(&h.store, ORIGIN_COMMAND_LINE));
    assert_ok(set(&h, 2, "count", "5"));
    assert_ok(set(&h, 1, "count", "4"));
    assert_int_equal(h.values.count, 5);
    assert_int_equal(origin(&h, "count"), ORIGIN_COMMAND_LINE);
    assert_says(set(&h, 1, "count", "10"), "count must be a whole number, 0 to 9, not 10");
    assert_int_equal(h.values.count, 5);
    assert_ok(set(&h, 2, "count", NULL));
    assert_int_equal(h.values.count, 4);
    assert_ok(set(&h, 2, "none", "on"));
    assert_int_equal(h.values.count, 0);
    assert_ok(set(&h, 2, "none", "off"));
    assert_int_equal(h.values.count, 4);
    settings_store_clear(&h.store, &h.values, 1);
    assert_int_equal(h.values.count, 3);
    assert_int_equal(origin(&h, "count"), ORIGIN_BUILT_IN);
    settings_store_pop(&h.store);
    assert_ok(set(&h, 1, "text", "mine"));
    struct settings_store copy;
    assert_ok(settings_store_copy(&copy, &h.store));
    release(&h);
    assert_int_equal(copy.n_layers, 2);
    assert_string_equal(settings_store_text(&copy, 1, &rows[3]), "mine");
    settings_store_release(&copy);
}

static void rows_are_found_by_section(void **state)
{
    (void)state;
    const struct setting *row;
    assert_ok(settings_table_lookup(&in_sections, &row, "b.n", false));
    assert_string_equal(row->name, "text");
    assert_says(settings_table_lookup(&in_sections, &row, "n", false),
                "size is in two sections: a.size and b.text");
    assert_says(settings_table_lookup(&in_sections, &row, "a.flag", false), "did you mean b.flag?");
    assert_says(settings_table_lookup(&in_sections, &row, "flg", false), "did you mean flag?");
    assert_null(settings_table_find(&plain, "b.text"));
    assert_ptr_equal(settings_table_by_letter(&plain, 'c'), &rows[0]);
    assert_null(settings_table_by_letter(&plain, '\0'));
    assert_true(settings_table_has_section(&in_sections, "a"));
    assert_false(settings_table_has_section(&plain, "a"));
}

static int read_text(struct held *h, int layer, const char *text)
{
    const struct settings_text from = {.label = "it", .text = text, .n = strlen(text)};
    return settings_read(&h->store, &h->values, layer, &from);
}

static void files_are_read_whole_or_not_at_all(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"count: 1\na:\n  count: 2\n", "it line 3: a.count is given twice"},
        {"count: 1\nc:\n  count: 2\n", "it line 3: there is no section c"},
        {"count: 1\nb: 2\n", "it line 2: b is a section: its settings stand under it"},
        {"count: 1\ntext: axe\n", "it line 2: text has an x"},
        {"count: 1\npath: axe\n", "it line 2: path has an x"},
        {"count: 1\nsize: 10\n", "it line 2: size must be a whole number, 0 to 9, not 10"},
    };
    struct held h;
    assert_ok(init(&h, &in_sections));
    assert_ok(settings_store_push(&h.store, ORIGIN_PRESET));
    assert_ok(settings_store_push(&h.store, ORIGIN_FILE));
    assert_ok(read_text(&h, 1, "a: {size: 7}\nb: {text: [p, \"q,r\"]}\n"));
    assert_string_equal(h.values.text, "p,q\\,r");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_says(read_text(&h, 2, bad[i][0]), bad[i][1]);
        assert_int_equal(h.values.count, 3);
        assert_int_equal(origin(&h, "count"), ORIGIN_BUILT_IN);
    }
    /* The hook of the table: this count is of another size. */
    assert_int_equal(h.values.size, 7);
    assert_ok(read_text(&h, 2, "b:\ncount: 1\n"));
    assert_int_equal(h.values.size, 0);
    assert_ok(settings_take_pair(&h.store, &h.values, 2, "b.text=a=b"));
    assert_string_equal(h.values.text, "a=b");
    release(&h);
}

static const char *source(const struct held *h, int layer, const char *name)
{
    const char *s = settings_store_source(&h->store, layer, settings_table_find(&plain, name));
    return s == NULL ? "" : s;
}

/* An error about these two, as people are told of it. */
static const char *blame(const struct held *h, const char *a, const char *b)
{
    const struct setting *const two[] = {settings_table_find(&plain, a),
                                         b == NULL ? NULL : settings_table_find(&plain, b), NULL};
    err_set(ERR_RANGE, "no good");
    assert_int_equal(settings_store_blame(&h->store, two), ERR_RANGE);
    return err_text();
}

/* Where a value is written goes with it: through copies, hidden or not, and no longer. */
static void a_value_knows_where_it_is_written(void **state)
{
    (void)state;
    struct held h;
    struct settings_store copy;
    char *words[] = {"--text=mine", "-c", "5", "--no-flag"};
    int n = 4;
    assert_ok(init(&h, &plain));
    assert_ok(settings_store_push(&h.store, ORIGIN_USER_FILE));
    assert_ok(settings_store_push(&h.store, ORIGIN_COMMAND_LINE));
    assert_ok(read_text(&h, 1, "count: 1\n\nsize: 2\npath: p\n"));
    assert_string_equal(source(&h, 1, "count"), "it line 1");
    assert_string_equal(source(&h, 1, "size"), "it line 3");
    assert_string_equal(blame(&h, "size", NULL), "it line 3: no good");
    assert_string_equal(blame(&h, "size", "text"), "it line 3: no good");
    assert_string_equal(blame(&h, "count", "size"), "it line 1 and it line 3: no good");
    assert_ok(settings_take_options(&h.store, &h.values, 2, words, &n));
    assert_string_equal(source(&h, 2, "text"), "--text=mine");
    assert_string_equal(source(&h, 2, "flag"), "--no-flag");
    assert_string_equal(source(&h, 2, "count"), "-c");
    assert_string_equal(source(&h, 1, "count"), "it line 1");
    assert_string_equal(blame(&h, "count", "size"), "-c and it line 3: no good");
    /* What people have just typed need not be shown to them. */
    assert_string_equal(blame(&h, "count", "text"), "no good");
    assert_ok(settings_store_copy(&copy, &h.store));
    assert_string_equal(settings_store_source(&copy, 2, &rows[0]), "-c");
    settings_store_release(&copy);
    assert_ok(settings_take_pair(&h.store, &h.values, 2, "count=6"));
    assert_string_equal(source(&h, 2, "count"), "count=6");
    assert_ok(set(&h, 2, "count", NULL));
    assert_string_equal(blame(&h, "count", NULL), "it line 1: no good");
    assert_ok(set(&h, 1, "count", "4"));
    assert_string_equal(blame(&h, "count", NULL), "no good");
    release(&h);
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        struct held h;
        mem_fail_at(k);
        int rc = init(&h, &in_sections);
        const bool begun = rc == 0;
        if (rc == 0 && (rc = settings_store_push(&h.store, ORIGIN_FILE)) == 0 &&
            (rc = read_text(&h, 1, "a:\n  count: 1\nb:\n  path: ~/p\n")) == 0)
            rc = set(&h, 1, "text", "mine");
        mem_fail_at(0);
        if (begun)
            release(&h);
        if (rc == 0) {
            assert_true(k > 20);
            return;
        }
        assert_int_equal(rc, ERR_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_hide_each_other),
        cmocka_unit_test(rows_are_found_by_section),
        cmocka_unit_test(files_are_read_whole_or_not_at_all),
        cmocka_unit_test(a_value_knows_where_it_is_written),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests_name("settings_store", tests, NULL, NULL);
}
