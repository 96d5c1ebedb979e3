/* Whether a run goes on when a process is lost, and where. */
#include "repl/commands/train_restart.h"

#include "model/base/buf.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <unistd.h>

static char hosts_path[128];
static struct run_config config;

static const struct launcher_end killed = {.lost = true,
                                           .rank = 2,
                                           .n = 1,
                                           .host = "b",
                                           .saved = -1},
                                 silent = {.lost = true,
                                           .silent = true,
                                           .rank = 2,
                                           .n = 2,
                                           .host = "b.example.org",
                                           .saved = -1},
                                 no_mpirun = {.lost = true, .rank = -1, .saved = -1};

static void use_hosts(const char *text)
{
    mem_free(config.execution.hosts);
    config.execution.hosts = mem_strdup(text == NULL ? "" : hosts_path);
    if (text != NULL)
        assert_ok(file_write_whole(hosts_path, text, strlen(text), true));
}

static bool plan(struct restart *a, const struct launcher_end *end)
{
    err_set(ERR_IO, "what was lost");
    const bool goes_on = restart_plan(a, &config, end);
    if (!goes_on)
        assert_string_equal(err_text(), "what was lost");
    return goes_on;
}

static struct restart begin(int size)
{
    return (struct restart){
        .folder = "/nonexistent/run", .size = size, .whole = size, .stages = 1, .step = -1};
}

static void by_itself_where_there_are_hosts(void **state)
{
    struct restart a = begin(4);
    (void)state;
    config.execution.elastic = ELASTIC_AUTO;
    use_hosts(NULL);
    assert_false(plan(&a, &killed));
    use_hosts("# one\na slots=4\n\n a slots=2 # the same\n");
    assert_false(plan(&a, &killed));
    use_hosts("a slots=2\nb slots=2\n");
    assert_true(plan(&a, &killed));
    assert_int_equal(a.size, 3);
    assert_null(a.hosts);
    config.execution.elastic = ELASTIC_OFF;
    assert_false(plan(&a, &killed));
    restart_release(&a);
}

static void a_host_that_is_gone_is_left_out(void **state)
{
    struct restart a = begin(4);
    struct buf text = {0};
    (void)state;
    config.execution.elastic = ELASTIC_ON;
    use_hosts("a slots=2\n# b is in the cellar\nb slots=2\nbb.example.org slots=1\n");
    assert_true(plan(&a, &silent));
    assert_int_equal(a.size, 2);
    assert_ok(file_read_all(&text, a.hosts, 1000));
    assert_ok(buf_char(&text, '\0'));
    assert_string_equal(text.data, "a slots=2\nbb.example.org slots=1\n");
    buf_release(&text);
    /* All that there is stays. */
    use_hosts("b\n");
    restart_release(&a);
    a = begin(4);
    assert_true(plan(&a, &silent));
    assert_null(a.hosts);
    assert_false(plan(&a, &silent)); /* nobody is left */
    restart_release(&a);
}

/* Those left out before are missing from all processes, not from those that are left. */
static void a_host_is_left_out_once(void **state)
{
    struct restart a = begin(8);
    struct launcher_end one = silent;
    (void)state;
    one.n = 1;
    config.execution.elastic = ELASTIC_ON;
    use_hosts("a slots=4\nb slots=4\n");
    assert_true(plan(&a, &one));
    assert_int_equal(a.size, 4);
    assert_true(plan(&a, &one));
    assert_int_equal(a.size, 3);
    restart_release(&a);
}

/* Which ssh would take for an option, and do what it says. */
static void an_option_is_no_host(void **state)
{
    struct restart a = begin(2);
    (void)state;
    use_hosts("a\n -oProxyCommand=true slots=2\n");
    assert_int_equal(restart_begin(&a, &config), ERR_FORMAT);
    assert_non_null(strstr(err_text(), "-oProxyCommand=true is not a host's name"));
    config.execution.elastic = ELASTIC_ON;
    assert_false(plan(&a, &no_mpirun));
    use_hosts("# none\n\n");
    assert_int_equal(restart_begin(&a, &config), ERR_FORMAT);
    assert_non_null(strstr(err_text(), "no host is named"));
    use_hosts("a slots=2\nb\tslots=x # slots=2\n");
    assert_int_equal(restart_begin(&a, &config), ERR_FORMAT);
    assert_non_null(
        strstr(err_text(), "slots of b must be a whole number from 1 on, as in slots=2"));
    use_hosts("a-b\n# -c\n");
    assert_ok(restart_begin(&a, &config));
    restart_release(&a);
}

static void nobody_tries_for_ever(void **state)
{
    struct restart a = begin(2);
    int n = 0;
    (void)state;
    config.execution.elastic = ELASTIC_ON;
    use_hosts(NULL);
    while (plan(&a, &no_mpirun) && n < 100)
        n++;
    assert_int_equal(a.size, 2);
    assert_in_range(n, 1, 3);
    assert_false(plan(&a, &(struct launcher_end){.ran = true, .rank = -1}));
}

/* Half a pipeline is none, until there is no other. */
static void a_replica_in_parts_regroups(void **state)
{
    static const struct {
        int tensor, living;
        bool regrouped;
        int stages, shards;
        const char *layers;
    } rows[] = {
        {1, 5, false, 0, 0, ""},    {1, 3, false, 0, 0, ""},    {1, 2, true, 2, 1, "6,6"},
        {1, 1, true, 1, 1, "none"}, {2, 11, false, 0, 0, ""},   {2, 5, true, 2, 2, "6,6"},
        {2, 3, true, 1, 2, "none"}, {2, 1, true, 1, 1, "none"},
    };
    (void)state;
    config.execution.elastic = ELASTIC_ON;
    use_hosts(NULL);
    mem_free(config.execution.layers_per_device);
    config.execution.layers_per_device = mem_strdup("[2,5,5]");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct restart a = begin(rows[i].living + 1);
        config.execution.tensor_parallel = rows[i].tensor;
        a.stages = 3 * rows[i].tensor;
        assert_true(plan(&a, &killed));
        assert_int_equal(a.regrouped, rows[i].regrouped);
        assert_int_equal(a.size, rows[i].regrouped ? rows[i].stages * rows[i].shards
                                                   : rows[i].living / a.stages * a.stages);
        if (!a.regrouped)
            continue;
        assert_int_equal(a.layout.stages, rows[i].stages);
        assert_int_equal(a.layout.tensor, rows[i].shards);
        assert_string_equal(a.layout.layers, rows[i].layers);
    }
    struct restart a = begin(1);
    assert_false(plan(&a, &killed)); /* nobody is left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_itself_where_there_are_hosts),
        cmocka_unit_test(a_host_that_is_gone_is_left_out),
        cmocka_unit_test(a_host_is_left_out_once),
        cmocka_unit_test(an_option_is_no_host),
        cmocka_unit_test(nobody_tries_for_ever),
        cmocka_unit_test(a_replica_in_parts_regroups),
    };
    const char *folder = getenv("TMPDIR");
    snprintf(hosts_path, sizeof hosts_path, "%s/hosts.%ld", folder != NULL ? folder : "/tmp",
             (long)getpid());
    setenv("OMPI_MCA_plm", "none", 1); /* these hosts are not there to be asked */
    if (run_config_init(&config) != 0)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    run_config_release(&config);
    unlink(hosts_path);
    return failed;
}
