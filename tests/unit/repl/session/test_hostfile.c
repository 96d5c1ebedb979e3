/* Hostfiles as people write them: which hosts they name, and how many processes are for each. */
#include "repl/session/hostfile.h"

#include "model/base/buf.h"
#include "tests/lib/test.h"

static void lines_name_hosts(void **state)
{
    static const struct {
        const char *text, *why; /* NULL: it is right */
    } cases[] = {
        {"red slots=2\ngreen\n", NULL},
        {"# two\n\n  red\tslots=2 max-slots=3 # all\r\n", NULL},
        {"red max-slots=x\n",
         "line 1: max_slots of red must be a whole number from 1 on, as in max_slots=2"},
        {"red slots=3 max-slots=2\n", "line 1: max_slots of red is 2, less than its slots (3)"},
        {"green\nred max_slots=1 slots=2\n",
         "line 2: max_slots of red is 1, less than its slots (2)"},
        {"red slots=1\n#\nred max_slots=1\n",
         "line 3: max_slots of red is 1, less than its slots (2)"},
        {"red max_slots=1\n", NULL},
        {"red slots=2\nred slots=2 slots=3\n",
         "line 2: red has slots= twice in its line: one is enough"},
        {"red slots=2 cpu = 2\n", "line 1: red has slots= and cpu= in its line: one is enough"},
        {"red port=x\n", "line 1: port of red must be a whole number from 1 on, as in port=22"},
        {"red slots=1\nred.lan slots=1\n",
         "line 2: red.lan is the host of line 1 too, and has slots=: one line has all of a host"},
        {"red\nred.lan\n", NULL},
        {"localhost\nred\n127.0.0.1 slots=1\n",
         "line 3: 127.0.0.1 is the host of line 1 too, and has slots=: one line has all of a host"},
        {"localhost slots=2\n127.0.0.1\n", NULL},
        {"red\n127.0.0.2\n", "line 2: 127.0.0.2 is this host, but mpirun would take it for "
                             "another: name it localhost"},
        {"red count=2 max_count=4 user_name=me\n", NULL},
        {"red cpu=two\n", "slots of red must be a whole number from 1 on, as in slots=2"},
        {"red count=1\nred count=1\n",
         "red has slots= in its second line: one line has all of a host"},
        {"red # slots=x\n", NULL},
        {"red slots = 2 port=22\n", NULL},
        {"red slots = two\n", "slots of red must be a whole number from 1 on, as in slots=2"},
        {"red = = =\n", "= = = behind red is not understood: slots=2 is, for 2 processes there"},
        {"red x = =\n", "x = = behind red is not understood: slots=2 is, for 2 processes there"},
        {"red port=22 2\n", "2 behind red is not understood: slots=2 is, for 2 processes there"},
        {"red green\n", "green behind red is not understood: slots=2 is, for 2 processes there"},
        {"slots=2\n", "slots=2 is not a host's name"},
        {"", "no host is named: a line for each, such as localhost slots=2"},
        {"# none\n \n", "no host is named: a line for each, such as localhost slots=2"},
        {"red\n-oProxyCommand=x\n", "-oProxyCommand=x is not a host's name"},
        {"red slots=two\n", "slots of red must be a whole number from 1 on, as in slots=2"},
        {"red slots=\n", "slots of red must be a whole number from 1 on, as in slots=2"},
        {"red slots=-1\n", "slots of red must be a whole number from 1 on, as in slots=2"},
        {"red slots=1\nred\ngreen slots=1\n", NULL},
        {"red slots=1\nreds slots=1\nred slots=1\n",
         "red has slots= in its second line: one line has all of a host"},
        {"red slots=0\n", "slots of red must be a whole number from 1 on, as in slots=2"},
        {"red slots=2\r\n",
         "its lines end as those of Windows do, in CR LF: save it with LF alone"},
        {"red slots=2 cores=3\n",
         "cores=3 behind red is not understood: slots=2 is, for 2 processes there"},
        {"red slots=2x\n", "slots of red must be a whole number from 1 on, as in slots=2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].why == NULL)
            assert_ok(hostfile_check(cases[i].text));
        else
            assert_fails(hostfile_check(cases[i].text), ERR_FORMAT, cases[i].why);
}

static void a_host_is_the_same_with_its_domain(void **state)
{
    static const char *const gone[] = {"green.example.org", "blue"};
    struct buf out = {0};
    (void)state;
    assert_true(hostfile_has_many("red\ngreen\n"));
    assert_false(hostfile_has_many("red\nred\n"));
    assert_ok(
        hostfile_without(&out, "red slots=2\ngreen slots=1\n# blue\nblue.lan\nblues\n", gone, 2));
    assert_string_equal(buf_text(&out), "red slots=2\nblues\n");
    buf_release(&out);
}

static void hosts_have_a_share_of_the_processes(void **state)
{
    static const struct {
        const char *left, *all;
        float share;
    } cases[] = {
        {"red slots=2\n", "red slots=2\ngreen slots=1\n", 2.F / 3},
        {"green slots=1 # small\n", "red slots=2\ngreen slots=1 # small\n", 1.F / 3},
        {"red slots=2\n", "red slots=2\ngreen\n", 1.F / 2},
        {"red\nred\n", "red\nred\ngreen\n", 2.F / 3},
        {"red slots = 2\n", "red slots = 2\ngreen max-slots=9 slots=1\n", 2.F / 3},
        {"red slots=0\n", "red slots=0\ngreen slots=0\n", 1.F / 2},
        {"", "", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_float_equal(hostfile_share(cases[i].left, cases[i].all), cases[i].share, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_name_hosts),
        cmocka_unit_test(a_host_is_the_same_with_its_domain),
        cmocka_unit_test(hosts_have_a_share_of_the_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
