#include "repl/session/repl.h"
#include "repl/session/unsaved.h"
#include "tests/lib/test.h"

#include <string.h>

/* What a line would lose, and whether it may. */
static int line_discards(struct repl *r, enum discarder by, unsigned what)
{
    int rc = unsaved_may_discard(r, by, what);
    unsaved_next_line(r);
    return rc;
}

static void a_confirmation_covers_what_was_named(void **state)
{
    (void)state;
    struct adapter a = {0};
    struct model m = {.changed = true};
    struct repl r = {.model = &m};
    assert_int_equal(line_discards(&r, DISCARD_QUIT, UNSAVED_ALL), ERR_EXISTS);
    assert_string_equal(err_text(),
                        "unsaved weights: `:save PATH` keeps them, `:quit` again discards them");
    /* An adapter since: what was not named is asked about, with all there is. */
    a.changed = true;
    m.adapter = &a;
    assert_int_equal(line_discards(&r, DISCARD_QUIT, UNSAVED_ALL), ERR_EXISTS);
    assert_string_equal(err_text(), "unsaved: the weights (`:save PATH` keeps them), the adapter "
                                    "(`:lora save DIR` keeps it); `:quit` again discards them");
    assert_ok(line_discards(&r, DISCARD_QUIT, UNSAVED_ALL));
    /* It went on: the next one asks. */
    assert_int_equal(line_discards(&r, DISCARD_QUIT, UNSAVED_ALL), ERR_EXISTS);
    /* Less than was named is covered. */
    m.changed = false;
    assert_ok(line_discards(&r, DISCARD_QUIT, UNSAVED_ALL));
}

static void a_confirmation_is_of_the_next_line_and_the_same_command(void **state)
{
    (void)state;
    struct adapter a = {.changed = true};
    struct model m = {.adapter = &a};
    struct repl r = {.model = &m};
    assert_int_equal(line_discards(&r, DISCARD_LORA_DROP, UNSAVED_ADAPTER), ERR_EXISTS);
    assert_string_equal(err_text(), "unsaved adapter: `:lora save DIR` keeps it, `:lora drop` "
                                    "again discards it");
    assert_int_equal(line_discards(&r, DISCARD_QUIT, UNSAVED_ALL), ERR_EXISTS);
    assert_int_equal(line_discards(&r, DISCARD_LORA_DROP, UNSAVED_ADAPTER), ERR_EXISTS);
    unsaved_next_line(&r); /* a line that discards nothing */
    assert_int_equal(line_discards(&r, DISCARD_LORA_DROP, UNSAVED_ADAPTER), ERR_EXISTS);
    assert_ok(line_discards(&r, DISCARD_LORA_DROP, UNSAVED_ADAPTER));
    assert_ok(line_discards(&r, DISCARD_LORA_MERGE, UNSAVED_RUN));
}

static void nothing_unsaved_is_no_question(void **state)
{
    (void)state;
    struct model m = {0};
    struct repl r = {0};
    assert_ok(line_discards(&r, DISCARD_QUIT, UNSAVED_ALL));
    r.model = &m;
    assert_ok(line_discards(&r, DISCARD_LOAD, UNSAVED_ALL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_confirmation_covers_what_was_named),
        cmocka_unit_test(a_confirmation_is_of_the_next_line_and_the_same_command),
        cmocka_unit_test(nothing_unsaved_is_no_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
