#include "sampling/device_loop.h"

#include "model/base/par.h"
#include "model/layer_stream.h"
#include "model/base/progress.h"
#include "sampling/device_loop_inside.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny_text.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SLOTS = 4, NEW = 40 };

/* What came through the ring. */
struct taken {
    token_id ids[SLOTS][200];
    struct buf text[SLOTS];
    int rc[SLOTS];
    int n[SLOTS], calls, ended[SLOTS];
    enum finish finish[SLOTS];
    struct device_loop *loop;
    bool hears;                /* the text too */
    int halt_at, interrupt_at; /* call number; 0: never */
};

static void take(void *user, const struct token_event *event)
{
    struct taken *t = user;
    t->calls++;
    if (event->rc == 0 && (!event->ended || event->finish != FINISH_STOP_TOKEN))
        t->ids[event->slot][t->n[event->slot]++] = event->token.id;
    if (t->hears)
        assert_ok(buf_add(&t->text[event->slot], event->text, event->n_text));
    t->ended[event->slot] += event->ended;
    t->rc[event->slot] = event->rc;
    if (event->ended)
        t->finish[event->slot] = event->finish;
    if (t->calls == t->halt_at)
        device_loop_halt(t->loop);
    if (t->calls == t->interrupt_at)
        interrupt_raise();
}

struct bench {
    struct model model;
    struct engine engine;
    struct device_loop *loop;
    struct decode_slot *slots;
    int n_slots;
    struct sequence seqs[SLOTS];
    struct sampler *samplers[SLOTS];
    struct sampler_config config;
    struct stop_strings *stops;
    struct stream streams[SLOTS];
    char bytes[SLOTS][1 << 16];
};

/* Slots with prompts of different lengths, read and ready for their first draw. */
static void set_up(struct bench *b, int n_slots, const char *stops)
{
    memset(b, 0, sizeof *b);
    tiny_speaker(&b->model, 5);
    assert_ok(engine_init(&b->engine, &b->model, SLOTS));
    assert_ok(device_loop_new(&b->loop, &b->engine, n_slots));
    b->slots = device_loop_slots(b->loop);
    b->n_slots = n_slots;
    assert_ok(stop_strings_new(&b->stops, stops));
    sampler_config_init(&b->config);
    b->config.seed = 9;
    for (int i = 0; i < n_slots; i++) {
        struct decode_slot *s = &b->slots[i];
        int n = 1 + 31 * i;
        assert_ok(sequence_init(&b->seqs[i], &b->engine));
        assert_ok(sampler_new(&b->samplers[i], &b->config, TINY_V, 150, b->model.tokenizer,
                              &(struct stop_tokens){{0}, 1}));
        assert_ok(stream_init(&b->streams[i], b->model.tokenizer, b->stops));
        sampler_reset(b->samplers[i], i, false);
        assert_true(stream_run_bytes(&b->streams[i], 150) <= sizeof b->bytes[i]);
        struct ids *text = &b->seqs[i].ids;
        tiny_ids(text->data, (size_t)n, &b->model.config, (uint64_t)i);
        text->n = (size_t)n;
        struct engine_feed feed = {.seq = &b->seqs[i].kv, .ids = text->data, .n = n};
        float *logits = b->engine.logits + (size_t)i * TINY_V;
        assert_ok(engine_feed(&b->engine, &feed, 1, logits, NULL));
        *s = (struct decode_slot){.live = true,
                                  .ready = true,
                                  .seq = &b->seqs[i],
                                  .max_new = NEW,
                                  .logits = logits,
                                  .sampler = b->samplers[i],
                                  .stream = b->stops == NULL ? NULL : &b->streams[i],
                                  .bytes = b->bytes[i]};
    }
}

static void tear_down(struct bench *b)
{
    for (int i = 0; i < b->n_slots; i++) {
        sequence_release(&b->seqs[i]);
        sampler_free(b->samplers[i]);
        stream_release(&b->streams[i]);
    }
    stop_strings_free(b->stops);
    device_loop_free(b->loop);
    engine_release(&b->engine);
    tiny_speaker_release(&b->model);
}

static void same(const struct taken *a, const struct taken *b)
{
    for (int i = 0; i < SLOTS; i++) {
        assert_int_equal(a->n[i], b->n[i]);
        assert_memory_equal(a->ids[i], b->ids[i], (size_t)a->n[i] * sizeof(token_id));
        assert_int_equal(a->finish[i], b->finish[i]);
    }
}

static void by_loop(struct taken *t, int device_iterations)
{
    struct bench b;
    *t = (struct taken){0};
    set_up(&b, SLOTS, NULL);
    assert_int_equal(device_loop_run(b.loop, 1000, device_iterations, false, take, t), NEW);
    for (int i = 0; i < SLOTS; i++) {
        assert_int_equal(t->n[i], NEW);
        assert_int_equal(t->ended[i], 1);
        assert_int_equal(t->finish[i], FINISH_LENGTH);
        assert_int_equal(b.slots[i].n_new, NEW);
    }
    tear_down(&b);
}

/* ---- a model whose layers are read from a file ---- */

/* Reads, counted; from `fails_from` on they fail. */
struct reads {
    struct scratch scratch;
    atomic_int n, fails_from;
};

static int count_read(void *user, uint64_t at, const char *data, size_t bytes)
{
    struct reads *r = user;
    (void)at;
    (void)data;
    (void)bytes;
    return atomic_fetch_add(&r->n, 1) < atomic_load(&r->fails_from)
               ? 0
               : err_set(ERR_IO, "cannot read the model: the disk is gone");
}

static void read_from_file(struct bench *b, struct reads *r)
{
    struct params *p = &b->model.params;
    const struct layer_stream_plan plan = {.streams = true};
    struct layer_stream_file file = {.unit = DISK_UNIT, .check = count_read, .user = r};
    atomic_store(&r->n, 0);
    atomic_store(&r->fails_from, 1 << 30);
    scratch_open(&r->scratch);
    assert_ok(disk_file_make(&file.disk, r->scratch.folder, p->block_bytes));
    file.disk.use_direct = false;
    assert_ok(disk_file_write(&file.disk, p->block, 0, p->block_bytes));
    assert_ok(layer_stream_open(p, &plan, &file));
}

static void a_disk_that_fails_ends_texts_as_they_were(void **state)
{
    (void)state;
    struct taken want, got = {0};
    struct bench b;
    struct reads r;
    by_loop(&want, 1);
    set_up(&b, SLOTS, NULL);
    read_from_file(&b, &r);
    assert_int_equal(device_loop_run(b.loop, 1000, 1, false, take, &got), NEW);
    same(&want, &got);
    tear_down(&b);
    scratch_close(&r.scratch);

    got = (struct taken){0};
    set_up(&b, SLOTS, NULL);
    read_from_file(&b, &r);
    atomic_store(&r.fails_from, 60);
    assert_in_range(device_loop_run(b.loop, 1000, 1, false, take, &got), 2, NEW - 1);
    assert_fails(engine_error(&b.engine), ERR_IO, "the disk is gone");
    for (int i = 0; i < SLOTS; i++) {
        const struct sequence *s = &b.seqs[i];
        assert_true(got.ended[i] == 1 && got.rc[i] == ERR_IO && got.finish[i] == FINISH_ERROR);
        assert_in_range(got.n[i], 1, NEW - 1);
        assert_memory_equal(got.ids[i], want.ids[i], (size_t)got.n[i] * sizeof(token_id));
        assert_int_equal(s->ids.n, 1 + 31 * i + got.n[i]);
        assert_int_equal(s->kv.n, s->ids.n - 1);
    }
    /* Nor does a feed change anything, until the disk is there again. */
    assert_fails(sequence_feed(&b.seqs[1], NULL, 0, NULL), ERR_IO, "the disk is gone");
    assert_int_equal(b.seqs[1].ids.n, 32 + got.n[1]);
    atomic_store(&r.fails_from, 1 << 30);
    assert_ok(sequence_feed(&b.seqs[1], NULL, 0, NULL));
    assert_true(sequence_has_logits(&b.seqs[1]));
    tear_down(&b);
    scratch_close(&r.scratch);
}

static void steps_and_loop_give_the_same(void **state)
{
    (void)state;
    struct taken steps = {0}, loop;
    struct bench b;
    set_up(&b, SLOTS, NULL);
    for (int i = 0; i < NEW; i++)
        assert_int_equal(device_loop_run(b.loop, 1, 1, false, take, &steps), 1);
    assert_int_equal(device_loop_run(b.loop, 1, 1, false, take, &steps), 0);
    tear_down(&b);
    static const int iterations[] = {1, 4, 16, 1000};
    for (int i = 0; i < 4; i++) {
        by_loop(&loop, iterations[i]);
        same(&steps, &loop);
    }
}

/* Looks at what is emitted while the loop runs. */
struct onlooker {
    struct device_loop *loop;
    size_t lot, all; /* only whole lots are to be seen, or all */
    atomic_bool stop;
    size_t odd; /* something else that was */
};

static void *look_on(void *arg)
{
    struct onlooker *o = arg;
    while (!atomic_load(&o->stop)) {
        size_t n = atomic_load(&o->loop->n_emitted);
        if (n % o->lot != 0 && n != o->all)
            o->odd = n;
    }
    return NULL;
}

static void tokens_are_emitted_in_lots(void **state)
{
    (void)state;
    static const int iterations[] = {1, 3, 16, 1000};
    for (size_t i = 0; i < sizeof iterations / sizeof *iterations; i++) {
        struct bench b;
        struct taken t = {0};
        pthread_t thread;
        set_up(&b, SLOTS, NULL);
        struct onlooker o = {
            .loop = b.loop, .lot = (size_t)iterations[i] * SLOTS, .all = (size_t)NEW * SLOTS};
        assert_int_equal(pthread_create(&thread, NULL, look_on, &o), 0);
        assert_int_equal(device_loop_run(b.loop, 1000, iterations[i], false, take, &t), NEW);
        atomic_store(&o.stop, true);
        pthread_join(thread, NULL);
        assert_int_equal(o.odd, 0);
        tear_down(&b);
    }
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    struct taken one, more;
    assert_ok(par_open(1, false));
    by_loop(&one, 1);
    for (int n = 2; n <= 5; n += 3) {
        assert_ok(par_open(n, false));
        by_loop(&more, 3);
        same(&one, &more);
    }
    assert_ok(par_open(0, true));
}

/* Each slot alone draws what it draws beside others. */
static void neighbours_do_not_matter(void **state)
{
    (void)state;
    struct taken all;
    by_loop(&all, 1);
    for (int only = 0; only < SLOTS; only++) {
        struct taken t = {0};
        struct bench b;
        set_up(&b, SLOTS, NULL);
        for (int i = 0; i < SLOTS; i++)
            b.slots[i].live = i == only;
        device_loop_run(b.loop, 1000, 1, false, take, &t);
        assert_int_equal(t.n[only], NEW);
        assert_memory_equal(t.ids[only], all.ids[only], NEW * sizeof(token_id));
        tear_down(&b);
    }
}

/* A text that says the same again takes fewer passes than it has tokens; the others too, no more.
 */
static void a_draft_saves_passes(void **state)
{
    (void)state;
    for (int drafts = 0; drafts < 2; drafts++) {
        static struct taken t[2];
        struct bench b;
        struct draft *draft = NULL;
        t[drafts] = (struct taken){0};
        set_up(&b, 1, NULL);
        sampler_free(b.samplers[0]);
        b.config.temperature = 0;
        b.config.no_repeat_ngram_size = 0;
        b.config.logit_bias = "9:1000"; /* and nothing else */
        assert_ok(sampler_new(&b.samplers[0], &b.config, TINY_V, 150, b.model.tokenizer, NULL));
        b.slots[0].sampler = b.samplers[0];
        assert_ok(draft_begin(&draft, &b.model, drafts ? SPECULATE_LOOKUP : SPECULATE_OFF));
        b.slots[0].draft = draft;
        int steps = device_loop_run(b.loop, 1000, 1, false, take, &t[drafts]);
        assert_int_equal(t[drafts].n[0], NEW);
        assert_int_equal(b.seqs[0].kv.n, b.seqs[0].ids.n - 1);
        if (drafts) {
            same(&t[0], &t[1]);
            /* Three without: none before two ids stood twice. Then 1 + DRAFT_MAX a pass. */
            assert_true(steps <= 3 + (NEW - 3 + DRAFT_MAX) / (1 + DRAFT_MAX));
            assert_true(draft->n_accepted == draft->n_drafted);
            assert_int_equal(steps + draft->n_accepted, NEW);
        } else {
            assert_int_equal(steps, NEW);
        }
        draft_free(draft);
        tear_down(&b);
    }
}

static void allocates_nothing(void **state)
{
    (void)state;
    struct taken t = {0};
    struct bench b;
    struct draft *draft = NULL;
    set_up(&b, SLOTS, "never this,nor that");
    assert_ok(draft_begin(&draft, &b.model, SPECULATE_LOOKUP));
    b.slots[1].draft = draft;
    uint64_t before = mem_count();
    device_loop_run(b.loop, 1000, 1, false, take, &t);
    assert_int_equal(mem_count(), before);
    draft_free(draft);
    tear_down(&b);
}

/* Leaves when a text ends; the others go on from where they were. */
static void leaves_when_a_text_ends(void **state)
{
    (void)state;
    struct taken all, t = {0};
    struct bench b;
    by_loop(&all, 1);
    set_up(&b, SLOTS, NULL);
    b.slots[2].max_new = 7;
    assert_int_equal(device_loop_run(b.loop, 1000, 100, true, take, &t), 7);
    assert_int_equal(t.n[0], 7);
    assert_int_equal(t.ended[2], 1);
    assert_false(b.slots[2].live);
    assert_int_equal(b.seqs[0].kv.n, b.seqs[0].ids.n - 1);
    assert_int_equal(device_loop_run(b.loop, 1000, 1, false, take, &t), NEW - 7);
    for (int i = 0; i < SLOTS; i++)
        assert_memory_equal(t.ids[i], all.ids[i], (size_t)t.n[i] * sizeof(token_id));
    tear_down(&b);
}

static void ends_at_the_stop_token(void **state)
{
    (void)state;
    struct taken all, t = {0};
    struct bench b;
    by_loop(&all, 1);
    token_id stop = all.ids[1][5];
    int first = 0;
    while (all.ids[1][first] != stop)
        first++;
    set_up(&b, 2, NULL);
    b.slots[0].live = false;
    b.slots[1].stop_tokens = (struct stop_tokens){{TINY_V - 1, stop}, 2};
    device_loop_run(b.loop, 1000, 1, false, take, &t);
    assert_int_equal(t.finish[1], FINISH_STOP_TOKEN);
    assert_int_equal(t.n[1], first);
    assert_int_equal(b.seqs[1].ids.n, 32 + first);
    tear_down(&b);
}

static void ends_at_the_context(void **state)
{
    (void)state;
    struct taken t = {0};
    struct bench b;
    set_up(&b, SLOTS, NULL);
    for (int i = 0; i < SLOTS; i++)
        b.slots[i].max_new = 1000;
    device_loop_run(b.loop, 1000, 7, false, take, &t);
    for (int i = 0; i < SLOTS; i++) {
        assert_int_equal(t.finish[i], FINISH_CONTEXT);
        assert_int_equal(t.n[i], 151 - (1 + 31 * i));
        assert_int_equal(b.seqs[i].kv.n, 150);
    }
    tear_down(&b);
}

static void caller_and_interrupt_end_a_run(void **state)
{
    (void)state;
    struct taken all, t = {0};
    struct bench b;
    by_loop(&all, 1);
    set_up(&b, SLOTS, NULL);
    t.loop = b.loop;
    t.halt_at = 3;
    device_loop_run(b.loop, 1000, 1, false, take, &t);
    t.interrupt_at = t.calls + 2;
    device_loop_run(b.loop, 1000, 1, false, take, &t);
    interrupt_raise();
    int calls = t.calls;
    assert_int_equal(device_loop_run(b.loop, 1000, 1, false, take, &t), 0);
    assert_int_equal(t.calls, calls);
    interrupt_clear();
    device_loop_run(b.loop, 1000, 1, false, take, &t);
    same(&all, &t); /* and nothing was lost or done twice */
    tear_down(&b);
}

/* The text that comes with the tokens is that of their stream, over several runs. */
static void text_comes_with_its_token(void **state)
{
    (void)state;
    struct taken t = {.hears = true};
    struct bench b;
    set_up(&b, SLOTS, "qq,e");
    for (int i = 0; i < NEW; i++)
        device_loop_run(b.loop, 1 + i, 1 + i % 3, false, take, &t);
    for (int i = 0; i < SLOTS; i++) {
        struct buf expected = {0};
        char out[1 << 12];
        stream_reset(&b.streams[i], false);
        for (int k = 0; k < t.n[i]; k++)
            assert_ok(buf_add(&expected, out, stream_push(&b.streams[i], t.ids[i][k], out)));
        assert_int_equal(t.finish[i], b.streams[i].stopped ? FINISH_STOP_STRING : FINISH_LENGTH);
        assert_string_equal(buf_text(&t.text[i]), buf_text(&expected));
        buf_release(&t.text[i]);
        buf_release(&expected);
    }
    tear_down(&b);
}

/* A pool without a page for one text: that text ends with an error, the rest goes on. */
static void a_full_pool_ends_one_text(void **state)
{
    (void)state;
    struct taken t = {0};
    struct bench b;
    set_up(&b, 2, NULL);
    b.slots[1].max_new = 1000; /* 32 ids: needs its second page at 64 */
    int n_free = b.engine.cache.n_free;
    b.engine.cache.n_free = 0;
    device_loop_run(b.loop, 1000, 1, false, take, &t);
    assert_int_equal(t.finish[0], FINISH_LENGTH);
    assert_int_equal(t.finish[1], FINISH_ERROR);
    assert_int_equal(t.rc[0], 0);
    assert_int_equal(t.rc[1], ERR_FULL);
    assert_int_equal(t.n[1], 64 - 32 + 1); /* the last one has no place, and an error is no token */
    assert_int_equal(b.seqs[1].kv.n, 64);
    b.engine.cache.n_free = n_free;
    tear_down(&b);
}

static void refuses_more_slots_than_the_engine(void **state)
{
    (void)state;
    struct bench b;
    struct device_loop *l;
    set_up(&b, 1, NULL);
    assert_int_equal(device_loop_new(&l, &b.engine, SLOTS + 1), ERR_RANGE);
    assert_int_equal(device_loop_new(&l, &b.engine, 0), ERR_RANGE);
    assert_null(l);
    tear_down(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_loop_give_the_same),
        cmocka_unit_test(a_disk_that_fails_ends_texts_as_they_were),
        cmocka_unit_test(tokens_are_emitted_in_lots),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(neighbours_do_not_matter),
        cmocka_unit_test(a_draft_saves_passes),
        cmocka_unit_test(allocates_nothing),
        cmocka_unit_test(leaves_when_a_text_ends),
        cmocka_unit_test(ends_at_the_stop_token),
        cmocka_unit_test(ends_at_the_context),
        cmocka_unit_test(caller_and_interrupt_end_a_run),
        cmocka_unit_test(text_comes_with_its_token),
        cmocka_unit_test(a_full_pool_ends_one_text),
        cmocka_unit_test(refuses_more_slots_than_the_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
