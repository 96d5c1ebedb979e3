/* A model whose layers are read from disk at each pass computes the bits of one in memory. */
#include "tests/lib/notes.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "tests/lib/thin.h"

#include "kvcache/engine.h"
#include "model/base/par.h"
#include "train/eval/record.h"
#include "weights/load.h"
#include "weights/model_source.h"
#include "weights/panel_file.h"
#include "weights/panel_folder.h"
#include "weights/save.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#define SHAPE "n_layer=5,n_head=4,n_embd=160,n_positions=96,vocab_size=3100"

enum { N = 75, FIRST = 70 };

static struct scratch scratch;
static struct notes notes;
static const struct panel_cache CACHE = {.limit_bytes = 1 << 30, .waits = true};

static int set_up(void **state)
{
    (void)state;
    scratch_open(&scratch);
    assert_ok(par_open(2, false));
    setenv("XDG_CACHE_HOME", scratch_path(&scratch, "cache"), 1);
    assert_ok(weights_convert("random:gpt2," SHAPE, scratch_path(&scratch, "tied"), 3,
                              &(struct save_config){.convert = false}, NULL));
    assert_ok(weights_convert("random:gpt2,tie_word_embeddings=off," SHAPE,
                              scratch_path(&scratch, "untied"), 4,
                              &(struct save_config){.convert = false}, NULL));
    usleep(100000); /* files that are too new are not kept */
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    par_close();
    scratch_close(&scratch);
    return 0;
}

static int load(struct model **out, const char *name, enum dtype dtype, struct load_memory memory,
                const struct panel_cache *c)
{
    const struct progress p = {.note = notes_take, .user = &notes};
    struct load_config load = {.dtype = dtype, .memory = memory, .seed = 5};
    if (c != NULL)
        load.cache = *c;
    notes = (struct notes){0};
    return model_load(out, strchr(name, ':') != NULL ? name : scratch_path(&scratch, name), &load,
                      &p);
}

static const struct load_memory PLENTY = {.phased = PHASED_OFF};

static int entries(const char *ending)
{
    char *folder = panel_folder_path();
    int n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        const size_t all = strlen(e->d_name), cut = strlen(ending);
        n += e->d_name[0] != '.' && all == 64 + cut && strcmp(e->d_name + all - cut, ending) == 0;
    }
    if (dir != NULL)
        closedir(dir);
    mem_free(folder);
    return n;
}

static const char *only_entry(void)
{
    static char path[PATH_MAX];
    struct panel_list l;
    char *folder = panel_folder_path();
    assert_ok(panel_folder_list(&l, folder));
    assert_int_equal(l.n, 1);
    snprintf(path, sizeof path, "%s/%s", folder, l.entries[0].key);
    panel_list_release(&l);
    mem_free(folder);
    return path;
}

static void clear_cache(void)
{
    struct panel_list l;
    char *folder = panel_folder_path();
    assert_ok(panel_folder_list(&l, folder));
    for (size_t i = 0; i < l.n; i++)
        assert_ok(panel_folder_drop(folder, l.entries[i].key));
    panel_list_release(&l);
    mem_free(folder);
}

/* Logits of a prompt in one feed, of single tokens after it, and of all rows of one more pass,
 * whose head comes later and in two parts: [N + 4][V]. */
static float *compute(struct model *m)
{
    struct engine e;
    struct kv_seq seq, other;
    token_id ids[N];
    const size_t V = (size_t)m->config.n_vocab;
    float *out = mem_array((N + 4) * V, sizeof *out);
    for (int i = 0; i < N; i++)
        ids[i] = (token_id)((i * 977 + 13) % (int)V);
    assert_ok(engine_init(&e, m, 2));
    assert_ok(kv_seq_init(&seq, &e.cache));
    assert_ok(kv_seq_init(&other, &e.cache));
    for (int at = 0; at < N; at += at == 0 ? FIRST : 1) {
        struct engine_feed feed = {.seq = &seq, .ids = ids + at, .n = at == 0 ? FIRST : 1};
        assert_ok(engine_feed(&e, &feed, 1, out + (size_t)at * V, NULL));
    }
    engine_begin(&e);
    assert_ok(engine_add(&e, &other, ids, 4, 0));
    assert_ok(engine_run(&e, NULL));
    assert_ok(engine_head(&e, out + N * V, 0, 3));
    assert_ok(engine_head(&e, out + (N + 3) * V, 3, 1));
    kv_seq_release(&seq, &e.cache);
    kv_seq_release(&other, &e.cache);
    engine_release(&e);
    return out;
}

static void expect_same(struct model *m, const float *want, const unsigned char *fingerprint)
{
    float *got = compute(m);
    assert_memory_equal(got, want, (N + 4) * (size_t)m->config.n_vocab * sizeof *got);
    mem_free(got);
    assert_non_null(model_fingerprint(m));
    assert_memory_equal(model_fingerprint(m), fingerprint, 32);
}

static struct layer_stream_plan plan_of(int n_kept, bool keeps_head)
{
    return (struct layer_stream_plan){
        .streams = true, .n_kept = n_kept, .keeps_head = keeps_head, .pass_bytes = 1000000};
}

/* From the least that serves to all but one layer; the first load makes the entry. */
static void any_memory_gives_the_same_bits(void **state)
{
    (void)state;
    static const char *const names[] = {"tied", "untied"};
    static const enum dtype kinds[] = {DTYPE_F16, DTYPE_F32, DTYPE_Q8};
    for (int i = 0; i < 6; i++) {
        struct model *m, *plain;
        assert_ok(load(&plain, names[i / 3], kinds[i % 3], PLENTY, NULL));
        assert_null(plain->params.stream);
        float *want = compute(plain);
        clear_cache();
        for (int kept = 0; kept < 5; kept++) {
            const struct layer_stream_plan plan = plan_of(kept, (kept + i) % 2);
            if (!thin_runs(i * 5 + kept, 4))
                continue;
            assert_ok(
                load(&m, names[i / 3], kinds[i % 3], (struct load_memory){.plan = &plan}, &CACHE));
            assert_non_null(m->params.stream);
            assert_non_null(
                strstr(notes.all, "of 5 layers stay on disk; 0.00 GB a token from disk"));
            expect_same(m, want, model_fingerprint(plain));
            assert_int_equal(entries(""), 1);
            assert_int_equal(entries(".tmp"), 0);
            model_free(m);
        }
        mem_free(want);
        model_free(plain);
    }
    clear_cache();
}

static void expect_logits(struct model *m, const float *want)
{
    float *got = compute(m);
    assert_memory_equal(got, want, (N + 4) * (size_t)m->config.n_vocab * sizeof *got);
    mem_free(got);
}

/* As training publishes them: other weights in the place of those on disk, and these once more. */
static void weights_are_replaced_and_come_back(void **state)
{
    (void)state;
    static const char *const names[] = {"tied", "untied"},
                             *const others[] = {"random:gpt2," SHAPE,
                                                "random:gpt2,tie_word_embeddings=off," SHAPE};
    for (int i = 0; i < 4; i++) {
        struct model *m, *other;
        struct source s;
        struct layer_stream_file before;
        const struct layer_stream_plan plan = plan_of(i < 2 ? 0 : 3, i % 2 == 0);
        assert_ok(load(&other, others[i % 2], DTYPE_F16, PLENTY, NULL));
        assert_ok(load(&m, names[i % 2], DTYPE_F16, (struct load_memory){.plan = &plan}, &CACHE));
        float *want = compute(m), *want_other = compute(other);
        assert_memory_not_equal(want, want_other, (size_t)m->config.n_vocab * sizeof *want);
        assert_ok(source_open_model(&s, other));
        assert_ok(panel_stream_replace(&m->params, &s, &before));
        expect_logits(m, want_other);
        assert_ok(panel_stream_restore(&m->params, &before));
        expect_logits(m, want);
        assert_ok(panel_stream_replace(&m->params, &s, &before));
        layer_stream_close(&before);
        expect_logits(m, want_other);
        source_close(&s);
        mem_free(want);
        mem_free(want_other);
        model_free(m);
        model_free(other);
    }
    clear_cache();
}

/* The entry is one that loads into memory too, and the other way round. */
static void entries_are_those_of_models_in_memory(void **state)
{
    (void)state;
    const struct layer_stream_plan plan = plan_of(1, true);
    struct model *m, *plain;
    struct stat made, used;
    clear_cache();
    for (int i = 0; i < 2; i++) {
        const struct load_memory first = i == 0 ? (struct load_memory){.plan = &plan} : PLENTY;
        const struct load_memory second = i == 1 ? (struct load_memory){.plan = &plan} : PLENTY;
        assert_ok(load(&m, "tied", DTYPE_F16, first, &CACHE));
        assert_int_equal(stat(only_entry(), &made), 0);
        assert_ok(load(&plain, "tied", DTYPE_F16, second, &CACHE));
        assert_int_equal(stat(only_entry(), &used), 0);
        assert_true(made.st_ino == used.st_ino);
        assert_memory_equal(model_fingerprint(m), model_fingerprint(plain), 32);
        model_free(m);
        model_free(plain);
        clear_cache();
    }
}

/* Without the cache, or without files to know the weights by, they go with the program. */
static void there_need_be_no_entry(void **state)
{
    (void)state;
    const struct layer_stream_plan plan = plan_of(2, false);
    static const char *const names[] = {"tied", "random:gpt2," SHAPE "@7"};
    clear_cache();
    for (int i = 0; i < 2; i++) {
        struct model *m, *plain;
        assert_ok(load(&plain, names[i], DTYPE_F16, PLENTY, NULL));
        assert_ok(load(&m, names[i], DTYPE_F16, (struct load_memory){.plan = &plan},
                       i == 0 ? NULL : &CACHE));
        assert_int_equal(entries("") + entries(".tmp"), 0);
        float *want = compute(plain);
        expect_same(m, want, model_fingerprint(plain));
        mem_free(want);
        model_free(m);
        model_free(plain);
    }
}

static void spoil(const char *path, off_t at)
{
    int fd = open(path, O_RDWR);
    char c;
    assert_true(fd >= 0 && pread(fd, &c, 1, at) == 1);
    c ^= 1;
    assert_int_equal(pwrite(fd, &c, 1, at), 1);
    close(fd);
}

/* Feed single tokens until one fails, which must be soon: pieces that were read ahead are right. */
static int feed_until_failure(struct model *m)
{
    struct engine e;
    struct kv_seq seq;
    const token_id ids[4] = {1, 2, 3};
    struct engine_feed feed = {.seq = &seq, .ids = ids, .n = 1};
    int rc = 0;
    assert_ok(engine_init(&e, m, 1));
    assert_ok(kv_seq_init(&seq, &e.cache));
    for (int i = 0; i < 4 && rc == 0; i++)
        rc = engine_feed(&e, &feed, 1, e.logits, NULL);
    const int n = seq.n;
    assert_true(n < 4 && engine_failed(&e));
    assert_int_equal(engine_feed(&e, &feed, 1, e.logits, NULL), rc);
    assert_int_equal(seq.n, n);
    kv_seq_release(&seq, &e.cache);
    engine_release(&e);
    return rc == 0 ? 0 : err_set(rc, "%s", err_text());
}

static void empty(int fd)
{
    const int none = open("/dev/null", O_RDONLY);
    assert_true(none >= 0);
    if (fd >= 0)
        assert_true(dup2(none, fd) == fd);
    close(none);
}

/* The file that they had is gone when training gives them back: no pass computes without. */
static void weights_that_do_not_come_back_are_lost(void **state)
{
    (void)state;
    const struct layer_stream_plan plan = plan_of(2, true);
    struct layer_stream_file before;
    struct model *m, *other;
    struct source s;
    assert_ok(load(&m, "tied", DTYPE_F16, (struct load_memory){.plan = &plan}, &CACHE));
    assert_ok(load(&other, "random:gpt2," SHAPE, DTYPE_F16, PLENTY, NULL));
    assert_ok(source_open_model(&s, other));
    assert_ok(panel_stream_replace(&m->params, &s, &before));
    empty(before.disk.fd);
    empty(before.disk.direct);
    assert_true(panel_stream_restore(&m->params, &before) != 0);
    assert_int_equal(feed_until_failure(m), ERR_IO);
    assert_non_null(strstr(err_text(), "load the model again"));
    assert_fails(params_need_memory(&m->params, "this"), ERR_IO, "load the model again");
    source_close(&s);
    model_free(other);
    model_free(m);
    clear_cache();
}

/* An entry that is damaged when it is opened is made again; later, passes say so. */
static void damage_is_found(void **state)
{
    (void)state;
    const struct layer_stream_plan plan = plan_of(2, true);
    const struct load_memory memory = {.plan = &plan};
    struct model *m, *plain;
    size_t first;
    assert_ok(load(&plain, "tied", DTYPE_F16, PLENTY, NULL));
    float *want = compute(plain);
    const size_t bytes = plain->params.block_bytes;
    const off_t block_at = (off_t)(panel_file_bytes(bytes) - bytes);
    clear_cache();
    assert_ok(load(&m, "tied", DTYPE_F16, memory, &CACHE));
    model_free(m);

    layer_stream_span(&plain->params, 4, &first); /* of one that stays */
    const off_t places[] = {100, block_at + (off_t)first + 1000};
    for (int i = 0; i < 2; i++) {
        spoil(only_entry(), places[i]);
        assert_ok(load(&m, "tied", DTYPE_F16, memory, &CACHE));
        expect_same(m, want, model_fingerprint(plain));
        assert_int_equal(entries(""), 1);
        model_free(m);
    }

    layer_stream_span(&plain->params, 0, &first);          /* of one that does not */
    spoil(only_entry(), block_at + (off_t)first + 400000); /* nor does what is beside it */
    assert_ok(load(&m, "tied", DTYPE_F16, memory, &CACHE));
    assert_fails(feed_until_failure(m), ERR_FORMAT, "the cached weights are damaged; loading");
    assert_null(model_fingerprint(m));
    assert_null(eval_record(&(struct eval_result){.name = "text"}, m, NULL));
    assert_fails(err_last(), ERR_FORMAT, "the cached weights are damaged");
    assert_int_equal(entries(""), 0);
    model_free(m);

    assert_ok(load(&m, "tied", DTYPE_F16, memory, &CACHE));
    expect_same(m, want, model_fingerprint(plain));
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", only_entry());
    assert_int_equal(truncate(path, block_at + 1000), 0);
    assert_fails(feed_until_failure(m), ERR_FORMAT, "the file is truncated");
    assert_non_null(strstr(err_text(), "cannot read the model's layers: "));
    model_free(m);
    assert_ok(load(&m, "tied", DTYPE_F16, memory, &CACHE));
    assert_int_equal(unlink(only_entry()), 0); /* which the program still has open */
    expect_same(m, want, model_fingerprint(plain));
    model_free(m);
    mem_free(want);
    model_free(plain);
}

/* What reads weights where they lie in memory is refused. */
static void what_needs_memory_says_so(void **state)
{
    (void)state;
    const struct layer_stream_plan plan = plan_of(2, true);
    struct model *m;
    struct source s;
    struct adapter *a = NULL;
    assert_ok(load(&m, "tied", DTYPE_F16, (struct load_memory){.plan = &plan}, &CACHE));
    assert_fails(source_open_model(&s, m), ERR_UNSUPPORTED,
                 "saving the weights in use needs all weights in memory");
    /* The files that it came from are there. */
    assert_ok(source_of_model(&s, m, NULL));
    source_close(&s);
    const struct adapter_config c = {.rank = 2, .alpha = 4, .targets = "c_attn"};
    assert_ok(adapter_new(&a, &c, &m->config));
    assert_fails(adapter_load(a, m, NULL), ERR_UNSUPPORTED, "a LoRA adapter needs all weights");
    adapter_free(a);
    model_free(m);
}

/* The plan of a model of 6.2 GB, of which only addresses are taken. */
static void what_fits_stays(void **state)
{
    (void)state;
    struct config c;
    struct params p;
    struct layer_stream_plan plan = {0};
    assert_ok(config_named(&c, "gpt2-xl"));
    assert_ok(params_reserve(&p, &c, DTYPE_F32));
    assert_ok(layer_stream_plan(&plan, &p, p.block_bytes));
    assert_false(plan.streams);
    const struct layer_stream_plan least = layer_stream_least(&p);
    const uint64_t from = least.kept_bytes + least.slot_bytes;
    assert_fails(layer_stream_plan(&plan, &p, from - 1), ERR_NOMEM,
                 "but 3 layers of 123 MB at a time and what is outside them need 379 MB");
    for (uint64_t room = from; room < p.block_bytes; room += 100000000) {
        assert_ok(layer_stream_plan(&plan, &p, room));
        assert_true(plan.streams && plan.kept_bytes + plan.slot_bytes <= room);
        int kept = 0;
        for (int layer = 0; layer < c.n_layer; layer++)
            kept += layer_stream_keeps(&plan, &c, layer);
        assert_int_equal(kept, plan.n_kept);
        assert_in_range(plan.n_kept, 0, c.n_layer - 1);
        assert_true(plan.keeps_head || plan.n_kept <= 2);
    }
    assert_in_range(plan.n_kept, 43, 47);
    params_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_memory_gives_the_same_bits),
                                       cmocka_unit_test(weights_are_replaced_and_come_back),
                                       cmocka_unit_test(weights_that_do_not_come_back_are_lost),
                                       cmocka_unit_test(entries_are_those_of_models_in_memory),
                                       cmocka_unit_test(there_need_be_no_entry),
                                       cmocka_unit_test(damage_is_found),
                                       cmocka_unit_test(what_needs_memory_says_so),
                                       cmocka_unit_test(what_fits_stays)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
