/* Texts are encoded once: what the cache keeps, when it is made anew, and what a failure leaves. */
#include "tests/lib/data_set.h"
#include "tests/lib/thin.h"
#include "train/data/text_cache.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

static int open_cache(struct token_file *out, const struct data_source *list, size_t n,
                      const char *separator, bool special, const struct tokenizer *t,
                      const struct progress *p)
{
    struct pairs pairs;
    assert_ok(pairs_init(&pairs, PAIRS_PROMPT, PAIRS_COMPLETION));
    const struct text_form form = {separator, TEXT_FIELD, &pairs, special};
    const int rc = text_cache_open(out, list, n, &form, t, p);
    pairs_release(&pairs);
    return rc;
}

static void watch_encoding(void *user, const char *what, uint64_t done, uint64_t total)
{
    int *calls = user;
    assert_true(done <= total);
    *calls += strcmp(what, "encoding texts") == 0;
}

static int encodings(struct data_config *c, unsigned char identity[32])
{
    int calls = 0;
    struct progress p = {.step = watch_encoding, .user = &calls};
    struct dataset d, v;
    assert_ok(dataset_open(&d, &v, c, data_tokenizer, TINY_V, &p));
    memcpy(identity, d.identity, 32);
    dataset_close(&d);
    dataset_close(&v);
    return calls;
}

static void texts_are_encoded_once(void **state)
{
    (void)state;
    unsigned char first[32], again[32];
    data_text("cached.txt", "a text to be kept");
    struct data_config c = data_config_of((const char *const[]){"cached.txt"}, 1);
    int before = data_count_cached(".idx");
    assert_true(encodings(&c, first) > 0);
    assert_int_equal(data_count_cached(".idx"), before + 1);
    assert_int_equal(encodings(&c, again), 0);
    assert_memory_equal(first, again, 32);
    /* Other bytes are another set; so is another separator. */
    data_text("cached.txt", "a text to be kept!");
    assert_true(encodings(&c, again) > 0);
    assert_memory_not_equal(first, again, 32);
    c.document_separator[0] = '!';
    assert_true(encodings(&c, again) > 0);
    assert_int_equal(data_count_cached(".idx"), before + 3);
    assert_int_equal(data_count_cached(".tmp"), 0);
    data_config_release(&c);
}

/* With `special`, the end-of-text token in a text is that token, and a document that ends with it
 * gets no second one. */
static void special_tokens_are_read_where_asked_for(void **state)
{
    (void)state;
    static const token_id asked[] = {'a' + 1, 0, 'b' + 1, 0, 'c' + 1, 0};
    static const char text[] = "{\"text\": \"a<|endoftext|>b\"}\n{\"text\": \"c<|endoftext|>\"}\n";
    unsigned char first[32], second[32];
    token_id ids[6];
    struct dataset d, v;
    data_text("special.jsonl", text);
    struct data_config c = data_config_of((const char *const[]){"special.jsonl"}, 1);
    c.validation_fraction = 0;
    assert_true(encodings(&c, first) > 0);
    c.special = true;
    assert_true(encodings(&c, second) > 0);
    assert_memory_not_equal(first, second, 32);
    assert_ok(dataset_open(&d, &v, &c, data_tokenizer, TINY_V, NULL));
    assert_int_equal(d.n_tokens, 6);
    assert_int_equal(d.n_documents, 2);
    assert_ok(dataset_read(&d, ids, 0, 6));
    assert_memory_equal(ids, asked, sizeof asked);
    dataset_close(&d);
    dataset_close(&v);
    data_config_release(&c);
}

/* However it was opened, the set has the sum that is kept beside it. */
static void sets_have_their_sum(void **state)
{
    (void)state;
    data_text("sum.txt", "the text of a sum");
    char *text = mem_strdup(scratch_path(&data_scratch, "sum.txt"));
    const struct data_source source = {.path = text};
    for (int i = 0; i < 2; i++) {
        struct token_file f;
        struct buf kept = {0};
        assert_ok(open_cache(&f, &source, 1, "", false, data_tokenizer, NULL));
        char *path = mem_sprintf("%.*s.sha256", (int)strlen(f.file.path) - 4, f.file.path);
        assert_ok(file_read_all(&kept, path, 64));
        assert_string_equal(f.sum, buf_text(&kept));
        mem_free(path);
        buf_release(&kept);
        token_file_close(&f);
    }
    mem_free(text);
}

/* A document is one text, though it is read in pieces; a prefix space is put before it alone. */
static void pieces_of_a_document_have_no_prefix(void **state)
{
    (void)state;
    struct buf text = {0};
    struct ids expected = {0};
    struct token_file f, plain;
    struct tokenizer *spaced = tiny_tokenizer_with(true);
    while (text.n < 3 << 20)
        assert_ok(buf_str(&text, "abc the one\nend "));
    assert_ok(tokenizer_encode(spaced, &expected, text.data, text.n, ENCODE_TEXT));
    assert_ok(ids_add(&expected, &(token_id){0}, 1));
    const size_t first = expected.n;
    assert_ok(tokenizer_encode(spaced, &expected, "abc", 3, ENCODE_TEXT));
    assert_ok(ids_add(&expected, &(token_id){0}, 1));
    assert_ok(buf_str(&text, "%abc"));
    scratch_write(&data_scratch, "long.txt", text.data, text.n);
    char *path = mem_strdup(scratch_path(&data_scratch, "long.txt"));
    const struct data_source source = {.path = path};
    assert_ok(open_cache(&plain, &source, 1, "%", false, data_tokenizer, NULL));
    assert_ok(open_cache(&f, &source, 1, "%", false, spaced, NULL));
    assert_int_equal(f.n_tokens, expected.n);
    assert_int_equal(f.documents[1], first);
    token_id *ids = mem_array(expected.n, sizeof *ids);
    assert_ok(token_file_read(&f, ids, 0, expected.n, 0));
    assert_memory_equal(ids, expected.data, expected.n * sizeof *ids);
    /* Another data_tokenizer's cache it is not. */
    assert_string_not_equal(f.file.path, plain.file.path);
    mem_free(ids);
    mem_free(path);
    ids_release(&expected);
    buf_release(&text);
    token_file_close(&f);
    token_file_close(&plain);
    tokenizer_free(spaced);
}

/* A model's end-of-text token may be an ordinary one: a text that happens to end with it is whole
 * for all that, as it was before there was `special`. */
static void an_ordinary_end_is_text(void **state)
{
    (void)state;
    static const char *const tokens[] = {"a", "\xc4\x8a"};
    const struct vocab v = {.n_tokens = 2, .tokens = tokens, .eos = 1};
    const token_id expected[] = {0, 1, 1};
    token_id ids[3];
    struct tokenizer *t;
    struct token_file f;
    assert_ok(tokenizer_new(&t, &v));
    scratch_write(&data_scratch, "line.txt", "a\n", 2);
    char *path = mem_strdup(scratch_path(&data_scratch, "line.txt"));
    assert_ok(open_cache(&f, &(struct data_source){.path = path}, 1, "", false, t, NULL));
    assert_int_equal(f.n_tokens, 3);
    assert_ok(token_file_read(&f, ids, 0, 3, 0));
    assert_memory_equal(ids, expected, sizeof ids);
    token_file_close(&f);
    mem_free(path);
    tokenizer_free(t);
}

/* A long text and a long line, each `before` letters further on, give the tokens of the whole. */
static void check_cuts(const struct tokenizer *t, int before)
{
    struct buf text = {0}, line = {0};
    struct ids expected = {0};
    struct token_file f;
    assert_ok(buf_printf(&text, "%.*s", before, "aaaaaaaaa"));
    while (text.n < (2 << 20) + 100)
        assert_ok(buf_str(&text, "b a<a b>\n"));
    text.n--;
    assert_ok(tokenizer_encode(t, &expected, text.data, text.n, ENCODE_SPECIAL));
    assert_ok(ids_add(&expected, &(token_id){6}, 1));
    assert_ok(buf_str(&line, "{\"text\": \""));
    for (size_t i = 0; i < text.n; i++)
        assert_ok(text.data[i] == '\n' ? buf_str(&line, "\\n") : buf_char(&line, text.data[i]));
    assert_ok(buf_str(&line, "\"}\n"));
    for (int as_line = 0; as_line < 2; as_line++) {
        const struct buf *in = as_line ? &line : &text;
        const char *name = as_line ? "marked.jsonl" : "marked.txt";
        scratch_write(&data_scratch, name, in->data, in->n);
        char *path = mem_strdup(scratch_path(&data_scratch, name));
        const struct data_source source = {.path = path,
                                           .kind = as_line ? DATA_JSON_LINES : DATA_TEXT};
        assert_ok(open_cache(&f, &source, 1, "", true, t, NULL));
        assert_int_equal(f.n_tokens, expected.n);
        token_id *ids = mem_array(expected.n, sizeof *ids);
        assert_ok(token_file_read(&f, ids, 0, expected.n, 0));
        assert_memory_equal(ids, expected.data, expected.n * sizeof *ids);
        mem_free(ids);
        mem_free(path);
        token_file_close(&f);
    }
    ids_release(&expected);
    buf_release(&line);
    buf_release(&text);
}

/* A space in a special token, or a line's end behind one, which gets a prefix space of its own, is
 * no place to cut a long text at. */
static void special_tokens_are_not_cut(void **state)
{
    (void)state;
    static const char *const tokens[] = {"<", "a",     "\xc4\xa0",      "b",
                                         ">", "<a b>", "<|endoftext|>", "\xc4\x8a"};
    const struct vocab v = {.n_tokens = 8,
                            .tokens = tokens,
                            .special = (const unsigned char[]){0, 0, 0, 0, 0, 1, 1, 0},
                            .eos = 6,
                            .add_prefix_space = true};
    struct tokenizer *t;
    assert_ok(tokenizer_new(&t, &v));
    assert_int_equal(tokenizer_special_bytes(t), 13);
    for (int before = 0; before < 9; before++)
        if (thin_runs(before, 4))
            check_cuts(t, before);
    tokenizer_free(t);
}

static void damaged_caches_are_made_anew(void **state)
{
    (void)state;
    unsigned char identity[32];
    char command[3 * PATH_MAX];
    data_text("cut.txt", "the text whose cache is cut");
    struct data_config c = data_config_of((const char *const[]){"cut.txt"}, 1);
    static const char *const endings[] = {"bin", "idx"};
    assert_true(encodings(&c, identity) > 0);
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command, "truncate -s -1 %s/*.%s",
                 scratch_path(&data_scratch, "cache/prattle/data"), endings[i]);
        assert_int_equal(system(command), 0);
        assert_true(encodings(&c, identity) > 0);
        assert_int_equal(encodings(&c, identity), 0);
    }
    data_config_release(&c);
}

static void interrupted_encoding_leaves_nothing(void **state)
{
    (void)state;
    data_text("stopped.txt", "never to be finished");
    struct data_config c = data_config_of((const char *const[]){"stopped.txt"}, 1);
    struct dataset d, v;
    int before = data_count_cached("");
    interrupt_raise();
    assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, NULL), ERR_INTERRUPTED);
    interrupt_clear();
    assert_int_equal(data_count_cached(""), before);
    assert_null(d.files);
    data_config_release(&c);
}

/* A text that is a word so many times, where no file can be larger than so many bytes: the limit
 * stands for the disk's end. */
static void expect_no_room(const char *name, const char *word, int times, rlim_t limit,
                           const char *sentence)
{
    struct rlimit before, small;
    struct dataset d, v;
    struct buf text = {0};
    for (int i = 0; i < times; i++)
        assert_ok(buf_str(&text, word));
    scratch_write(&data_scratch, name, text.data, text.n);
    buf_release(&text);
    struct data_config c = data_config_of((const char *const[]){name}, 1);
    int files = data_count_cached("");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int rc = dataset_open(&d, &v, &c, data_tokenizer, 0, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(rc, ERR_IO);
    assert_non_null(strstr(err_text(), sentence));
    assert_int_equal(data_count_cached(""), files);
    data_config_release(&c);
}

static void full_disks_leave_nothing(void **state)
{
    (void)state;
    expect_no_room("much.txt", "xyz ", 100000, 1000, "cannot encode the texts: cannot write ");
    /* The index of many short documents is larger than their ids. */
    expect_no_room("short.txt", "x<|endoftext|>", 1000, 10000, ".idx: File too large");
}

/* Ctrl-C when a sum is made, and what is said. */
struct sums {
    bool raise;
    int calls, encodings, notes;
};

static void watch_sums(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct sums *s = user;
    s->encodings += strcmp(what, "encoding texts") == 0;
    if (strcmp(what, "checking the encoded text") != 0)
        return;
    assert_true(done <= total);
    s->calls++;
    if (s->raise)
        interrupt_raise();
}

static void count_note(void *user, const char *text)
{
    struct sums *s = user;
    (void)text;
    s->notes++;
}

static void ctrl_c_at_a_sum_loses_nothing(void **state)
{
    (void)state;
    struct dataset d, v;
    struct sums sums = {.raise = true};
    struct progress p = {.step = watch_sums, .note = count_note, .user = &sums};
    data_text("summed.txt", "what was encoded stays");
    struct data_config c = data_config_of((const char *const[]){"summed.txt"}, 1);
    /* When it is written, and when it is compared. */
    for (int i = 1; i <= 2; i++) {
        int before = data_count_cached(".sha256");
        assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, &p), ERR_INTERRUPTED);
        interrupt_clear();
        assert_true(sums.calls > 0);
        assert_int_equal(data_count_cached(".sha256"), before + (i == 1));
        sums.calls = 0;
        if (i == 1)
            assert_true(sums.encodings > 0);
        else
            assert_int_equal(sums.encodings, 0);
        sums.encodings = 0;
    }
    sums.raise = false;
    assert_ok(dataset_open(&d, &v, &c, data_tokenizer, 0, &p));
    assert_int_equal(sums.encodings, 0);
    assert_int_equal(sums.notes, 0);
    dataset_close(&d);
    dataset_close(&v);
    data_config_release(&c);
}

/* Wherever memory ends, a set is there with its sum or not at all, and is not called damaged. */
static void no_memory_leaves_whole_sets_only(void **state)
{
    (void)state;
    struct sums sums = {0};
    struct progress p = {.note = count_note, .user = &sums};
    data_text("memory.txt", "abc|the end");
    struct data_config c = data_config_of((const char *const[]){"memory.txt"}, 1);
    for (int cached = 0; cached < 2; cached++) {
        int rc = ERR_NOMEM;
        uint64_t k = 1;
        for (; rc != 0; k++) {
            struct dataset d, v;
            assert_true(k < 500);
            mem_fail_at(k);
            rc = dataset_open(&d, &v, &c, data_tokenizer, 0, &p);
            mem_fail_at(0);
            assert_true(rc == 0 || rc == ERR_NOMEM);
            assert_int_equal(data_count_cached(".bin"), data_count_cached(".sha256"));
            assert_int_equal(data_count_cached(".idx"), data_count_cached(".sha256"));
            dataset_close(&d);
            dataset_close(&v);
            if (!cached && rc != 0) /* no cache of it yet */
                c.document_separator[0] = (char)('!' + k % 90);
        }
        assert_true(k > 10);
    }
    assert_int_equal(sums.notes, 2); /* that the separator cuts none, of each that opened */
    data_config_release(&c);
}

static void make_old(const char *name, int hours)
{
    const struct timespec then = {.tv_sec = time(NULL) - 3600 * hours};
    const struct timespec when[2] = {then, then};
    char path[PATH_MAX];
    snprintf(path, sizeof path, "cache/prattle/data/%s", name);
    data_text(path, "x");
    assert_int_equal(utimensat(AT_FDCWD, scratch_path(&data_scratch, path), when, 0), 0);
}

/* Of one who was killed while it encoded; not of one that encodes, nor of somebody else. */
static void old_leavings_are_swept(void **state)
{
    (void)state;
#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
    data_text("swept.txt", "abc");
    data_expect("swept.txt", "|abc$");
    make_old(KEY ".bin.a1B2c3.tmp", 25);
    make_old(KEY ".idx.a1B2c3.tmp", 25);
    make_old(KEY ".sha256.a1B2c3.tmp", 1000);
    int before = data_count_cached("");
    make_old(KEY ".bin.d4E5f6.tmp", 23);
    make_old(KEY ".bin.tmp", 1000);
    make_old("mine.bin.a1B2c3.tmp", 1000);
    /* Of a set without its sum nobody will make use; one that has it may be in use. */
    make_old(KEY ".bin", 1000);
    make_old(OTHER ".bin", 1000);
    make_old(OTHER ".sha256", 1000);
    data_expect("swept.txt", "|abc$");
    assert_int_equal(data_count_cached(""), before - 3 + 5);
    assert_int_equal(data_count_cached("a1B2c3"), 1);
    assert_int_equal(data_count_cached(OTHER), 2);
    assert_int_equal(unlink(scratch_path(&data_scratch, "cache/prattle/data/" OTHER ".bin")), 0);
    assert_int_equal(unlink(scratch_path(&data_scratch, "cache/prattle/data/" OTHER ".sha256")), 0);
}

/* Somebody who encodes the same text, until who waits for that has said so a few times. */
struct encoder {
    char prefix[PATH_MAX];
    int lock, waits;
};

static void lose_set(const struct encoder *e)
{
    static const char *const endings[] = {".bin", ".idx", ".sha256"};
    char path[PATH_MAX + 16];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", e->prefix, endings[i]);
        assert_int_equal(unlink(path), 0);
    }
}

static void hold_lock(struct encoder *e)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s.lock", e->prefix);
    e->lock = open(path, O_RDWR | O_CREAT | O_EXCL, 0666);
    assert_true(e->lock >= 0);
    assert_int_equal(flock(e->lock, LOCK_EX | LOCK_NB), 0);
}

static void wait_for_encoder(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct encoder *e = user;
    char path[PATH_MAX + 16];
    (void)done;
    (void)total;
    if (strncmp(what, "waiting for another process", 27) == 0 && ++e->waits == 3) {
        snprintf(path, sizeof path, "%s.lock", e->prefix);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(close(e->lock), 0);
        e->lock = -1;
    }
    if (strcmp(what, "encoding texts") == 0)
        assert_int_equal(e->lock, -1);
}

/* Two at once would take each other's files away. */
static void one_process_encodes_at_a_time(void **state)
{
    (void)state;
    struct encoder e = {.lock = -1};
    struct progress p = {.step = wait_for_encoder, .user = &e};
    struct token_file f;
    data_text("turns.txt", "one after another");
    char *text = mem_strdup(scratch_path(&data_scratch, "turns.txt"));
    const struct data_source source = {.path = text};
    assert_ok(open_cache(&f, &source, 1, "", false, data_tokenizer, NULL));
    snprintf(e.prefix, sizeof e.prefix, "%.*s", (int)strlen(f.file.path) - 4, f.file.path);
    token_file_close(&f);
    assert_int_equal(data_count_cached(".lock"), 0);
    /* A set that is there is read at once. */
    hold_lock(&e);
    assert_ok(open_cache(&f, &source, 1, "", false, data_tokenizer, &p));
    token_file_close(&f);
    assert_int_equal(e.waits, 0);
    lose_set(&e);
    assert_ok(open_cache(&f, &source, 1, "", false, data_tokenizer, &p));
    token_file_close(&f);
    assert_int_equal(e.waits, 3);
    assert_int_equal(data_count_cached(".lock"), 0);
    /* What a kill leaves is nobody's. */
    hold_lock(&e);
    assert_int_equal(close(e.lock), 0);
    e.lock = -1;
    lose_set(&e);
    assert_ok(open_cache(&f, &source, 1, "", false, data_tokenizer, &p));
    token_file_close(&f);
    assert_int_equal(e.waits, 3);
    assert_int_equal(data_count_cached(".lock"), 0);
    mem_free(text);
}

/* Another text takes the file's name once its bytes are hashed. */
static void replace_text(void *user, const char *what, uint64_t done, uint64_t total)
{
    int *left = user;
    if (strcmp(what, "looking at texts") != 0 || done < total || --*left != 0)
        return;
    data_text("new.txt", "and what the new one says");
    assert_int_equal(
        rename(scratch_path(&data_scratch, "new.txt"), scratch_path(&data_scratch, "edited.txt")),
        0);
}

static void texts_that_change_are_not_kept(void **state)
{
    (void)state;
    struct dataset d, v;
    int left = 1;
    struct progress p = {.step = replace_text, .user = &left};
    data_text("edited.txt", "what the old one says");
    struct data_config c = data_config_of((const char *const[]){"edited.txt"}, 1);
    int before = data_count_cached("");
    assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, &p), ERR_FORMAT);
    assert_string_equal(scratch_sentence(&data_scratch, err_text()),
                        "cannot encode the texts: DIR/edited.txt has changed while it was read: "
                        "try again when nothing writes to it");
    assert_int_equal(data_count_cached(""), before);
    data_text("edited.txt", "what the old one says");
    data_expect("edited.txt", "|what the old one says$");
    data_config_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_encoded_once),
        cmocka_unit_test(special_tokens_are_read_where_asked_for),
        cmocka_unit_test(an_ordinary_end_is_text),
        cmocka_unit_test(special_tokens_are_not_cut),
        cmocka_unit_test(sets_have_their_sum),
        cmocka_unit_test(pieces_of_a_document_have_no_prefix),
        cmocka_unit_test(damaged_caches_are_made_anew),
        cmocka_unit_test(interrupted_encoding_leaves_nothing),
        cmocka_unit_test(full_disks_leave_nothing),
        cmocka_unit_test(ctrl_c_at_a_sum_loses_nothing),
        cmocka_unit_test(no_memory_leaves_whole_sets_only),
        cmocka_unit_test(old_leavings_are_swept),
        cmocka_unit_test(one_process_encodes_at_a_time),
        cmocka_unit_test(texts_that_change_are_not_kept),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
