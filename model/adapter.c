#include "model/adapter.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/rng.h"
#include "model/schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- which matrices ---- */

/* Matrices in a layer. */
static int count_sites(void)
{
    int n = 0;
    while (schema_matrix(n) != NULL)
        n++;
    return n;
}

/* "attn.c_attn" */
static const char *site_name(char out[48], int site)
{
    const char *name = schema_matrix(site)->name;
    snprintf(out, 48, "%.*s", (int)(strrchr(name, '.') - name), name);
    return out;
}

const char *adapter_branch_name(char out[64], const struct low_rank *t)
{
    char site[48];
    snprintf(out, 64, "h.%d.%s", t->layer, site_name(site, t->site));
    return out;
}

struct param_tensor *adapter_tensor(const struct low_rank *t, const struct params *table)
{
    char name[64], weight[80];
    snprintf(weight, sizeof weight, "%s.weight", adapter_branch_name(name, t));
    struct param_tensor *p = params_find(table, weight);
    return p != NULL && p->rows == t->K && p->cols == t->N ? p : NULL;
}

struct linear *adapter_matrix(const struct low_rank *t, const struct params *p)
{
    return schema_linear((struct schema_tensor){schema_matrix(t->site), t->layer}, p);
}

/* PEFT's rule: a target is the whole name, or its end after a dot. */
static bool matches_site(const char *target, size_t n, int layer, int site)
{
    char name[80], stem[48];
    size_t all =
        (size_t)snprintf(name, sizeof name, ".transformer.h.%d.%s", layer, site_name(stem, site));
    return n > 0 && n < all && name[all - n - 1] == '.' && strncmp(name + all - n, target, n) == 0;
}

static bool is_targeted(const char *targets, int layer, int site)
{
    if (strcmp(targets, "all-linear") == 0)
        return true;
    for (const char *t = targets; *t != '\0'; t += strspn(t, ", ")) {
        size_t n = strcspn(t, ", ");
        if (matches_site(t, n, layer, site))
            return true;
        t += n;
    }
    return false;
}

/* Each target must match a matrix: one that matches none is a typing error. */
static int check_targets(const char *targets, const struct config *c)
{
    const int n_sites = count_sites();
    char shown[100], one[100];
    const char *t = targets + strspn(targets, ", ");
    if (*t == '\0')
        return err_set(ERR_RANGE, "there are no target_modules: an adapter needs some, as c_attn");
    for (; strcmp(targets, "all-linear") != 0 && *t != '\0'; t += strspn(t, ", ")) {
        size_t n = strcspn(t, ", ");
        bool found = false;
        for (int i = 0; i < c->n_layer * n_sites && !found; i++)
            found = matches_site(t, n, i / n_sites, i % n_sites);
        if (!found) {
            snprintf(one, sizeof one, "%.*s", (int)n, t);
            return err_set(ERR_RANGE,
                           "target_modules has %s, which is not a matrix of the %d layers: c_attn, "
                           "c_proj, c_fc, attn.c_proj, mlp.c_proj and all-linear are possible",
                           file_show(shown, sizeof shown, one), c->n_layer);
        }
        t += n;
    }
    return 0;
}

static int check_config(const struct adapter_config *a, const struct config *c)
{
    if (a->rank < 1 || a->rank > ADAPTER_MAX_RANK)
        return err_set(ERR_RANGE, "the adapter's rank must be 1 to %d, not %d", ADAPTER_MAX_RANK,
                       a->rank);
    if (!isfinite(a->alpha))
        return err_set(ERR_RANGE, "the adapter's alpha is NaN or infinite");
    if (!(a->dropout >= 0 && a->dropout < 1))
        return err_set(ERR_RANGE, "the adapter's dropout must be at least 0 and below 1, not %g",
                       (double)a->dropout);
    return check_targets(a->targets, c);
}

static int site_rank(const struct adapter_config *a, int site)
{
    return a->qkv != 0 && strcmp(schema_matrix(site)->name, "attn.c_attn.weight") == 0 ? 3 * a->rank
                                                                                       : a->rank;
}

int adapter_count(size_t *n, const struct adapter_config *a, const struct config *c)
{
    const int n_sites = count_sites();
    int rc = check_config(a, c), K, N;
    *n = 0;
    for (int i = 0; i < c->n_layer * n_sites && rc == 0; i++)
        if (is_targeted(a->targets, i / n_sites, i % n_sites)) {
            schema_shape(schema_matrix(i % n_sites), c, &K, &N);
            *n += (size_t)site_rank(a, i % n_sites) * ((size_t)K + (size_t)N);
        }
    return rc;
}

size_t adapter_alternate_bytes(const struct adapter_config *a, const struct config *c,
                               enum dtype dtype)
{
    const int n_sites = count_sites();
    size_t bytes = 0;
    for (int i = 0, K, N; i < c->n_layer * n_sites; i++)
        if (is_targeted(a->targets, i / n_sites, i % n_sites)) {
            schema_shape(schema_matrix(i % n_sites), c, &K, &N);
            bytes += linear_bytes(linear_dtype(dtype, K), K, N);
        }
    return bytes;
}

/* ---- life ---- */

static void place_branches(struct adapter *a, const struct config *c)
{
    const int n_sites = count_sites();
    char name[64];
    size_t at = 0;
    for (int i = 0; i < c->n_layer * n_sites; i++) {
        struct low_rank *t = &a->branches[a->n_branches];
        if (!is_targeted(a->config.targets, i / n_sites, i % n_sites))
            continue;
        *t = (struct low_rank){.layer = i / n_sites, .site = i % n_sites};
        t->rank = site_rank(&a->config, t->site);
        schema_shape(schema_matrix(t->site), c, &t->K, &t->N);
        double by = a->config.rslora ? sqrt((double)a->config.rank) : (double)a->config.rank;
        t->scale = (float)((double)a->config.alpha / by);
        a->n_branches++;
        for (int half = 0; half < 2; half++) {
            struct param_tensor *p = &a->tensors[a->n_tensors];
            *p = (struct param_tensor){.kind = PARAM_ROWS,
                                       .rows = t->rank,
                                       .cols = half ? t->N : t->K,
                                       .layer = t->layer,
                                       .decays = true};
            snprintf(p->name, sizeof p->name, "%.56s.lora_%c", adapter_branch_name(name, t),
                     "AB"[half]);
            p->data = a->data + at;
            *(half ? &t->b : &t->a) = p->data;
            a->offset[a->n_tensors++] = at;
            at += (size_t)p->rows * (size_t)p->cols;
        }
    }
    a->offset[a->n_tensors] = at;
}

int adapter_new(struct adapter **out, const struct adapter_config *config, const struct config *c)
{
    size_t n, most = (size_t)(c->n_layer * count_sites());
    int rc = adapter_count(&n, config, c);
    if (rc != 0)
        return rc;
    struct adapter *a = mem_alloc(sizeof *a);
    if (a == NULL)
        return ERR_NOMEM;
    a->config = *config;
    a->type = c->type;
    a->n = n;
    if ((a->config.targets = mem_strdup(config->targets)) == NULL ||
        (a->branches = mem_array(most, sizeof *a->branches)) == NULL ||
        (a->tensors = mem_array(2 * most, sizeof *a->tensors)) == NULL ||
        (a->offset = mem_array(2 * most + 1, sizeof *a->offset)) == NULL ||
        (a->data = mem_map("LoRA weights", n * sizeof *a->data)) == NULL) {
        adapter_free(a);
        return ERR_NOMEM;
    }
    place_branches(a, c);
    *out = a;
    return 0;
}

void adapter_free(struct adapter *a)
{
    if (a == NULL)
        return;
    mem_unmap(a->data, a->n * sizeof *a->data);
    mem_unmap(a->alternate, a->alternate_bytes);
    mem_free(a->branches);
    mem_free(a->tensors);
    mem_free(a->offset);
    mem_free(a->config.targets);
    mem_free(a->path);
    mem_free(a);
}

void adapter_randomize(struct adapter *a, uint64_t seed)
{
    const int n_sites = count_sites();
    memset(a->data, 0, a->n * sizeof *a->data);
    for (int i = 0; i < a->n_branches; i++) {
        const struct low_rank *t = &a->branches[i];
        double bound = 1 / sqrt((double)t->K);
        uint64_t stream = (uint64_t)1 << 32 | (uint64_t)(t->layer * n_sites + t->site);
        for (size_t k = 0; k < (size_t)t->rank * (size_t)t->K; k++)
            t->a[k] = (float)((2 * rng_uniform(seed, stream, k) - 1) * bound);
    }
}

/* ---- arithmetic ---- */

enum { RUN = 64 };

/* w[i] += scale sum_r left[r ldl] right[r ldr + i] for n <= RUN adjacent elements i. */
static void add_run(float *w, const float *left, size_t ldl, const float *right, size_t ldr,
                    int rank, float scale, size_t n)
{
    float sum[RUN] = {0};
    for (size_t r = 0; r < (size_t)rank; r++) {
        const float x = left[r * ldl], *y = right + r * ldr;
        if (n == RUN)
            for (size_t i = 0; i < RUN; i++)
                sum[i] += x * y[i];
        else
            for (size_t i = 0; i < n; i++)
                sum[i] += x * y[i];
    }
    for (size_t i = 0; i < n; i++)
        w[i] += scale * sum[i];
}

void adapter_add(const struct low_rank *t, float *w, bool out_major, uint64_t first, size_t n)
{
    const float *left = out_major ? t->b : t->a, *right = out_major ? t->a : t->b;
    const size_t rows = (size_t)(out_major ? t->N : t->K), cols = (size_t)(out_major ? t->K : t->N);
    size_t row = (size_t)(first / cols), col = (size_t)(first % cols);
    while (n > 0) {
        size_t run = cols - col < RUN ? cols - col : RUN;
        run = run < n ? run : n;
        add_run(w, left + row, rows, right + col, cols, t->rank, t->scale, run);
        w += run;
        n -= run;
        if ((col += run) == cols) {
            col = 0;
            row++;
        }
    }
}

void adapter_set_branches(const struct adapter *a, struct params *p)
{
    for (int i = 0; i < a->n_branches; i++)
        adapter_matrix(&a->branches[i], p)->lora = &a->branches[i];
}
