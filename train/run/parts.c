#include "train/run/parts.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/progress.h"
#include "train/config/weight_parts.h"
#include "train/parallel/world.h"
#include "train/run/checkpoint.h"
#include "train/run/inside.h"
#include "train/run/ranks.h"
#include "train/run/spread.h"
#include "weights/hf/save_hf.h"
#include "weights/model_source.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where all write; empty: the path is too long. */
struct parts_place {
    char folder[PATH_MAX];
};

enum { FILES = 2 }; /* of a rank: weights and blocks; no name: it has none */

/* Who writes what, the same on all ranks. */
struct parts_plan {
    int *rank;                     /* [n_tensors], that writes the tensor */
    int *of;                       /* [n_tensors], into which part */
    struct hf_parts model;         /* n 0: rank 0 has all weights, and writes them */
    bool joins;                    /* tensors lie on several ranks */
    int n_blocks;                  /* parts of the optimizer's blocks */
    int own_model, own_blocks;     /* this rank's parts; -1: none */
    bool *sees;                    /* [world] */
    struct checkpoint_file *files; /* [world][FILES], on rank 0 */
};

/* ---- who writes what ---- */

static void release_plan(struct parts_plan *p)
{
    mem_free(p->rank);
    mem_free(p->of);
    mem_free(p->sees);
    mem_free(p->files);
}

/* Each tensor by the rank that has its first element. */
static void follow_shares(struct parts_plan *p, const struct run *r)
{
    const struct weights *w = &r->weights;
    for (int i = 0; i < w->view.n_tensors; i++)
        p->rank[i] =
            run_shares_part(r, SHARE_WEIGHTS, 0, w->offset[i] * dtype_bytes(w->dtype), 1).rank;
}

/* All ranks have all of them: runs of about as many bytes each, on ranks far from each other, which
 * are on different hosts if any are. */
static void divide_evenly(struct parts_plan *p, const struct weights *w, int n)
{
    for (int i = 0; i < w->view.n_tensors; i++) {
        const double middle = ((double)w->offset[i] + (double)w->offset[i + 1]) / 2;
        const int part = (int)(middle / (double)w->n * n);
        p->rank[i] = (part < n ? part : n - 1) * world_size() / n;
    }
}

/* By rank. */
static void number_parts(struct parts_plan *p, const struct run *r)
{
    const int n = r->weights.view.n_tensors;
    for (int rank = 0; rank < world_size(); rank++) {
        bool any = false;
        for (int i = 0; i < n; i++)
            if (p->rank[i] == rank) {
                any = true;
                p->of[i] = p->model.n;
            }
        if (any && rank == world_rank())
            p->own_model = p->model.n;
        p->model.n += any;
    }
}

static void divide_tensors(struct parts_plan *p, const struct run *r)
{
    const int n = weight_parts(&r->config, &r->model->config);
    p->joins = run_shares_is_divided(r, SHARE_WEIGHTS);
    if (!p->joins && n == 1)
        return;
    if (p->joins)
        follow_shares(p, r);
    else
        divide_evenly(p, &r->weights, n < CHECKPOINT_MAX_PARTS ? n : CHECKPOINT_MAX_PARTS);
    number_parts(p, r);
}

/* ERR_NOMEM. */
static int make_plan(struct parts_plan *p, const struct run *r)
{
    const size_t n = (size_t)r->weights.view.n_tensors, size = (size_t)world_size();
    *p = (struct parts_plan){.own_model = -1, .own_blocks = -1};
    p->rank = mem_array(n, sizeof *p->rank);
    p->of = mem_array(n, sizeof *p->of);
    p->sees = mem_array(size, sizeof *p->sees);
    p->files = mem_array(size * FILES, sizeof *p->files);
    if (p->rank == NULL || p->of == NULL || p->sees == NULL || p->files == NULL)
        return ERR_NOMEM;
    p->model.of = p->of;
    divide_tensors(p, r);
    for (int rank = 0; rank < world_size(); rank++)
        if (run_shares_speaks(r, rank, SHARE_STATE)) {
            if (rank == world_rank())
                p->own_blocks = p->n_blocks;
            p->n_blocks++;
        }
    return 0;
}

/* Whether all ranks reach the folder, which has a name that was never there before. */
static bool all_see(struct parts_plan *p, const struct parts_place *place)
{
    const bool own = *place->folder != '\0' && p->model.n <= CHECKPOINT_MAX_PARTS &&
                     p->n_blocks <= CHECKPOINT_MAX_PARTS &&
                     file_exists_in(place->folder, "config.json") &&
                     access(place->folder, W_OK | X_OK) == 0;
    bool all = true;
    world_all_gather(p->sees, &own, sizeof own);
    for (int i = 0; i < world_size(); i++)
        all &= p->sees[i];
    return all;
}

/* ---- writing ---- */

/* What other ranks have of a tensor to the one that writes it. */
static void join_tensor(const struct run *r, int tensor, int to)
{
    const struct weights *w = &r->weights;
    const size_t each = dtype_bytes(w->dtype), end = w->offset[tensor + 1] * each;
    for (size_t at = w->offset[tensor] * each; at < end;) {
        const struct run_part p = run_shares_part(r, SHARE_WEIGHTS, 0, at, end - at);
        if (p.rank != to && p.rank == world_rank())
            world_send_whole(to, TAG_STATE, run_shares_place(r, &p), p.n);
        else if (p.rank != to && to == world_rank())
            world_receive_whole(p.rank, TAG_STATE, run_shares_place(r, &p), p.n);
        at += p.n;
    }
}

/* A rank other than 0 is not stopped by Ctrl-C: rank 0 says what becomes of the checkpoint. */
static bool goes_on(int rc)
{
    if (rc != ERR_INTERRUPTED || world_rank() == 0)
        return false;
    interrupt_clear();
    return true;
}

static int hash_own(struct checkpoint_file *f, const char *folder, const struct progress *p)
{
    int rc;
    while (goes_on(rc = checkpoint_hash_file(f, folder, p)))
        ;
    return rc;
}

static int write_model(struct checkpoint_file *f, const struct parts_plan *p, const char *folder,
                       const struct source *s, const struct progress *progress)
{
    const struct save_config as = {.convert = false};
    int rc = 0;
    if (p->own_model >= 0) {
        hf_part_name(f->name, p->own_model, p->model.n);
        while (goes_on(rc = hf_part_write(folder, p->own_model, &p->model, s, progress)))
            ;
    } else if (p->model.n == 0 && world_rank() == 0) {
        rc = hf_weights_write(folder, s, &as, progress); /* hashed with what else is there */
    }
    return rc == 0 && *f->name != '\0' ? hash_own(f, folder, progress) : rc;
}

static int write_blocks(struct checkpoint_file *f, const struct parts_plan *p, const char *folder,
                        const struct run *r)
{
    struct optimizer_block blocks[OPTIMIZER_MAX_BLOCKS];
    struct spans own[OPTIMIZER_MAX_BLOCKS];
    const struct block_content c = {
        .blocks = blocks, .n_blocks = optimizer_blocks(r->optimizer, blocks), .own = own};
    if (p->own_blocks < 0)
        return 0;
    for (int i = 0; i < c.n_blocks; i++)
        own[i] = run_shares_own(r, &blocks[i]);
    block_file_name(f->name, p->own_blocks, p->n_blocks);
    int rc;
    while (goes_on(rc = block_file_write(folder, f->name, &c, r->events.progress)))
        ;
    return rc == 0 ? hash_own(f, folder, r->events.progress) : rc;
}

static int write_own(struct checkpoint_file own[FILES], const struct parts_plan *p,
                     const char *folder, struct run *r, struct source *s)
{
    int rc = write_model(&own[0], p, folder, s, r->events.progress);
    return rc == 0 ? write_blocks(&own[1], p, folder, r) : rc;
}

/* By all ranks; files of all are on rank 0 then. */
static int write_together(struct parts_plan *p, bool *written, const struct parts_place *place,
                          struct run *r, struct source *s)
{
    struct checkpoint_file own[FILES];
    memset(own, 0, sizeof own);
    int rc = make_plan(p, r);
    if (rc == 0)
        rc = source_open_params(s, &r->weights.view, r->model);
    if ((rc = world_agree(rc)) != 0 || !(*written = all_see(p, place)))
        return rc;
    for (int i = 0; i < r->weights.view.n_tensors && p->joins; i++)
        join_tensor(r, i, p->rank[i]);
    rc = write_own(own, p, place->folder, r, s);
    run_shares_drop(r, SHARE_WEIGHTS);
    if ((rc = world_agree(rc)) == 0)
        world_gather(p->files, own, sizeof own);
    return rc;
}

/* ---- rank 0 ---- */

static int check_seen(const struct checkpoint_file *f, const char *folder, int rank)
{
    struct stat st;
    char *path = file_join(folder, f->name);
    if (path == NULL)
        return ERR_NOMEM;
    const bool seen = stat(path, &st) == 0 && (uint64_t)st.st_size == f->bytes;
    mem_free(path);
    return seen
               ? 0
               : err_set(ERR_IO, "%s, which rank %d on %s has written, is not seen whole by rank 0",
                         f->name, rank, world_host(rank));
}

static int add_files(json_t *files, const struct parts_plan *p, const char *folder)
{
    int rc = 0;
    for (int i = 0; i < world_size() * FILES && rc == 0; i++) {
        const struct checkpoint_file *f = &p->files[i];
        if (*f->name != '\0' && (rc = check_seen(f, folder, i / FILES)) == 0)
            rc = checkpoint_add_file(files, f);
    }
    return rc;
}

int run_parts_write(void *user, const char *folder, json_t *files, bool *written)
{
    struct run *r = user;
    struct source s = {0};
    struct parts_plan p;
    struct parts_place place;
    memset(&place, 0, sizeof place);
    *written = false;
    if (strlen(folder) < sizeof place.folder)
        memcpy(place.folder, folder, strlen(folder));
    run_ranks_begin_parts(r);
    world_broadcast(&place, sizeof place, 0);
    int rc = write_together(&p, written, &place, r, &s);
    if (rc == 0 && *written && (rc = add_files(files, &p, folder)) == 0 && p.model.n > 0)
        rc = hf_index_write(folder, &p.model, &s);
    source_close(&s);
    release_plan(&p);
    return rc;
}

/* ---- the others ---- */

/* What fails here, rank 0 says. */
void run_parts_follow(struct run *r)
{
    struct source s = {0};
    struct parts_plan p;
    struct parts_place place;
    bool written = false;
    run_spread_finish(r);
    world_broadcast(&place, sizeof place, 0);
    if (write_together(&p, &written, &place, r, &s) != 0)
        err_clear();
    source_close(&s);
    release_plan(&p);
}
