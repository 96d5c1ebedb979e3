/* Slices that go to all ranks are whole when a reader has waited for their unit, and not before. */
#include "tests/lib/crowd.h"
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "train/parallel/spread.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { N = 1400003, UNITS = 5, MOST = 5, ROUNDS = 3 };

/* A failed assertion of a child is its end. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            world_end_all(1);                                                                      \
    } while (0)

struct task {
    int groups;       /* that work side by side, rank 0 in the first of them and so on */
    bool spans;       /* two: units between them are nobody's */
    int late;         /* the place whose slices come when others have read all that is before; -1 */
    atomic_int *read; /* [ROUNDS], ranks that have: shared */
    const size_t *ends; /* [UNITS + 1], of units of the block */
};

static float element(int round, size_t i)
{
    return (float)((i * 37 + (size_t)round * 1009) % 8388593);
}

static bool is_whole(const float *data, const struct sliced_unit *u, int round)
{
    for (size_t i = u->first; i < u->first + u->n; i++)
        if (data[i] != element(round, i))
            return false;
    return true;
}

/* Uneven slices, one of them empty. */
static void find_bounds(size_t *bounds, int size, size_t first, size_t last)
{
    const size_t n = last - first;
    for (int i = 0; i <= size; i++)
        bounds[i] = first + (i == size ? n
                             : i == 1  ? 0
                                       : n * (size_t)i * (size_t)i / (size_t)(size * size));
}

static void list_slices(struct unit_slices *s, size_t *bounds, struct sliced_unit *units,
                        const struct task *t)
{
    *s = (struct unit_slices){.size = s->size, .bounds = bounds, .units = units};
    for (int i = 0; i < UNITS; i++)
        if (!t->spans || i == 0 || i > 2)
            units[s->n_units++] = (struct sliced_unit){t->ends[i], t->ends[i + 1] - t->ends[i]};
    s->n_spans = 1 + t->spans;
    find_bounds(bounds, s->size, 0, t->spans ? t->ends[1] : N);
    if (t->spans)
        find_bounds(bounds + s->size + 1, s->size, t->ends[3], N);
}

/* This rank's slices, and nothing of others. */
static void set_own(float *data, const struct unit_slices *s, int own, int round)
{
    for (size_t i = 0; i < N; i++)
        data[i] = -1;
    for (int span = 0; span < s->n_spans; span++) {
        const size_t *b = unit_slices_span(s, span);
        for (size_t i = b[own]; i < b[own + 1]; i++)
            data[i] = element(round, i);
    }
}

/* Whether all of a unit is in slices of places before this one. */
static bool lies_before(const struct unit_slices *s, int unit, int place)
{
    size_t n, all = 0;
    for (int i = 0; i < place; i++) {
        unit_slices_part(s, unit, i, N, 0, &n);
        all += n;
    }
    return all == s->units[unit].n;
}

/* The late one waits until the others have read what does not need it. */
static void wait_for_readers(const struct task *t, int round)
{
    while (atomic_load(&t->read[round]) < world_size() - t->groups)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void read_units(struct spread *x, const float *data, const struct unit_slices *s,
                       const struct task *t, int own, int round)
{
    bool counted = !t->late || own == s->size - 1;
    for (int u = 0; u < s->n_units; u++) {
        if (!counted && !lies_before(s, u, s->size - 1)) {
            atomic_fetch_add(&t->read[round], 1);
            counted = true;
        }
        spread_await(x, u);
        EXPECT(is_whole(data, &s->units[u], round));
    }
    EXPECT(counted);
}

static void act_rank(void *arg)
{
    const struct task *t = arg;
    const struct rank_group g = {.first = world_rank() % t->groups,
                                 .distance = t->groups,
                                 .size = world_size() / t->groups,
                                 .own = world_rank() / t->groups};
    size_t bounds[2 * (MOST + 1)];
    struct sliced_unit units[UNITS];
    struct unit_slices s = {.size = g.size};
    struct spread *x;
    float *data = mem_array(N, sizeof *data);
    list_slices(&s, bounds, units, t);
    EXPECT(spread_new(&x, &g, &s, sizeof *data) == 0);
    spread_await(x, s.n_units - 1); /* of nothing that has begun */
    for (int round = 0; round < ROUNDS; round++) {
        set_own(data, &s, g.own, round);
        if (t->late && g.own == g.size - 1 && round < ROUNDS - 1)
            wait_for_readers(t, round);
        spread_begin(x, data);
        if (round < ROUNDS - 1)
            read_units(x, data, &s, t, g.own, round);
        spread_finish(x);
        for (int u = 0; u < s.n_units; u++)
            EXPECT(is_whole(data, &s.units[u], round));
    }
    spread_free(x);
    mem_free(data);
}

static void check_sizes(struct task t)
{
    /* One is empty, and none begins where a page does. */
    static const size_t ends[UNITS + 1] = {0, N / 7, N / 7, N / 3, N / 2 + 1, N};
    t.ends = ends;
    for (int size = 2; size <= MOST && size * t.groups <= 8; size++) {
        t.read = mmap(NULL, ROUNDS * sizeof *t.read, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(t.read != MAP_FAILED);
        assert_int_equal(crowd_run(size * t.groups, act_rank, &t), 0);
        munmap(t.read, ROUNDS * sizeof *t.read);
    }
}

static void all_ranks_come_to_have_all(void **state)
{
    (void)state;
    check_sizes((struct task){.groups = 1});
    check_sizes((struct task){.groups = 2});
    check_sizes((struct task){.groups = 1, .spans = true});
}

static void a_unit_does_not_wait_for_those_behind_it(void **state)
{
    (void)state;
    check_sizes((struct task){.groups = 1, .late = true});
    check_sizes((struct task){.groups = 2, .late = true});
}

static void without_a_thread_all_is_there_at_once(void **state)
{
    (void)state;
    crowd_one_thread = true;
    check_sizes((struct task){.groups = 2});
    crowd_one_thread = false;
    crowd_of_host = 8;
    check_sizes((struct task){.groups = 2});
    crowd_of_host = 1;
}

int main(void)
{
    crowd_of_host = 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_come_to_have_all),
        cmocka_unit_test(a_unit_does_not_wait_for_those_behind_it),
        cmocka_unit_test(without_a_thread_all_is_there_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
