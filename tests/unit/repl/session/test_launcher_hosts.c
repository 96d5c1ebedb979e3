/* What is told Open MPI of the hosts' networks. */
#include "repl/session/launcher_hosts.h"

#include "model/base/buf.h"
#include "tests/lib/test.h"

static void a_network_is_listed_once(void **state)
{
    static const char *const nets[] = {"110.0.0.0/24", "10.0.0.0/24", "10.0.0.0/2",
                                       "110.0.0.0/24", "10.0.0.0/24", "10.0.0.0/2"};
    struct buf out = {0};
    (void)state;
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        assert_ok(launcher_hosts_add_network(&out, nets[i]));
    assert_string_equal(buf_text(&out), "110.0.0.0/24,10.0.0.0/24,10.0.0.0/2");
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_is_listed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
