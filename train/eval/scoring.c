#include "train/eval/scoring.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/xxh64.h"
#include "model/gpt2_vocab.h"
#include "train/data/text_whole.h"
#include "train/parallel/world.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

enum { SAY_AFTER_S = 1, LONG_S = 10 };

int eval_encode_flags(const struct evaluation *ev)
{
    return ev->config.special ? ENCODE_SPECIAL : ENCODE_TEXT;
}

const char *eval_special_words(const struct evaluation *ev)
{
    return ev->config.special ? ", special tokens in the text read as such" : "";
}

int eval_need_tokenizer(const struct evaluation *ev)
{
    if (ev->engine->model->tokenizer != NULL)
        return 0;
    return gpt2_vocab_is(&ev->engine->model->config)
               ? err_set(ERR_MISSING,
                         "this model has GPT-2's vocabulary and no tokenizer to read a "
                         "text with: put GPT-2's vocab.json and merges.txt into its "
                         "folder, or get gpt2 with `:hub get gpt2`")
               : err_set(ERR_MISSING, "this model has no tokenizer to read a text with: put "
                                      "vocab.json and merges.txt into its folder");
}

size_t eval_limited(const struct evaluation *ev, size_t n)
{
    uint64_t limit = (uint64_t)ev->config.limit;
    return limit > 0 && limit < n ? (size_t)limit : n;
}

int eval_read_text(const struct evaluation *ev, struct buf *out)
{
    char shown[256];
    int rc = text_whole_read(out, ev->path, (uint64_t)1 << 30);
    for (size_t at = 0; rc == 0 && at < out->n;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)out->data + at,
                                              (utf8proc_ssize_t)(out->n - at), &c);
        if (n < 0) {
            progress_note(ev->progress,
                          "%s is not UTF-8 at byte %zu; its bytes are used as they are",
                          file_show(shown, sizeof shown, ev->path), at);
            break;
        }
        at += (size_t)n;
    }
    return rc;
}

/* Scores under way: those of the passage that is not complete yet. */
struct collector {
    struct evaluation *evaluation;
    const struct passage *list;
    void (*f)(void *user, size_t i, const struct score *scores);
    void *user;
    struct score *scores; /* [the most targets of a passage] */
    size_t n;
};

static int collector_init(struct collector *c, size_t n)
{
    size_t most = 1;
    for (size_t i = 0; i < n; i++)
        if (c->list[i].n - c->list[i].first > most)
            most = c->list[i].n - c->list[i].first;
    c->scores = mem_array(most, sizeof *c->scores);
    return c->scores == NULL ? ERR_NOMEM : 0;
}

static int collect_slice(void *user, const struct eval_slice *slice)
{
    struct collector *c = user;
    struct eval_result *r = c->evaluation->result;
    struct score scores[SCORE_ROWS];
    int rc = scorer_judge(slice->scorer, scores);
    for (int i = 0; i < slice->n && rc == 0; i++) {
        const struct passage *p = &c->list[slice->rows[i].passage];
        c->scores[c->n++] = scores[i];
        if (c->n < p->n - p->first)
            continue;
        c->f(c->user, slice->rows[i].passage, c->scores);
        r->targets += c->n;
        r->done++;
        c->n = 0;
    }
    return rc;
}

/* How long it will take, from how long it took so far. */
static void note_time(const struct evaluation *ev, const struct scorer_place *at, size_t n,
                      double spent_s)
{
    double all_s = spent_s * (double)at->total / (double)at->read;
    char time[32];
    if (all_s < LONG_S)
        return;
    if (all_s < 120)
        snprintf(time, sizeof time, "%.0f s", all_s);
    else if (all_s < 7200)
        snprintf(time, sizeof time, "%.0f min", all_s / 60);
    else
        snprintf(time, sizeof time, "%.1f hours", all_s / 3600);
    progress_note(ev->progress,
                  "%zu %.*s, %llu tokens to read%s: about %s; Ctrl-C stops and shows the result so "
                  "far",
                  n, (int)strlen(ev->result->unit) - (n == 1), ev->result->unit,
                  (unsigned long long)at->total,
                  ev->config.by_ranks && world_size() > 1 ? " in each process" : "", time);
}

/* The next slice; by the other model too, where there is one, of the same targets. */
static int next_slice(struct eval_slice *slice, struct scorer *s, struct scorer *other)
{
    const struct score_row *rows;
    int rc = scorer_next(s, &slice->rows, &slice->logits, &slice->n, NULL);
    slice->scorer = s;
    if (rc == 0 && other != NULL)
        rc = scorer_next(other, &rows, &slice->other, &slice->n, NULL);
    return rc;
}

/* All slices, one after another; says how long it will take, when there is a first idea of it. */
static int score_slices(struct evaluation *ev, struct scorer *s, struct scorer *other, size_t n,
                        int (*f)(void *user, const struct eval_slice *slice), void *user)
{
    struct eval_slice slice;
    double start = clock_s();
    bool said = false;
    int rc = 0;
    struct scorer_place at = scorer_place(s);
    while (rc == 0 && !at.at_end) {
        rc = progress_step(ev->progress, "scoring", at.passage, n);
        if (rc == 0 && (rc = next_slice(&slice, s, other)) == 0)
            rc = f(user, &slice);
        at = scorer_place(s);
        double spent_s = clock_s() - start;
        if (rc == 0 && !said && spent_s > SAY_AFTER_S) {
            note_time(ev, &at, n, spent_s);
            said = true;
        }
    }
    ev->result->tokens += at.read;
    ev->result->seconds += clock_s() - start;
    return rc;
}

static int score_passages(struct evaluation *ev, const struct passage *list, size_t n, bool compare,
                          int (*f)(void *user, const struct eval_slice *slice), void *user)
{
    struct scorer *s = NULL, *other = NULL;
    struct eval_result *r = ev->result;
    int rc = scorer_new(&s, ev->engine);
    if (rc == 0)
        rc = scorer_begin(s, list, n);
    if (rc == 0 && compare && (rc = scorer_new(&other, ev->other)) == 0)
        rc = scorer_begin(other, list, n);
    if (rc == 0)
        rc = score_slices(ev, s, other, n, f, user);
    if (rc == ERR_INTERRUPTED && r->done > 0) {
        r->partial = true;
        rc = 0;
    }
    if (rc == 0)
        progress_step(ev->progress, "scoring", n, n);
    scorer_free(s);
    scorer_free(other);
    return rc;
}

/* ---- by several ranks ---- */

enum { SENTENCE = 900 };

/* A rank's part of the list, and what it has of it. */
struct ranks_part {
    int rc;
    bool partial;
    char sentence[SENTENCE];
    uint64_t first, n, done; /* passages */
    uint64_t n_scores, tokens;
};

/* All scores of a part, one passage behind another. */
struct part_scores {
    const struct passage *list;
    struct score *scores;
    size_t n;
};

static void keep_scores(void *user, size_t i, const struct score *scores)
{
    struct part_scores *kept = user;
    const size_t n = kept->list[i].n - kept->list[i].first;
    memcpy(kept->scores + kept->n, scores, n * sizeof *scores);
    kept->n += n;
}

static size_t count_targets(const struct passage *list, size_t n)
{
    size_t targets = 0;
    for (size_t i = 0; i < n; i++)
        targets += list[i].n - list[i].first;
    return targets;
}

/* Where a rank's part begins: not with what shares the beginning of the passage before. */
static size_t find_part(const struct passage *list, size_t n, int rank)
{
    size_t at = n * (size_t)rank / (size_t)world_size();
    while (at < n && list[at].shared > 0)
        at++;
    return at;
}

/* This rank's part of it. */
static void score_part(struct ranks_part *part, struct part_scores *kept, struct evaluation *ev,
                       const struct passage *list, size_t n)
{
    struct eval_result result = {.unit = ev->result->unit};
    struct evaluation own = *ev;
    *part = (struct ranks_part){.first = find_part(list, n, world_rank())};
    part->n = find_part(list, n, world_rank() + 1) - part->first;
    own.result = &result;
    struct collector c = {&own, list + part->first, keep_scores, kept, NULL, 0};
    kept->list = c.list;
    kept->scores = mem_array(count_targets(c.list, part->n) + 1, sizeof *kept->scores);
    part->rc = kept->scores == NULL ? ERR_NOMEM : collector_init(&c, part->n);
    if (part->rc == 0 && part->n > 0)
        part->rc = score_passages(&own, c.list, part->n, false, collect_slice, &c);
    mem_free(c.scores);
    if (part->rc == ERR_INTERRUPTED) {
        part->rc = 0;
        result.partial = true;
    }
    if (part->rc != 0)
        snprintf(part->sentence, sizeof part->sentence, "%s", err_text());
    part->partial = result.partial;
    part->done = result.done;
    part->n_scores = kept->n;
    part->tokens = result.tokens;
}

static bool part_fits(const struct ranks_part *part, const struct passage *list, size_t n)
{
    return part->first <= n && part->done <= n - part->first &&
           count_targets(list + part->first, (size_t)part->done) == part->n_scores;
}

/* What a rank has, to f; false: the result ends there. */
static bool take_part(struct evaluation *ev, const struct ranks_part *part,
                      const struct score *scores, const struct passage *list,
                      void (*f)(void *user, size_t i, const struct score *scores), void *user)
{
    struct eval_result *r = ev->result;
    for (uint64_t i = part->first; i < part->first + part->done; i++) {
        const size_t n = list[i].n - list[i].first;
        f(user, (size_t)i, scores);
        scores += n;
        r->targets += n;
    }
    r->done += part->done;
    r->tokens += part->tokens;
    r->partial |= part->partial;
    return !part->partial;
}

/* Rank 0: of all ranks, in their order; of those behind a partial one nothing counts. */
static int take_parts(struct evaluation *ev, const struct ranks_part *own,
                      const struct score *scores, const struct passage *list, size_t n,
                      void (*f)(void *user, size_t i, const struct score *scores), void *user)
{
    struct ranks_part part;
    bool counts = own->rc == 0 && take_part(ev, own, scores, list, f, user);
    int rc = own->rc;
    for (int rank = 1; rank < world_size(); rank++) {
        world_receive_whole(rank, TAG_STATE, &part, sizeof part);
        struct score *theirs = mem_array((size_t)part.n_scores + 1, sizeof *theirs);
        if (theirs == NULL) { /* the rank would wait for ever */
            world_end_all(1);
            return ERR_NOMEM;
        }
        world_receive_whole(rank, TAG_STATE, theirs, (size_t)part.n_scores * sizeof *theirs);
        if (rc == 0 && part.rc != 0)
            rc = err_set(part.rc, "rank %d on %s: %s", rank, world_host(rank), part.sentence);
        else if (rc == 0 && !part_fits(&part, list, n))
            rc = err_set(ERR_MISMATCH, "rank %d on %s: its scores are of other passages", rank,
                         world_host(rank));
        counts = counts && rc == 0 && take_part(ev, &part, theirs, list, f, user);
        mem_free(theirs);
    }
    if (rc == 0 && ev->result->partial && ev->result->done == 0)
        rc = err_set(ERR_INTERRUPTED, "interrupted");
    return rc;
}

static uint64_t hash_passages(const struct passage *list, size_t n)
{
    uint64_t hash = xxh64(&n, sizeof n);
    for (size_t i = 0; i < n; i++) {
        const struct passage *p = &list[i];
        const uint64_t fields[] = {hash, p->n, p->first, p->shared,
                                   xxh64(p->ids, p->n * sizeof *p->ids)};
        hash = xxh64(fields, sizeof fields);
    }
    return hash;
}

/* Each rank has read a file of its own host. */
static int agree_on_passages(struct evaluation *ev, const struct passage *list, size_t n)
{
    char shown[256];
    int rc = eval_agree(ev, 0);
    if (rc != 0)
        return rc;
    const uint64_t own = hash_passages(list, n);
    uint64_t first = own;
    world_broadcast(&first, sizeof first, 0);
    if (own != first)
        rc = err_set(ERR_MISMATCH, "the tokens of %s are not the same as on rank 0",
                     file_show(shown, sizeof shown, ev->path));
    return world_agree(rc);
}

int eval_agree(struct evaluation *ev, int rc)
{
    if (!ev->config.by_ranks || ev->agreed)
        return rc;
    ev->agreed = true;
    return world_agree(rc);
}

static int score_by_ranks(struct evaluation *ev, const struct passage *list, size_t n,
                          void (*f)(void *user, size_t i, const struct score *scores), void *user)
{
    struct part_scores kept = {0};
    struct ranks_part part;
    const double start = clock_s();
    int rc = agree_on_passages(ev, list, n);
    if (rc != 0)
        return rc;
    score_part(&part, &kept, ev, list, n);
    rc = part.rc;
    if (world_rank() == 0) {
        rc = take_parts(ev, &part, kept.scores, list, n, f, user);
    } else {
        world_send_whole(0, TAG_STATE, &part, sizeof part);
        world_send_whole(0, TAG_STATE, kept.scores, kept.n * sizeof *kept.scores);
    }
    ev->result->seconds += clock_s() - start;
    mem_free(kept.scores);
    return rc;
}

int eval_score(struct evaluation *ev, const struct passage *list, size_t n,
               void (*f)(void *user, size_t i, const struct score *scores), void *user)
{
    if (ev->config.by_ranks && world_size() > 1)
        return score_by_ranks(ev, list, n, f, user);
    struct collector c = {ev, list, f, user, NULL, 0};
    int rc = collector_init(&c, n);
    if (rc == 0)
        rc = score_passages(ev, list, n, false, collect_slice, &c);
    mem_free(c.scores);
    return rc;
}

int eval_compare(struct evaluation *ev, const struct passage *list, size_t n,
                 int (*f)(void *user, const struct eval_slice *slice), void *user)
{
    return score_passages(ev, list, n, true, f, user);
}
