/* Data sets: texts, JSON lines and the formats of others give one stream of ids with
 * documents; what is held out; what is refused with which sentence. */
#include "model/base/rng.h"
#include "tests/lib/data_set.h"
#include "train/data/token_file.h"
#include "train/data/token_writer.h"
#include "weights/hf/vocab.h"

#include <fcntl.h>

static void reads_documents_of_texts(void **state)
{
    (void)state;
    data_text("one.txt", "abc\n");
    data_expect("one.txt", "|abc\n$");
    data_text("several.txt",
              "the end\n<|endoftext|>\n\n a b\r\n\r\n<|endoftext|>xy<|endoftext|>\n");
    data_expect("several.txt", "|the end$| a b$|xy$");
    data_text("nothing-between.txt", "<|endoftext|>\n<|endoftext|>\nx<|endoftext|><|endoftext|>");
    data_expect("nothing-between.txt", "|x$");
    data_text("bom.txt", "\xef\xbb\xbfgr\xc3\xbc\xc3\x9f");
    data_expect("bom.txt", "|gr\xc3\xbc\xc3\x9f$");
    data_text("lines.jsonl", "{\"text\": \"the end\", \"url\": 1}\n\n{\"text\": \"\"}\r\n"
                             "{\"text\": \"a\\nb\"}");
    data_expect("lines.jsonl", "|the end$|a\nb$");
}

/* JSON can say NUL, which is a byte as any other. */
static void lines_may_hold_nul(void **state)
{
    (void)state;
    static const token_id expected[] = {1 + 'a', 0, 1 + 'b', 1 + '\0', 1 + 'c', 0};
    token_id ids[6];
    data_text("nul.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\\u0000c\"}");
    struct data_config c = data_config_of((const char *const[]){"nul.jsonl"}, 1);
    struct dataset d = data_open(&c, false);
    assert_int_equal(d.n_tokens, 6);
    assert_int_equal(d.n_documents, 2);
    assert_ok(dataset_read(&d, ids, 0, 6));
    assert_memory_equal(ids, expected, sizeof ids);
    dataset_close(&d);
    data_config_release(&c);
}

static void separators_are_a_setting(void **state)
{
    (void)state;
    data_text("stars.txt", "a\n***\nb<|endoftext|>c, a file");
    struct data_config c = data_config_of((const char *const[]){"stars.txt"}, 1);
    static const char *const cases[][2] = {{"***", "|a$|b<|endoftext|>c, a file$"},
                                           {"", "|a\n***\nb<|endoftext|>c, a file$"},
                                           {"file", "|a\n***\nb<|endoftext|>c, a file$"},
                                           {"<|endoftext|>", "|a\n***\nb$|c, a file$"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mem_free(c.document_separator);
        c.document_separator = mem_strdup(cases[i][0]);
        struct dataset d = data_open(&c, false);
        assert_string_equal(data_shown(&d), cases[i][1]);
        dataset_close(&d);
    }
    data_config_release(&c);
}

static void folders_are_read_by_name(void **state)
{
    (void)state;
    uint16_t ids[] = {0, 98, 99};
    assert_ok(file_make_folder(scratch_path(&data_scratch, "all/below")));
    data_text("all/b.txt", "second");
    data_text("all/a.txt", "first");
    data_text("all/.hidden", "no");
    data_text("all/empty", "");
    data_text("all/below/wiki_00", "third");
    scratch_write(&data_scratch, "all/c.bin", ids, sizeof ids);
    assert_int_equal(symlink("..", scratch_path(&data_scratch, "all/below/circle")), 0);
    data_expect("all", "|first$|second$|third$|$|ab");
    struct data_config c = data_config_of((const char *const[]){"all/c.bin", "all/b.txt"}, 2);
    struct dataset d = data_open(&c, false);
    assert_string_equal(data_shown(&d), "|$|ab|second$");
    struct data_summary s;
    dataset_summary(&d, &s);
    assert_string_equal(s.format, "several");
    assert_int_equal(s.files, 2);
    assert_true(s.whole);
    dataset_close(&d);
    data_config_release(&c);
}

static void keep_note(void *user, const char *text)
{
    assert_ok(buf_printf(user, "%s\n", scratch_sentence(&data_scratch, text)));
}

/* Pictures and models beside the texts of a folder are left out, and named once. */
static void folders_may_have_pictures(void **state)
{
    (void)state;
    static const char picture[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    struct buf notes = {0};
    const struct progress p = {.note = keep_note, .user = &notes};
    assert_ok(file_make_folder(scratch_path(&data_scratch, "album/none")));
    data_text("album/b.txt", "text");
    scratch_write(&data_scratch, "album/a.png", picture, sizeof picture - 1);
    struct data_config c = data_config_of((const char *const[]){"album"}, 1);
    struct dataset d, v;
    for (int i = 0; i < 2; i++) {
        notes.n = 0;
        assert_ok(dataset_open(&d, &v, &c, data_tokenizer, 0, &p));
        assert_string_equal(data_shown(&d), "|text$");
        assert_string_equal(
            buf_text(&notes),
            i == 0
                ? "left out: DIR/album/a.png is not text: byte 8 is NUL; token files end in .bin\n"
                : "left out: DIR/album/a.png is not text: byte 8 is NUL; token files end in .bin; "
                  "also DIR/album/none/c.png\n");
        dataset_close(&d);
        dataset_close(&v);
        scratch_write(&data_scratch, "album/none/c.png", picture, sizeof picture - 1);
    }
    data_config_release(&c);
    /* A folder of nothing else has nothing to read, and one that is named is an error. */
    c = data_config_of((const char *const[]){"album/none"}, 1);
    assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, &p), ERR_MISSING);
    assert_string_equal(scratch_sentence(&data_scratch, err_text()),
                        "the folder DIR/album/none has no text: DIR/album/none/c.png is not text: "
                        "byte 8 is NUL; token files end in .bin");
    data_config_release(&c);
    /* Not for what another word has. */
    assert_ok(file_make_folder(scratch_path(&data_scratch, "album-void")));
    static const char *const words[][2] = {{"album", "album-void"}, {"album", "album/none"}};
    static const char *const whys[] = {"the folder DIR/album-void has no files to read",
                                       "the folder DIR/album/none has no text: all in it was left "
                                       "out"};
    for (int i = 0; i < 2; i++) {
        c = data_config_of(words[i], 2);
        assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, &p), ERR_MISSING);
        assert_string_equal(scratch_sentence(&data_scratch, err_text()), whys[i]);
        data_config_release(&c);
    }
    c = data_config_of((const char *const[]){"album/b.txt", "album/a.png"}, 2);
    assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, &p), ERR_FORMAT);
    data_config_release(&c);
    /* What is missing where it should be text is not overlooked. */
    data_text("album/lfs.txt", "version https://git-lfs.github.com/spec/v1\n");
    c = data_config_of((const char *const[]){"album"}, 1);
    assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, &p), ERR_FORMAT);
    data_config_release(&c);
    buf_release(&notes);
}

/* By name, whatever the order of the folder; quoted, so that no shell has expanded them. */
static void patterns_match_files(void **state)
{
    (void)state;
    assert_ok(file_make_folder(scratch_path(&data_scratch, "glob/sub.txt")));
    data_text("glob/c.txt", "three");
    data_text("glob/B.txt", "one");
    data_text("glob/a.txt", "two");
    data_text("glob/empty.txt", "");
    scratch_write(&data_scratch, "glob/picture.txt", "a\0b", 3);
    data_text("glob/.hidden.txt", "no");
    data_text("glob/other", "no");
    data_text("glob/sub.txt/x", "four");
    data_text("glob/[a].txt", "five");
    assert_int_equal(symlink("nowhere", scratch_path(&data_scratch, "glob/link.txt")), 0);
    data_expect("glob/*.txt", "|one$|five$|two$|three$|four$");
    data_expect("glob/[ac].txt", "|two$|three$");
    data_expect("glob/[a].txt", "|five$"); /* it is there */
    data_expect("gl?b/B.*", "|one$");
    struct dataset d, v;
    struct data_config c = data_config_of((const char *const[]){"glob/*.none"}, 1);
    assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, NULL), ERR_MISSING);
    assert_string_equal(scratch_sentence(&data_scratch, err_text()),
                        "no file matches DIR/glob/*.none");
    data_config_release(&c);
    c = data_config_of((const char *const[]){"glob/p*"}, 1);
    assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, NULL), ERR_MISSING);
    assert_string_equal(scratch_sentence(&data_scratch, err_text()),
                        "the pattern DIR/glob/p* has no text: DIR/glob/picture.txt is not text: "
                        "byte 1 is NUL; token files end in .bin");
    data_config_release(&c);
}

/* Any way to cut a text gives the ids of the whole. */
static void long_texts_are_encoded_in_pieces(void **state)
{
    (void)state;
    struct buf text = {0};
    for (uint64_t i = 0; text.n < 5 << 19; i++) {
        static const char *const words[] = {
            "the",     " one", "  \n", "\r\n\r\n", "\tabc",
            "xy ",     "\n",   "'s",   "\xc3\xa9", "\xf0\x9f\xa6\x8a",
            "<|endof", "end",  " ",    "."};
        uint32_t w[4];
        rng_words(w, 1, 2, i);
        for (int k = 0; k < 4; k++)
            assert_ok(buf_str(&text, words[w[k] % (sizeof words / sizeof *words)]));
    }
    /* In the middle a document without a place to cut, longer than a piece. */
    for (int i = 0; i < 3 << 18; i++)
        assert_ok(buf_str(&text, "ab"));
    scratch_write(&data_scratch, "long.txt", text.data, text.n);
    struct ids whole = {0};
    assert_ok(tokenizer_encode(data_tokenizer, &whole, text.data, text.n, ENCODE_TEXT));
    assert_ok(ids_add(&whole, &(token_id){0}, 1));
    struct data_config c = data_config_of((const char *const[]){"long.txt"}, 1);
    struct dataset d = data_open(&c, false);
    assert_int_equal(d.n_tokens, whole.n);
    assert_int_equal(d.n_documents, 1);
    token_id *ids = mem_array(whole.n, sizeof *ids);
    assert_ok(dataset_read(&d, ids, 0, whole.n));
    assert_memory_equal(ids, whole.data, whole.n * sizeof *ids);
    mem_free(ids);
    ids_release(&whole);
    buf_release(&text);
    dataset_close(&d);
    data_config_release(&c);
}

/* n documents of `each` ids, counting up, in a Megatron set. */
static void write_megatron(const char *name, int n, int each, int n_ids)
{
    struct token_writer w;
    assert_ok(token_writer_open(&w, scratch_path(&data_scratch, name), n_ids));
    for (int i = 0; i < n * each; i++) {
        token_id id = i % n_ids;
        assert_ok(token_writer_add(&w, &id, 1));
        if ((i + 1) % each == 0)
            assert_ok(token_writer_end(&w));
    }
    assert_ok(token_writer_commit(&w));
}

static void megatron_sets_are_written_and_read(void **state)
{
    (void)state;
    static const int sizes[] = {256, 65536, 65537, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        write_megatron("meg", 300, 7, sizes[i]);
        static const char *const names[] = {"meg", "meg.bin", "meg.idx"};
        for (int k = 0; k < 3; k++) {
            struct data_config c = data_config_of(&names[k], 1);
            struct dataset d = data_open(&c, false);
            token_id ids[2100];
            assert_int_equal(d.n_documents, 300);
            assert_int_equal(d.n_tokens, 2100);
            assert_int_equal(d.documents[299], 2093);
            assert_ok(dataset_read(&d, ids, 0, 2100));
            for (int j = 0; j < 2100; j++)
                assert_int_equal(ids[j], j % sizes[i]);
            dataset_close(&d);
            data_config_release(&c);
        }
    }
}

/* Every split deals each document to exactly one part; both read what the whole has. */
static void holds_documents_out(void **state)
{
    (void)state;
    write_megatron("split", 40, 5, 1000);
    static const struct {
        double fraction;
        uint64_t held;
    } cases[] = {{0, 0},     {0.025, 1}, {0.05, 2}, {0.1, 4},
                 {0.33, 13}, {0.35, 14}, {0.5, 20}, {0.7, 28}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct data_config c = data_config_of((const char *const[]){"split"}, 1);
        c.validation_fraction = cases[i].fraction;
        struct dataset d, v;
        bool seen[200] = {0};
        token_id ids[200];
        assert_ok(dataset_open(&d, &v, &c, NULL, 1000, NULL));
        assert_int_equal(v.n_documents, cases[i].held);
        assert_int_equal(v.n_tokens, 5 * cases[i].held);
        assert_int_equal(d.n_documents, 40 - cases[i].held);
        assert_ok(dataset_read(&d, ids, 0, d.n_tokens));
        assert_ok(dataset_read(&v, ids + d.n_tokens, 0, v.n_tokens));
        for (int k = 0; k < 200; k++) {
            assert_false(seen[ids[k]]);
            seen[ids[k]] = true;
            assert_int_equal(ids[k] % 5, k % 5); /* documents stay whole */
        }
        /* Across the seams, one by one as all at once. */
        for (uint64_t k = 0; k < d.n_tokens; k++) {
            token_id id;
            assert_ok(dataset_read(&d, &id, k, 1));
            assert_int_equal(id, ids[k]);
        }
        assert_int_equal(dataset_read(&d, ids, d.n_tokens, 1), ERR_RANGE);
        assert_int_equal(dataset_read(&d, ids, UINT64_MAX, 2), ERR_RANGE);
        dataset_close(&d);
        dataset_close(&v);
        data_config_release(&c);
    }
}

/* What goes on in another file at the place where it ended in one is a part of its own. */
static void documents_of_two_files_are_not_joined(void **state)
{
    (void)state;
    write_megatron("one", 1, 10, 1000);
    write_megatron("two", 2, 10, 1000);
    struct data_config c = data_config_of((const char *const[]){"one", "two"}, 2);
    struct dataset d, v;
    token_id ids[20];
    c.validation_fraction = 0.5; /* the first document of the second file */
    assert_ok(dataset_open(&d, &v, &c, NULL, 1000, NULL));
    assert_int_equal(d.n_tokens, 20);
    assert_int_equal(v.n_tokens, 10);
    assert_ok(dataset_read(&d, ids, 0, 20));
    for (int i = 0; i < 20; i++)
        assert_int_equal(ids[i], i);
    assert_int_equal(dataset_read(&d, ids, 1, 20), ERR_RANGE);
    dataset_close(&d);
    dataset_close(&v);
    data_config_release(&c);
}

static void holds_the_end_out_of_few_documents(void **state)
{
    (void)state;
    write_megatron("few", 3, 100, 1000);
    struct data_config c = data_config_of((const char *const[]){"few"}, 1);
    struct dataset d, v;
    token_id id;
    c.validation_fraction = 0.1;
    assert_ok(dataset_open(&d, &v, &c, NULL, 1000, NULL));
    assert_int_equal(d.n_tokens, 270);
    assert_int_equal(d.n_documents, 3);
    assert_int_equal(v.n_tokens, 30);
    assert_int_equal(v.n_documents, 1);
    assert_ok(dataset_read(&v, &id, 0, 1));
    assert_int_equal(id, 270);
    dataset_close(&d);
    dataset_close(&v);
    c.validation_fraction = 0.004; /* one token: nothing follows it */
    assert_ok(dataset_open(&d, &v, &c, NULL, 1000, NULL));
    assert_int_equal(d.n_tokens, 300);
    assert_int_equal(v.n_tokens, 0);
    dataset_close(&d);
    dataset_close(&v);
    data_config_release(&c);
}

static void validation_may_be_a_file_of_its_own(void **state)
{
    (void)state;
    data_text("train.txt", "the one");
    data_text("valid.txt", "abc");
    struct data_config c = data_config_of((const char *const[]){"train.txt"}, 1);
    mem_free(c.validation);
    c.validation = mem_strdup(scratch_path(&data_scratch, "valid.txt"));
    c.validation_fraction = 0.5;
    struct dataset d = data_open(&c, false), v = data_open(&c, true);
    assert_string_equal(data_shown(&d), "|the one$");
    assert_string_equal(data_shown(&v), "|abc$");
    dataset_close(&d);
    dataset_close(&v);
    mem_free(c.validation);
    c.validation = mem_strdup(scratch_path(&data_scratch, "nowhere.txt"));
    assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, NULL), ERR_MISSING);
    assert_string_equal(scratch_sentence(&data_scratch, err_text()),
                        "validation data: cannot open DIR/nowhere.txt: No such file or directory");
    data_config_release(&c);
}

static void llmc_has_a_header(void **state)
{
    (void)state;
    struct {
        int32_t head[256];
        uint16_t ids[6];
    } gpt2 = {{20240520, 1, 6}, {5, 6, 0, 7, 8, 9}};
    struct {
        int32_t head[256];
        uint32_t ids[2];
    } llama = {{20240801, 7, 2}, {128000, 1}};
    token_id ids[6];
    scratch_write(&data_scratch, "gpt2.bin", &gpt2, sizeof gpt2);
    scratch_write(&data_scratch, "llama.bin", &llama, sizeof llama);
    struct data_config c = data_config_of((const char *const[]){"gpt2.bin", "llama.bin"}, 2);
    struct dataset d = data_open(&c, false);
    assert_int_equal(d.n_tokens, 8);
    assert_int_equal(d.n_documents, 3); /* the second begins with 0 */
    assert_int_equal(d.documents[1], 2);
    assert_ok(dataset_read(&d, ids, 2, 6));
    assert_memory_equal(ids, ((token_id[]){0, 7, 8, 9, 128000, 1}), sizeof ids);
    dataset_close(&d);
    data_config_release(&c);
}

/* llm.c's scripts put the end of text before each document, nanoGPT's behind it. Without a
 * tokenizer GPT-2's is known by being the greatest id. */
static void documents_of_llmc_begin_with_the_end_of_text(void **state)
{
    (void)state;
    enum { END = 50256 };
    static const struct {
        bool llmc;
        uint16_t ids[6];
        uint64_t documents, second; /* where it begins */
    } rows[] = {{true, {END, 5, 6, END, 7, 8}, 2, 3},     {true, {5, 6, END, 7, 8, 9}, 2, 2},
                {true, {END, END, 5, 6, END, 7}, 3, 1},   {false, {5, 6, END, 7, 8, END}, 2, 3},
                {true, {END, 5, END, 6, 7, END}, 3, 2},   {true, {4, 5, 6, 7, 8, 9}, 1, 6},
                {true, {END, 5, END, 6, 7, 50257}, 1, 6}, {true, {99, 5, 6, 99, 7, 8}, 2, 3},
                {false, {5, 6, 99, 7, 8, 99}, 1, 6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct {
            int32_t head[256];
            uint16_t ids[6];
        } file = {.head = {20240520, 1, 6}};
        struct data_config c = data_config_of((const char *const[]){"ends.bin"}, 1);
        struct dataset d, none;
        struct data_summary s;
        const bool llmc = rows[i].llmc;
        memcpy(file.ids, rows[i].ids, sizeof file.ids);
        scratch_write(&data_scratch, "ends.bin", llmc ? (void *)&file : file.ids,
                      llmc ? sizeof file : sizeof file.ids);
        assert_ok(dataset_open(&d, &none, &c, NULL, 0, NULL));
        dataset_summary(&d, &s);
        assert_int_equal(d.n_documents, rows[i].documents);
        assert_int_equal(d.documents[1], rows[i].second);
        assert_int_equal(s.end, rows[i].documents > 1 ? (token_id)s.most : TOKEN_NONE);
        assert_int_equal(s.bounds, rows[i].documents > 1);
        assert_int_equal(dataset_begins_with_end(&d, 0), llmc);
        dataset_close(&d);
        dataset_close(&none);
        data_config_release(&c);
    }
}

static void generated_ids_need_no_disk(void **state)
{
    (void)state;
    struct data_config c;
    struct dataset d, v;
    token_id ids[1000], again[10];
    int rises = 0;
    assert_ok(data_config_init(&c));
    mem_free(c.data);
    c.data = mem_strdup("generated");
    c.generated_tokens = 1 << 20;
    assert_ok(dataset_open(&d, &v, &c, NULL, 50257, NULL));
    assert_int_equal(d.n_tokens + v.n_tokens, 1 << 20);
    assert_int_equal(v.n_documents, 51); /* of 1024 */
    assert_ok(dataset_read(&d, ids, 0, 1000));
    for (int i = 0; i < 1000; i++) {
        assert_true(ids[i] >= 0 && ids[i] < 50257);
        rises += i % 8 != 0 && ids[i] == (ids[i - 1] + 1) % 50257;
    }
    assert_int_equal(rises, 875);
    assert_ok(dataset_read(&d, again, 333, 10));
    assert_memory_equal(again, ids + 333, sizeof again);
    c.seed = 1;
    unsigned char before[32];
    memcpy(before, d.identity, 32);
    dataset_close(&d);
    dataset_close(&v);
    assert_ok(dataset_open(&d, &v, &c, NULL, 50257, NULL));
    assert_memory_not_equal(before, d.identity, 32);
    dataset_close(&d);
    dataset_close(&v);
    data_config_release(&c);
}

static void what_is_generated_to_measure_on_is_other(void **state)
{
    (void)state;
    struct data_config c;
    struct dataset d, v;
    token_id ids[800], others[800];
    int same = 0;
    assert_ok(data_config_init(&c));
    mem_free(c.data);
    mem_free(c.validation);
    c.data = mem_strdup("generated");
    c.validation = mem_strdup("generated");
    c.generated_tokens = 800;
    assert_ok(dataset_open(&d, &v, &c, NULL, 50257, NULL));
    assert_int_equal(d.n_tokens, 800);
    assert_int_equal(v.n_tokens, 800);
    assert_ok(dataset_read(&d, ids, 0, 800));
    assert_ok(dataset_read(&v, others, 0, 800));
    for (int i = 0; i < 800; i++)
        same += ids[i] == others[i];
    assert_in_range(same, 0, 8);
    dataset_close(&d);
    dataset_close(&v);
    data_config_release(&c);
}

/* Of a file beyond DATA_WHOLE_BYTES a part is looked at; what it hides comes up later. */
static void large_files_are_looked_into(void **state)
{
    (void)state;
    static const uint16_t bad = 60000, last = 7;
    uint64_t n = DATA_WHOLE_BYTES / 2 + 100000, hidden = 100000;
    int fd = open(scratch_path(&data_scratch, "large.bin"), O_WRONLY | O_CREAT, 0600);
    assert_int_equal(pwrite(fd, &bad, 2, (off_t)(2 * hidden)), 2);
    assert_int_equal(pwrite(fd, &last, 2, (off_t)(2 * n - 2)), 2);
    close(fd);
    struct data_config c = data_config_of((const char *const[]){"large.bin"}, 1);
    struct dataset d, v;
    struct data_summary s;
    token_id ids[2];
    assert_ok(dataset_open(&d, &v, &c, data_tokenizer, TINY_V, NULL));
    dataset_summary(&d, &s);
    assert_false(s.whole);
    assert_int_equal(s.most, last);
    assert_int_equal(d.n_tokens, n);
    assert_ok(dataset_read(&d, ids, n - 2, 2));
    assert_int_equal(ids[1], last);
    assert_int_equal(dataset_read(&d, ids, hidden, 1), ERR_RANGE);
    dataset_close(&d);
    dataset_close(&v);
    c.whole = true; /* by choice */
    assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, TINY_V, NULL), ERR_RANGE);
    unlink(scratch_path(&data_scratch, "large.bin"));
    data_config_release(&c);
}

static void digest_with(unsigned char digest[32], const char *sum, off_t bytes)
{
    struct token_file f;
    data_text("summed.bin", "");
    assert_int_equal(truncate(scratch_path(&data_scratch, "summed.bin"), bytes), 0);
    assert_ok(token_file_open(&f, TOKENS_NANOGPT, scratch_path(&data_scratch, "summed.bin"),
                              TOKEN_NONE, NULL));
    snprintf(f.sum, sizeof f.sum, "%s", sum);
    assert_ok(token_file_check(&f, 0, TOKEN_NONE, false, NULL));
    memcpy(digest, f.digest, 32);
    token_file_close(&f);
    unlink(scratch_path(&data_scratch, "summed.bin"));
}

/* Where only a part is read, and a sum of all is known, that tells data apart. */
static void a_sum_tells_large_files_apart(void **state)
{
    (void)state;
    unsigned char a[32], b[32];
    digest_with(a, "one", (off_t)DATA_WHOLE_BYTES + 2);
    digest_with(b, "two", (off_t)DATA_WHOLE_BYTES + 2);
    assert_memory_not_equal(a, b, 32);
    digest_with(a, "one", 1000);
    digest_with(b, "two", 1000);
    assert_memory_equal(a, b, 32);
}

/* The same documents are the same data, however they are stored; others are not. */
static void identity_is_of_what_is_read(void **state)
{
    (void)state;
    unsigned char a[32], b[32];
    write_megatron("narrow", 10, 10, 100);
    write_megatron("other", 10, 10, 99);
    write_megatron("bounds", 5, 20, 100);
    struct data_config c = data_config_of((const char *const[]){"narrow"}, 1);
    struct dataset d = data_open(&c, false);
    memcpy(a, d.identity, 32);
    dataset_close(&d);
    data_config_release(&c);
    for (int i = 0; i < 2; i++) {
        c = data_config_of((const char *const[]){i == 0 ? "other" : "bounds"}, 1);
        d = data_open(&c, false);
        memcpy(b, d.identity, 32);
        assert_memory_not_equal(a, b, 32);
        dataset_close(&d);
        data_config_release(&c);
    }
}

/* What checkpoints of older versions say of their data. */
static void identities_stay(void **state)
{
    (void)state;
    char hex[65];
    data_text("kept.txt", "the one<|endoftext|>and the other");
    struct data_config c = data_config_of((const char *const[]){"kept.txt"}, 1);
    struct dataset d = data_open(&c, false);
    text_hex(hex, d.identity, 32);
    assert_string_equal(hex, "546c1af3a3631dbb4ba98dd9dd48621d36ac65f16fae44cdda625f5f236a9fad");
    dataset_close(&d);
    data_config_release(&c);
}

static const unsigned char INDEX[] = {
    'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, /* version */
    8,                                                               /* uint16 */
    2,   0,   0,   0,   0,   0,   0,   0, 3, 0, 0, 0, 0, 0, 0, 0,    /* 2 sequences, 3 bounds */
    3,   0,   0,   0,   2,   0,   0,   0,                            /* sizes */
    0,   0,   0,   0,   0,   0,   0,   0, 6, 0, 0, 0, 0, 0, 0, 0,    /* bytes */
    0,   0,   0,   0,   0,   0,   0,   0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0};

/* One byte of a good index changed, or the file cut: each has its sentence. */
static void refuses_damaged_indexes(void **state)
{
    (void)state;
    static const struct {
        size_t at; /* byte that is changed, or */
        unsigned char to;
        size_t bytes; /* how much is left */
        const char *sentence;
    } cases[] = {
        {0, 'X', 0, "DIR/bad.idx does not begin with MMIDIDX: not a Megatron index"},
        {9, 2, 0, "DIR/bad.idx is of version 2, expected 1"},
        {17, 7, 0, "DIR/bad.idx: type 7 is not an integer type, expected 1 to 5 or 8"},
        {17, 0, 0, "DIR/bad.idx: type 0 is not an integer type, expected 1 to 5 or 8"},
        {17, 200, 0, "DIR/bad.idx: type 200 is not an integer type, expected 1 to 5 or 8"},
        {17, 5, 0,
         "DIR/bad.idx: sequence 1 is said to begin at byte 6, expected 24 behind those before it"},
        {18, 3, 0,
         "DIR/bad.idx has 82 bytes, which does not fit its 3 sequences and 3 document bounds: "
         "truncated or damaged"},
        {25, 0x80, 0,
         "DIR/bad.idx has 82 bytes, which does not fit its 9223372036854775810 sequences and 3 "
         "document bounds: truncated or damaged"},
        {33, 0x20, 0,
         "DIR/bad.idx has 82 bytes, which does not fit its 2 sequences and 2305843009213693955 "
         "document bounds: truncated or damaged"},
        {37, 0x80, 0, "DIR/bad.idx: sequence 0 has the length -2147483645"},
        {38, 9, 0, "DIR/bad.bin has 10 bytes, expected 24 for the 12 tokens of its .idx"},
        {50, 4, 0,
         "DIR/bad.idx: sequence 1 is said to begin at byte 4, expected 6 behind those before it"},
        {58, 1, 0, "DIR/bad.idx: document bound 0 is sequence 1, expected 0 to 0"},
        {66, 3, 0, "DIR/bad.idx: document bound 1 is sequence 3, expected 0 to 2"},
        {74, 1, 0, "DIR/bad.idx: document bound 2 is sequence 1, expected 2 to 2"},
        {0, 'M', 0, NULL},
        {0, 'M', 81,
         "DIR/bad.idx has 81 bytes, which does not fit its 2 sequences and 3 document bounds: "
         "truncated or damaged"},
        {0, 'M', 33, "DIR/bad.idx has 33 bytes, expected at least 34: not an index"},
    };
    uint16_t ids[5] = {1, 2, 3, 4, 5};
    scratch_write(&data_scratch, "bad.bin", ids, sizeof ids);
    struct data_config c = data_config_of((const char *const[]){"bad"}, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bytes[sizeof INDEX];
        struct dataset d, v;
        memcpy(bytes, INDEX, sizeof bytes);
        bytes[cases[i].at] = cases[i].to;
        scratch_write(&data_scratch, "bad.idx", bytes,
                      cases[i].bytes > 0 ? cases[i].bytes : sizeof bytes);
        int rc = dataset_open(&d, &v, &c, NULL, 100, NULL);
        if (cases[i].sentence == NULL)
            assert_ok(rc);
        else if (rc == 0)
            fail_msg("accepted: %s", cases[i].sentence);
        else
            assert_string_equal(scratch_sentence(&data_scratch, err_text()), cases[i].sentence);
        dataset_close(&d);
        dataset_close(&v);
    }
    data_config_release(&c);
}

static void refuses_what_is_no_data(void **state)
{
    (void)state;
    static const char zeros[1024];
    static const struct {
        const char *name, *bytes;
        size_t n;
        const char *sentence;
    } cases[] = {
        {"empty.txt", "", 0, "DIR/empty.txt is empty"},
        {"empty.bin", "", 0, "DIR/empty.bin is empty"},
        {"empty.zip", "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22, "DIR/empty.zip is empty"},
        {"empty.tar", zeros, sizeof zeros, "DIR/empty.tar is empty"},
        {"zeros.txt", zeros, sizeof zeros,
         "DIR/zeros.txt is not text: byte 0 is NUL; token files end in .bin"},
        {"odd.bin", "abc", 3,
         "DIR/odd.bin has 3 bytes, expected an even number: a .bin file without header and .idx "
         "has 2 bytes per token"},
        {"big-id.bin", "\1\0\377\377", 4,
         "DIR/big-id.bin: token 1 is 65535, expected 0 to 271 with this vocabulary; was it "
         "made with another tokenizer?"},
        {"a.gz", "\x1f\x8b\x08", 3,
         "cannot encode the texts: DIR/a.gz is cut off after 3 bytes: "
         "copy or download it again"},
        {"a.xz",
         "\xfd"
         "7zXZ",
         5,
         "cannot encode the texts: DIR/a.xz is cut off after 5 bytes: copy or "
         "download it again"},
        {"a.bz2", "BZh9", 4,
         "cannot encode the texts: DIR/a.bz2 is cut off after 4 bytes: copy or "
         "download it again"},
        {"weights.bin", "PK\3\4....", 8,
         "DIR/weights.bin is a model (PyTorch weights), not text or tokens"},
        {"lfs.txt", "version https://git-lfs.github.com/spec/v1\n", 43,
         "DIR/lfs.txt is a git-lfs pointer, not the data: `git lfs pull`"},
        {"lfs.tfrecord", "version https://git-lfs.github.com/spec/v1\n", 43,
         "DIR/lfs.tfrecord is a git-lfs pointer, not the data: `git lfs pull`"},
        {"lfs.pkl", "version https://git-lfs.github.com/spec/v1\n", 43,
         "DIR/lfs.pkl is a git-lfs pointer, not the data: `git lfs pull`"},
        {"lfs.bin", "version https://git-lfs.github.com/spec/v1\n", 43,
         "DIR/lfs.bin is a git-lfs pointer, not the data: `git lfs pull`"},
        {"binary.txt", "abc\0def", 7,
         "DIR/binary.txt is not text: byte 3 is NUL; token files end in .bin"},
        {"only-ends.txt", "\n<|endoftext|>\n", 15, "cannot encode the texts: they are empty"},
        {"list.jsonl", "[1]\n", 4,
         "cannot encode the texts: DIR/list.jsonl line 1: expected a whole object; jq -c '.[]' "
         "FILE > "
         "NEW.jsonl makes lines"},
        {"number.jsonl", "{\"text\": \"a\"}\n{\"text\": 1}\n", 26,
         "cannot encode the texts: DIR/number.jsonl line 2: expected an object whose field text is "
         "a string, not a number"},
        {"cut.jsonl", "{\"text\": \"a\"}\n{\"text\":\n", 23,
         "cannot encode the texts: DIR/cut.jsonl line 2: not JSON: unexpected token near end of "
         "file at column 8"},
        {"lone.idx", "MMIDIDX\0\0", 9,
         "DIR/lone.idx is not text: byte 7 is NUL; token files end in .bin"},
        {"short-llmc.bin", "\210\330\064\001\1\0\0\0\4\0\0\0", 12,
         "DIR/short-llmc.bin has 12 bytes, expected 1032 for a header and 4 tokens"},
        {"old-llmc.bin", "\210\330\064\001\2\0\0\0\4\0\0\0", 12,
         "DIR/old-llmc.bin is of llm.c's version 2, expected 1"},
        {"minus-llmc.bin", "\210\330\064\001\1\0\0\0\377\377\377\377", 12,
         "DIR/minus-llmc.bin has 12 bytes, expected 1024 for a header and -1 tokens"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dataset d, v;
        scratch_write(&data_scratch, cases[i].name, cases[i].bytes, cases[i].n);
        struct data_config c = data_config_of(&cases[i].name, 1);
        if (dataset_open(&d, &v, &c, data_tokenizer, TINY_V, NULL) == 0)
            fail_msg("accepted: %s", cases[i].name);
        assert_string_equal(scratch_sentence(&data_scratch, err_text()), cases[i].sentence);
        assert_null(d.files);
        assert_null(v.files);
        data_config_release(&c);
    }
}

static void refuses_missing_things(void **state)
{
    (void)state;
    struct data_config c;
    struct dataset d, v;
    assert_ok(data_config_init(&c));
    assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, NULL), ERR_RANGE);
    assert_string_equal(err_text(), "there is no data: data=PATH names a text, a folder or a token "
                                    "file; data=generated makes random tokens");
    data_config_release(&c);
    c = data_config_of((const char *const[]){"not-there.txt"}, 1);
    assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, NULL), ERR_MISSING);
    assert_string_equal(scratch_sentence(&data_scratch, err_text()),
                        "cannot open DIR/not-there.txt: No such file or directory");
    c.validation_fraction = 1;
    assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, NULL), ERR_RANGE);
    data_config_release(&c);
    assert_ok(file_make_folder(scratch_path(&data_scratch, "void")));
    c = data_config_of((const char *const[]){"void"}, 1);
    assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, NULL), ERR_MISSING);
    assert_string_equal(scratch_sentence(&data_scratch, err_text()),
                        "the folder DIR/void has no files to read");
    data_config_release(&c);
    data_text("a.txt", "abc");
    c = data_config_of((const char *const[]){"a.txt"}, 1);
    assert_int_equal(dataset_open(&d, &v, &c, NULL, 0, NULL), ERR_MISSING);
    assert_string_equal(err_text(), "cannot encode the texts: the model has no tokenizer; put its "
                                    "tokenizer.json, or vocab.json and merges.txt, beside its "
                                    "files (a new model: tokenizer=PATH)");
    data_config_release(&c);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    data_text("alloc.txt", "abc<|endoftext|>the end");
    data_text("alloc.jsonl", "{\"text\": \"one\"}\n");
    write_megatron("alloc", 3, 3, 100);
    struct data_config c =
        data_config_of((const char *const[]){"alloc.txt", "alloc.jsonl", "alloc"}, 3);
    c.validation_fraction = 0.4;
    int rc = ERR_NOMEM;
    uint64_t k = 1;
    for (; rc != 0; k++) {
        struct dataset d, v;
        assert_true(k < 2000);
        c.document_separator[0] = (char)('a' + k % 26); /* no cache of it yet */
        mem_fail_at(k);
        rc = dataset_open(&d, &v, &c, data_tokenizer, 0, NULL);
        mem_fail_at(0);
        if (rc != 0)
            assert_int_equal(rc, ERR_NOMEM);
        dataset_close(&d);
        dataset_close(&v);
    }
    assert_true(k > 20);
    assert_int_equal(data_count_cached(".tmp"), 0);
    data_config_release(&c);
}

/* A folder of tests' data, or NULL, which is said aloud. */
static const char *data_folder(const char *what)
{
    const char *data = getenv("DATA");
    if (data != NULL && *data != '\0')
        return data;
    printf("# left out: %s (needs DATA)\n", what);
    return NULL;
}

static struct tokenizer *open_tokenizer(const char *vocab_path, const char *merges_path)
{
    struct buf vocab = {0}, merges = {0};
    struct tokenizer *t = NULL;
    assert_ok(file_read_all(&vocab, vocab_path, 1 << 24));
    assert_ok(file_read_all(&merges, merges_path, 1 << 24));
    struct vocab_text text = {
        .vocab = vocab.data, .n_vocab = vocab.n, .merges = merges.data, .n_merges = merges.n};
    assert_ok(vocab_parse(&t, &text, NULL, NULL));
    buf_release(&vocab);
    buf_release(&merges);
    return t;
}

/* Megatron's own tokens of 1000 web pages are what we make of the same pages. */
static void agrees_with_megatron(void **state)
{
    (void)state;
    const char *data = data_folder("a Megatron data set against its text");
    if (data == NULL)
        return;
    char paths[2][PATH_MAX];
    struct dataset d[2], v;
    snprintf(paths[0], PATH_MAX, "%s/megatron/gpt2-tiny-vocab.json", data);
    snprintf(paths[1], PATH_MAX, "%s/megatron/gpt2-tiny-merges.txt", data);
    struct tokenizer *t = open_tokenizer(paths[0], paths[1]);
    snprintf(paths[0], PATH_MAX, "%s/megatron/meg-gpt2-openwebtext_text_document", data);
    snprintf(paths[1], PATH_MAX, "%s/megatron/openwebtext-1000.decoded.jsonl", data);
    for (int i = 0; i < 2; i++) {
        struct data_config c;
        assert_ok(data_config_init(&c));
        mem_free(c.data);
        c.data = mem_strdup(paths[i]);
        c.validation_fraction = 0;
        assert_ok(dataset_open(&d[i], &v, &c, t, 5000, NULL));
        dataset_close(&v);
        data_config_release(&c);
        assert_int_equal(d[i].n_documents, 1000);
        assert_int_equal(d[i].n_tokens, 1361845);
    }
    token_id *ids[2];
    for (int i = 0; i < 2; i++) {
        ids[i] = mem_array(1361845, sizeof(token_id));
        assert_ok(dataset_read(&d[i], ids[i], 0, 1361845));
    }
    assert_memory_equal(ids[0], ids[1], 1361845 * sizeof(token_id));
    assert_memory_equal(d[0].documents, d[1].documents, 1001 * sizeof(uint64_t));
    assert_memory_equal(d[0].identity, d[1].identity, 32);
    for (int i = 0; i < 2; i++) {
        mem_free(ids[i]);
        dataset_close(&d[i]);
    }
    tokenizer_free(t);
}

static void reads_nanogpt(void **state)
{
    (void)state;
    const char *data = data_folder("a nanoGPT data set");
    if (data == NULL)
        return;
    struct data_config c;
    struct data_summary s;
    assert_ok(data_config_init(&c));
    mem_free(c.data);
    c.data = mem_sprintf("%s/nanogpt/tinystories_val.bin", data);
    c.validation_fraction = 0;
    struct dataset d, v;
    assert_ok(dataset_open(&d, &v, &c, NULL, 50257, NULL));
    assert_int_equal(d.n_tokens, 622159);
    dataset_summary(&d, &s);
    assert_string_equal(s.format, "nanoGPT");
    assert_int_equal(s.most, 50256);
    dataset_close(&d);
    dataset_close(&v);
    assert_int_equal(dataset_open(&d, &v, &c, NULL, 50000, NULL), ERR_RANGE);
    data_config_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_documents_of_texts),
        cmocka_unit_test(lines_may_hold_nul),
        cmocka_unit_test(separators_are_a_setting),
        cmocka_unit_test(folders_are_read_by_name),
        cmocka_unit_test(folders_may_have_pictures),
        cmocka_unit_test(patterns_match_files),
        cmocka_unit_test(long_texts_are_encoded_in_pieces),
        cmocka_unit_test(megatron_sets_are_written_and_read),
        cmocka_unit_test(holds_documents_out),
        cmocka_unit_test(documents_of_two_files_are_not_joined),
        cmocka_unit_test(holds_the_end_out_of_few_documents),
        cmocka_unit_test(validation_may_be_a_file_of_its_own),
        cmocka_unit_test(llmc_has_a_header),
        cmocka_unit_test(documents_of_llmc_begin_with_the_end_of_text),
        cmocka_unit_test(generated_ids_need_no_disk),
        cmocka_unit_test(what_is_generated_to_measure_on_is_other),
        cmocka_unit_test(large_files_are_looked_into),
        cmocka_unit_test(identity_is_of_what_is_read),
        cmocka_unit_test(a_sum_tells_large_files_apart),
        cmocka_unit_test(identities_stay),
        cmocka_unit_test(refuses_damaged_indexes),
        cmocka_unit_test(refuses_what_is_no_data),
        cmocka_unit_test(refuses_missing_things),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(agrees_with_megatron),
        cmocka_unit_test(reads_nanogpt),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
