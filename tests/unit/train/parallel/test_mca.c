/* What has been set for Open MPI, and who comes first. */
#include "train/parallel/mca.h"

#include "model/base/file.h"
#include "model/base/mem.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <sys/stat.h>
#include <unistd.h>

static struct scratch scratch;

static void check_value(char *value, const char *want)
{
    if (want == NULL)
        assert_null(value);
    else if (value == NULL)
        fail_msg("nothing, not \"%s\"", want);
    else
        assert_string_equal(value, want);
    mem_free(value);
}

static void a_file_is_read_as_open_mpi_does(void **state)
{
    static const char text[] = "# btl_tcp_if_include = no\n"
                               "btl_tcp_if_include_not = no\n"
                               "  btl_tcp_if_include=  eth0, lo \t\r\n"
                               "plm_rsh_agent = ssh -v : rsh\n"
                               "\n"
                               "orte_tmpdir_base = /a\n"
                               "orte_tmpdir_base = /b\n"
                               "plm =\n"
                               "plm_rsh_args\n"
                               "btl_tcp_if_exclude : lo\n"
                               "--mca btl_tcp_links 2\n"
                               "-mca btl_tcp_linksmore 3\n"
                               "last = a=b # c";
    (void)state;
    check_value(mca_find(text, "btl_tcp_if_include"), "eth0, lo");
    check_value(mca_find(text, "plm_rsh_agent"), "ssh -v : rsh");
    check_value(mca_find(text, "orte_tmpdir_base"), "/b");
    check_value(mca_find(text, "plm"), "");
    check_value(mca_find(text, "plm_rsh_args"), NULL);
    check_value(mca_find(text, "btl_tcp_if_exclude"), NULL);
    check_value(mca_find(text, "btl_tcp_links"), "2");
    check_value(mca_find(text, "last"), "a=b # c");
    check_value(mca_find("", "last"), NULL);
    check_value(mca_find("--mca", "last"), NULL);
}

/* write_file PATH: below the folder, so that "who" is this. */
static void write_file(const char *path, const char *who)
{
    char text[64];
    snprintf(text, sizeof text, "who = %s\n", who);
    scratch_write(&scratch, path, text, strlen(text));
}

static void set_path(const char *name, const char *below)
{
    setenv(name, scratch_path(&scratch, below), 1);
}

static void make_folder(const char *below)
{
    mkdir(scratch_path(&scratch, below), 0700);
}

static void the_first_that_says_something(void **state)
{
    (void)state;
    check_value(mca_value("who"), NULL);
    assert_false(mca_is_set("who"));
    write_file("etc/openmpi-mca-params.conf", "system");
    check_value(mca_value("who"), "system");
    write_file("home/.openmpi/mca-params.conf", "user");
    check_value(mca_value("who"), "user");
    assert_true(mca_is_set("who"));
    setenv("OMPI_MCA_who", "environment", 1);
    check_value(mca_value("who"), "environment");
    write_file("etc/openmpi-mca-params-override.conf", "override");
    check_value(mca_value("who"), "override");
    unsetenv("OMPI_MCA_who");
    unlink(scratch_path(&scratch, "etc/openmpi-mca-params-override.conf"));
}

static void files_can_be_named(void **state)
{
    char list[4096];
    (void)state;
    write_file("other", "other");
    snprintf(list, sizeof list, "%s,%s,%s", scratch_path(&scratch, "nowhere"),
             scratch_path(&scratch, "other"),
             scratch_path(&scratch, "home/.openmpi/mca-params.conf"));
    setenv("OPAL_SYSCONFDIR", "/nonexistent", 1);
    setenv("OMPI_MCA_mca_base_param_files", list, 1);
    check_value(mca_value("who"), "other");
    setenv("OMPI_MCA_mca_base_param_files", "", 1);
    check_value(mca_value("who"), NULL);
    unsetenv("OMPI_MCA_mca_base_param_files");
}

/* The system's files are found from mpirun on, behind links. */
static void beside_mpirun(void **state)
{
    (void)state;
    make_folder("opt");
    make_folder("opt/bin");
    make_folder("opt/etc");
    make_folder("bin");
    make_folder("home2");
    write_file("opt/etc/openmpi-mca-params.conf", "opt");
    write_file("opt/bin/orterun", "program");
    const char *program = scratch_path(&scratch, "opt/bin/orterun");
    chmod(program, 0700);
    assert_int_equal(symlink(program, scratch_path(&scratch, "bin/mpirun")), 0);
    unsetenv("OPAL_SYSCONFDIR");
    set_path("HOME", "home2");
    set_path("PATH", "bin");
    check_value(mca_value("who"), "opt");
    setenv("OPAL_PREFIX", scratch.folder, 1);
    check_value(mca_value("who"), "system");
    unsetenv("OPAL_PREFIX");
    setenv("PATH", "/nonexistent", 1);
    assert_null(mca_find_mpirun());
}

static int make_folders(void **state)
{
    (void)state;
    scratch_open(&scratch);
    make_folder("home");
    make_folder("home/.openmpi");
    make_folder("etc");
    set_path("HOME", "home");
    set_path("OPAL_SYSCONFDIR", "etc");
    return 0;
}

static int drop_folders(void **state)
{
    (void)state;
    scratch_close(&scratch);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_as_open_mpi_does),
        cmocka_unit_test(the_first_that_says_something),
        cmocka_unit_test(files_can_be_named),
        cmocka_unit_test(beside_mpirun),
    };
    return cmocka_run_group_tests(tests, make_folders, drop_folders);
}
