#include "train/prepare/sorter.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 16, FAN_IN_MOST = 512, WORDS_MOST = 4, REPORT_EVERY = 1 << 16 };

/* What is left of a run, of which a part is in memory. */
struct run_reader {
    uint64_t at, end; /* records of the file that were not read */
    uint64_t *block;  /* [room], in the sorter's */
    size_t n, next;
};

int sorter_open(struct sorter *s, const char *folder, int words, size_t memory)
{
    static const char *const names[] = {"runs", "more-runs"};
    const size_t fan_in = memory / READ_BYTES;
    *s = (struct sorter){.words = words, .files = {{.fd = -1}, {.fd = -1}}};
    s->fan_in = fan_in < 2 ? 2 : fan_in > FAN_IN_MOST ? FAN_IN_MOST : fan_in;
    s->room = memory / (sizeof *s->block * (size_t)words);
    s->room = s->room < s->fan_in ? s->fan_in : s->room;
    s->block = mem_array(s->room * (size_t)words, sizeof *s->block);
    s->runs = mem_array(s->fan_in, sizeof *s->runs);
    s->heap = mem_array(s->fan_in, sizeof *s->heap);
    int rc = s->block == NULL || s->runs == NULL || s->heap == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < 2 && rc == 0; i++) {
        char *path = file_join(folder, names[i]);
        rc = path == NULL ? ERR_NOMEM : spool_open(&s->files[i], path, 0);
        if (rc == 0)
            unlink(path); /* it goes with this process */
        mem_free(path);
    }
    if (rc != 0)
        sorter_close(s);
    return rc;
}

void sorter_close(struct sorter *s)
{
    spool_close(&s->files[0]);
    spool_close(&s->files[1]);
    mem_free(s->block);
    mem_free(s->runs);
    mem_free(s->heap);
    buf_release(&s->ends);
    *s = (struct sorter){.files = {{.fd = -1}, {.fd = -1}}};
}

static int compare_words(const uint64_t *a, const uint64_t *b, int words)
{
    for (int i = 0; i < words; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int compare_two(const void *a, const void *b)
{
    return compare_words(a, b, 2);
}

static int compare_three(const void *a, const void *b)
{
    return compare_words(a, b, 3);
}

static size_t record_bytes(const struct sorter *s)
{
    return sizeof *s->block * (size_t)s->words;
}

static void sort_block(struct sorter *s)
{
    qsort(s->block, s->n, record_bytes(s), s->words == 2 ? compare_two : compare_three);
}

/* The runs of a file end where it does, so far. */
static int end_run(struct sorter *s, struct buf *ends, int file)
{
    const uint64_t end = s->files[file].at / record_bytes(s);
    return buf_add(ends, &end, sizeof end);
}

static int spill_block(struct sorter *s)
{
    sort_block(s);
    int rc = spool_write(&s->files[s->from], s->block, s->n * record_bytes(s));
    s->n = 0;
    return rc == 0 ? end_run(s, &s->ends, s->from) : rc;
}

int sorter_add(struct sorter *s, const uint64_t *record)
{
    int rc = s->n == s->room ? spill_block(s) : 0;
    memcpy(s->block + s->n * (size_t)s->words, record, record_bytes(s));
    s->n += rc == 0;
    return rc;
}

/* ---- merging ---- */

static size_t count_runs(const struct sorter *s)
{
    return s->ends.n / sizeof(uint64_t);
}

static uint64_t run_end(const struct sorter *s, size_t i)
{
    uint64_t end;
    memcpy(&end, s->ends.data + i * sizeof end, sizeof end);
    return end;
}

static const uint64_t *run_head(const struct sorter *s, int run)
{
    return s->runs[run].block + s->runs[run].next * (size_t)s->words;
}

static int read_run(struct sorter *s, struct run_reader *r)
{
    const size_t room = s->room / s->fan_in;
    r->next = 0;
    r->n = r->end - r->at < room ? (size_t)(r->end - r->at) : room;
    int rc = r->n == 0 ? 0
                       : spool_read(&s->files[s->from], r->block, r->at * record_bytes(s),
                                    r->n * record_bytes(s));
    r->at += r->n;
    return rc;
}

static void sift_down(struct sorter *s, size_t i)
{
    const int run = s->heap[i];
    for (size_t child; (child = 2 * i + 1) < s->n_heap; i = child) {
        if (child + 1 < s->n_heap && compare_words(run_head(s, s->heap[child + 1]),
                                                   run_head(s, s->heap[child]), s->words) < 0)
            child++;
        if (compare_words(run_head(s, run), run_head(s, s->heap[child]), s->words) <= 0)
            break;
        s->heap[i] = s->heap[child];
    }
    s->heap[i] = run;
}

/* Merge n runs from `first` on. */
static int begin_merge(struct sorter *s, size_t first, size_t n)
{
    int rc = spool_flush(&s->files[s->from]);
    s->n_heap = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct run_reader *r = &s->runs[i];
        *r = (struct run_reader){.at = first + i == 0 ? 0 : run_end(s, first + i - 1),
                                 .end = run_end(s, first + i),
                                 .block = s->block + i * (s->room / s->fan_in) * (size_t)s->words};
        rc = read_run(s, r);
        s->heap[s->n_heap++] = (int)i;
    }
    for (size_t i = s->n_heap / 2; i-- > 0 && rc == 0;)
        sift_down(s, i);
    return rc;
}

static int take_least(struct sorter *s, uint64_t *record, bool *got)
{
    int rc = 0;
    *got = s->n_heap > 0;
    if (!*got)
        return 0;
    struct run_reader *r = &s->runs[s->heap[0]];
    memcpy(record, run_head(s, s->heap[0]), record_bytes(s));
    if (++r->next == r->n)
        rc = read_run(s, r);
    if (r->n == 0)
        s->heap[0] = s->heap[--s->n_heap];
    if (rc == 0 && s->n_heap > 0)
        sift_down(s, 0);
    return rc;
}

/* The runs of one file into fewer of the other. */
static int merge_pass(struct sorter *s, const struct progress *p, const char *what)
{
    struct buf ends = {0};
    uint64_t record[WORDS_MOST], done = 0;
    const uint64_t all = run_end(s, count_runs(s) - 1);
    int rc = 0;
    for (size_t first = 0; first < count_runs(s) && rc == 0; first += s->fan_in) {
        const size_t left = count_runs(s) - first;
        bool got = true;
        rc = begin_merge(s, first, left < s->fan_in ? left : s->fan_in);
        while (rc == 0 && (rc = take_least(s, record, &got)) == 0 && got) {
            rc = spool_write(&s->files[!s->from], record, record_bytes(s));
            if (rc == 0 && ++done % REPORT_EVERY == 0)
                rc = progress_step(p, what, done, all);
        }
        if (rc == 0)
            rc = end_run(s, &ends, !s->from);
    }
    if (rc == 0)
        rc = spool_cut(&s->files[s->from], 0);
    buf_release(&s->ends);
    s->ends = ends;
    s->from = !s->from;
    return rc;
}

int sorter_finish(struct sorter *s, const struct progress *p, const char *what)
{
    int rc = 0;
    if (count_runs(s) == 0) {
        sort_block(s);
        return 0;
    }
    if (s->n > 0)
        rc = spill_block(s);
    while (rc == 0 && count_runs(s) > s->fan_in)
        rc = merge_pass(s, p, what);
    return rc == 0 ? begin_merge(s, 0, count_runs(s)) : rc;
}

int sorter_next(struct sorter *s, uint64_t *record, bool *got)
{
    if (count_runs(s) > 0)
        return take_least(s, record, got);
    *got = s->next < s->n;
    if (*got)
        memcpy(record, s->block + s->next++ * (size_t)s->words, record_bytes(s));
    return 0;
}
