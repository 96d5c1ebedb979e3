/* A file that is at fault costs its own documents, and none that were read before it. */
#include "tests/lib/prepared.h"

#include "model/base/par.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

struct notes {
    char text[1000];
    int n;
    uint64_t first; /* bytes at the first report */
    bool any;
};
static void note_then(void *user, const char *text)
{
    struct notes *s = user;
    snprintf(s->text, sizeof s->text, "%s", scratch_sentence(&data_scratch, text));
    s->n++;
}
static void step_then(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct notes *s = user;
    (void)total;
    if (!s->any && strcmp(what, "preparing") == 0) {
        s->first = done;
        s->any = true;
    }
}

static struct notes notes;

static int prepare(struct prepare_report *r, const char *in, const char *out)
{
    const struct progress p = {.step = step_then, .note = note_then, .user = &notes};
    notes = (struct notes){0};
    return prepare_with(r, in, out, NULL, data_tokenizer, &p);
}

/* The names and the texts by turns. */
static void pack(const char *name, bool zip, const char *const *members, size_t n)
{
    struct archive *a = archive_write_new();
    assert_int_equal(zip ? archive_write_set_format_zip(a) : archive_write_set_format_pax(a),
                     ARCHIVE_OK);
    assert_int_equal(archive_write_add_filter(a, zip ? ARCHIVE_FILTER_NONE : ARCHIVE_FILTER_GZIP),
                     ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(a, scratch_path(&data_scratch, name)), ARCHIVE_OK);
    for (size_t i = 0; i < n; i += 2) {
        struct archive_entry *e = archive_entry_new();
        const bool picture = strstr(members[i], ".png") != NULL;
        const size_t bytes = picture ? 1 << 20 : strlen(members[i + 1]);
        char *text = mem_array(bytes, 1);
        memcpy(text, members[i + 1], strlen(members[i + 1]));
        archive_entry_set_pathname(e, members[i]);
        archive_entry_set_filetype(e, AE_IFREG);
        archive_entry_set_size(e, (la_int64_t)bytes);
        assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
        assert_int_equal(archive_write_data(a, text, bytes), (la_ssize_t)bytes);
        archive_entry_free(e);
        mem_free(text);
    }
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
}

/* As in a folder: left out, and named. */
static void pictures_in_archives_are_left_out(void **state)
{
    (void)state;
    struct prepare_report r;
    static const char *const members[] = {"a.txt", "one", "p.png", "\x89PNG",
                                          "b.txt", "two", "q.png", "\x89PNG"};
    for (int zip = 0; zip < 2; zip++) {
        pack("x.archive", zip, members, 6);
        assert_ok(prepare(&r, "x.archive", "x"));
        data_expect("x.bin", "|one$|two$");
        assert_int_equal(notes.n, 1);
        assert_string_equal(notes.text,
                            "left out: DIR/x.archive: p.png is not text: byte 4 is NUL; token "
                            "files end in .bin");
        pack("x.archive", zip, members, 8);
        assert_ok(prepare(&r, "x.archive", "x"));
        data_expect("x.bin", "|one$|two$");
        assert_int_equal(notes.n, 1);
        assert_non_null(strstr(notes.text, "; also DIR/x.archive: q.png"));
    }
    pack("x.archive", true, members + 2, 2);
    assert_fails(prepare(&r, "x.archive", "x"), ERR_RANGE, "there is no text to prepare");
    assert_int_equal(notes.n, 1);
    /* Training reads such an archive as it is. */
    pack("y.zip", true, members, 6);
    data_expect("y.zip", "|one$|two$");
}

static void write_many(const char *name, const char *last)
{
    struct buf text = {0};
    for (int i = 0; i < 20000; i++)
        assert_ok(buf_printf(&text, "{\"text\": \"line %d of %s\"}\n", i, name));
    assert_ok(buf_str(&text, last));
    data_text(name, buf_text(&text));
    buf_release(&text);
}

/* The second of three files has a fault behind many documents; then it is taken away, or mended. */
static void what_was_read_stays(void **state)
{
    (void)state;
    struct prepare_report r;
    struct stat st;
    assert_ok(par_open(1, false));
    assert_ok(mkdir(scratch_path(&data_scratch, "in"), 0700));
    for (int mended = 0; mended < 2; mended++) {
        unlink(scratch_path(&data_scratch, "part.bin"));
        write_many("in/a.jsonl", "");
        write_many("in/b.jsonl", "{\"text\": 5}\n");
        write_many("in/c.jsonl", "");
        assert_fails(prepare(&r, "in", "part"), ERR_FORMAT, "b.jsonl line 20001");
        assert_true(r.stays);
        assert_true(file_exists(scratch_path(&data_scratch, ".part.preparing/state.json")));
        assert_false(file_exists(scratch_path(&data_scratch, "part.bin")));
        assert_fails(prepare(&r, "in", "part"), ERR_FORMAT, "b.jsonl line 20001");
        assert_true(r.went_on);
        if (mended)
            write_many("in/b.jsonl", "{\"text\": \"5\"}\n");
        else
            unlink(scratch_path(&data_scratch, "in/b.jsonl"));
        assert_ok(stat(scratch_path(&data_scratch, "in/a.jsonl"), &st));
        assert_ok(prepare(&r, "in", "part"));
        assert_true(r.went_on && !r.stays);
        assert_true(notes.first > (uint64_t)st.st_size);
        assert_int_equal(r.documents, mended ? 60001 : 40000);
        assert_false(file_exists(scratch_path(&data_scratch, ".part.preparing")));
        assert_ok(prepare(&r, "in", "whole"));
        assert_false(r.went_on);
        data_same_file("part.bin", "whole.bin");
        data_same_file("part.idx", "whole.idx");
    }
    par_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_in_archives_are_left_out),
        cmocka_unit_test(what_was_read_stays),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
