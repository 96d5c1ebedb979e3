/* What is in the cache, and its removal. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "weights/hub/cached.h"
#include "weights/hub/repository.h"

#define A "607a30d783dfa663caf39e06633721c8d4cfcd7e"
#define B "11c5a3d5811f50298f278a704980280950aedb10"
#define MODEL "models--org--two"

static struct scratch s;

static void put(const char *name, const char *text)
{
    char folder[2 * PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(name, '/') - name), name);
    assert_ok(file_make_folder(scratch_path(&s, folder)));
    scratch_write(&s, name, text, strlen(text));
}

static void point(const char *name, const char *target)
{
    char folder[2 * PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(name, '/') - name), name);
    assert_ok(file_make_folder(scratch_path(&s, folder)));
    assert_int_equal(symlink(target, scratch_path(&s, name)), 0);
}

/* Two revisions: one file is the same in both, one is not; a part of a third; another repository.
 */
static int begin(void **state)
{
    (void)state;
    scratch_open(&s);
    setenv("HF_HUB_CACHE", s.folder, 1);
    put(MODEL "/refs/main", A);
    put(MODEL "/refs/refs/pr/1", B "\n");
    put(MODEL "/blobs/same", "1234");
    put(MODEL "/blobs/of-a", "12");
    put(MODEL "/blobs/of-b", "123");
    put(MODEL "/blobs/next.incomplete", "12345");
    point(MODEL "/snapshots/" A "/config.json", "../../blobs/same");
    point(MODEL "/snapshots/" A "/model.safetensors", "../../blobs/of-a");
    point(MODEL "/snapshots/" B "/config.json", "../../blobs/same");
    point(MODEL "/snapshots/" B "/deep/model.safetensors", "../../../blobs/of-b");
    put(MODEL "/.no_exist/" A "/vocab.json", "");
    put("datasets--org--data/blobs/x", "1");
    scratch_write(&s, "version.txt", "1", 1);
    put(".locks/" MODEL "/x.lock", "");
    return 0;
}

static int end(void **state)
{
    (void)state;
    unsetenv("HF_HUB_CACHE");
    scratch_close(&s);
    return 0;
}

static void the_cache_is_listed(void **state)
{
    (void)state;
    struct cached_list l;
    assert_ok(cached_list_read(&l));
    assert_int_equal(l.n, 2);
    assert_string_equal(l.all[0].name, "datasets/org/data");
    assert_string_equal(l.all[1].name, "org/two");
    /* Refs have bytes too. */
    assert_int_equal(l.all[1].bytes, 4 + 2 + 3 + 5 + 40 + 41);
    assert_true(l.all[1].in_part);
    assert_false(l.all[0].in_part);
    assert_true(l.all[1].used != 0);
    assert_non_null(strstr(buf_text(&l.all[1].revisions), "main 607a30d"));
    assert_non_null(strstr(buf_text(&l.all[1].revisions), "refs/pr/1 11c5a3d"));
    cached_list_release(&l);
    /* Without the part of a file it is whole, and not without a file. */
    for (int lacks = 0; lacks < 2; lacks++) {
        assert_int_equal(
            unlink(scratch_path(&s, lacks ? MODEL "/blobs/of-a" : MODEL "/blobs/next.incomplete")),
            0);
        assert_ok(cached_list_read(&l));
        assert_int_equal(l.all[1].in_part, lacks);
        cached_list_release(&l);
    }
    setenv("HF_HUB_CACHE", scratch_path(&s, "nowhere"), 1);
    assert_ok(cached_list_read(&l));
    assert_int_equal(l.n, 0);
    cached_list_release(&l);
}

static bool there(const char *name)
{
    return file_exists(scratch_path(&s, name));
}

static void a_revision_takes_only_what_is_its_own(void **state)
{
    (void)state;
    uint64_t bytes;
    assert_ok(cached_remove(&bytes, "org/two@main"));
    assert_int_equal(bytes, 2);
    assert_false(there(MODEL "/refs/main") || there(MODEL "/snapshots/" A) ||
                 there(MODEL "/blobs/of-a") || there(MODEL "/.no_exist/" A));
    assert_true(there(MODEL "/blobs/same") && there(MODEL "/blobs/of-b") &&
                there(MODEL "/blobs/next.incomplete") && there(MODEL "/refs/refs/pr/1"));
    assert_fails(cached_remove(&bytes, "org/two@main"), ERR_MISSING,
                 "revision main is not in the cache; `:hub` lists the revisions that are");
    assert_ok(cached_remove(&bytes, "org/two@" B));
    assert_false(there(MODEL));
    assert_true(there("datasets--org--data/blobs/x"));
}

static void a_commit_is_known_by_its_beginning(void **state)
{
    (void)state;
    uint64_t bytes;
    const char *const refused[] = {"org/two@11c5a3", "org/two@11c5a3d5811f5029c", "org/two@11c5a3e",
                                   "org/two@607a30d7"};
    /* One that differs from A behind its 9th digit. */
    put(MODEL "/snapshots/607a30d7854acfec0ec3c9b8bea53f6f1b5bbe06/config.json", "1");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_int_equal(cached_remove(&bytes, refused[i]), ERR_MISSING);
    assert_ok(cached_remove(&bytes, "org/two@607a30d783"));
    assert_false(there(MODEL "/refs/main") || there(MODEL "/snapshots/" A));
    assert_ok(cached_remove(&bytes, "org/two@11c5a3d"));
    assert_false(there(MODEL "/refs/refs/pr/1") || there(MODEL "/snapshots/" B));
    put(MODEL "/refs/607a30d", B);
    assert_fails(cached_remove(&bytes, "org/two@607a30d"), ERR_MISSING,
                 "revision 607a30d is not in the cache; `:hub` lists the revisions that are");
}

static void a_repository_goes_with_all_it_has(void **state)
{
    (void)state;
    uint64_t bytes;
    put("outside/file", "mine");
    point(MODEL "/snapshots/" A "/link", scratch_path(&s, "outside"));
    assert_ok(cached_remove(&bytes, "org/two"));
    assert_false(there(MODEL));
    assert_true(there("outside/file"));
    assert_ok(cached_remove(&bytes, "datasets/org/data"));
    assert_int_equal(bytes, 1);
    put("spaces--org--page/snapshots/" A "/app.py", "1");
    assert_ok(cached_remove(&bytes, "spaces/org/page@" A));
    assert_false(there("spaces--org--page"));
}

static void a_link_goes_without_what_it_leads_to(void **state)
{
    (void)state;
    uint64_t bytes;
    put("outside/blobs/file", "mine");
    assert_int_equal(symlink("outside", scratch_path(&s, "models--moved")), 0);
    assert_ok(cached_remove(&bytes, "moved"));
    assert_false(there("models--moved"));
    put("models--half/refs/main", A);
    point("models--half/blobs", scratch_path(&s, "outside/blobs"));
    assert_ok(cached_remove(&bytes, "half"));
    assert_false(there("models--half"));
    assert_true(there("outside/blobs/file"));
}

static void other_names_remove_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"",       ".",   "..",       "../x",
                                        ".locks", MODEL, "org/two/", "version.txt",
                                        "@main",  "two", "org",      "org/../org/two"};
    uint64_t bytes;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(cached_remove(&bytes, names[i]), ERR_MISSING);
    assert_int_equal(cached_remove(&bytes, "org/two@../../x"), ERR_RANGE);
    assert_true(there(MODEL "/snapshots/" A "/config.json") && there("version.txt"));
}

/* Nothing was found but that a file is not there: nothing to list, but to remove. */
static void what_holds_no_file_is_not_listed(void **state)
{
    (void)state;
    struct cached_list l;
    uint64_t bytes;
    put("models--org--none/refs/main", A);
    put("models--org--none/.no_exist/" A "/vocab.json", "");
    assert_ok(cached_list_read(&l));
    assert_int_equal(l.n, 2);
    assert_string_equal(l.all[1].name, "org/two");
    cached_list_release(&l);
    assert_ok(cached_remove(&bytes, "org/none"));
    assert_false(there("models--org--none"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(the_cache_is_listed),
        TEST(what_holds_no_file_is_not_listed),
        TEST(a_revision_takes_only_what_is_its_own),
        TEST(a_commit_is_known_by_its_beginning),
        TEST(a_repository_goes_with_all_it_has),
        TEST(a_link_goes_without_what_it_leads_to),
        TEST(other_names_remove_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
