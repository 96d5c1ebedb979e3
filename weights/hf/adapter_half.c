#include "weights/hf/adapter_half.h"

#include "model/base/err.h"
#include "model/base/file_show.h"
#include "model/base/json.h"
#include "weights/tensors/names.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 160, QKV = 3 };

static void branch_weight(char out[NAMES_BYTES], const struct low_rank *t)
{
    char matrix[64];
    snprintf(out, NAMES_BYTES, "%s.weight", adapter_branch_name(matrix, t));
}

bool adapter_half_is_split(const struct adapter *a, const struct adapter_half *h)
{
    return a->config.qkv != 0 && h->parts > 1;
}

/* The next half, part or branch, whether the adapter has it or not. */
static bool step_half(struct adapter_half *h, const struct adapter *a)
{
    char name[NAMES_BYTES];
    const struct low_rank *t = h->t;
    if (t != NULL && (h->half == 0 || h->part + 1 < h->parts)) {
        h->part += h->half;
        h->half = !h->half;
        return true;
    }
    t = t == NULL ? a->branches : t + 1;
    if (t == a->branches + a->n_branches)
        return false;
    branch_weight(name, t);
    *h = (struct adapter_half){
        .t = t, .parts = naming_parts(naming_hf(a->type), name), .rank = a->config.rank};
    return true;
}

bool adapter_half_next(struct adapter_half *h, const struct adapter *a)
{
    bool more = step_half(h, a);
    while (more && adapter_half_is_split(a, h) && (a->config.qkv >> h->part & 1) == 0)
        more = step_half(h, a);
    if (!more)
        return false;
    h->rows = h->half ? h->t->N / h->parts : h->rank;
    h->cols = h->half ? h->rank : h->t->K;
    return true;
}

void adapter_half_name(char out[ADAPTER_NAME], const struct adapter *a,
                       const struct adapter_half *h, bool whole)
{
    char name[NAMES_BYTES], file[NAMES_BYTES];
    branch_weight(name, h->t);
    naming_part(file, sizeof file, naming_hf(a->type), name, h->part);
    snprintf(out, ADAPTER_NAME, "base_model.model.%s%.*s.lora_%c.weight",
             whole ? "transformer." : "", (int)(strrchr(file, '.') - file), file, "AB"[h->half]);
}

/* The parts' own A are one below the other in the branch's. */
float *adapter_half_element(const struct adapter *a, const struct adapter_half *h, size_t i)
{
    const size_t first = adapter_half_is_split(a, h) ? (size_t)(h->part * h->rank) : 0;
    const size_t row = i / (size_t)h->cols, col = i % (size_t)h->cols;
    return h->half ? &h->t->b[(first + col) * (size_t)h->t->N + (size_t)(h->part * h->rows) + row]
                   : &h->t->a[(first + row) * (size_t)h->t->K + col];
}

/* ---- target_modules ---- */

/* GPT-Neo's modules, by the ends of their names, and ours. */
static const struct target {
    const char *theirs, *ours;
    int qkv;
} targets[] = {{"q_proj", "attn.c_attn", 1},
               {"k_proj", "attn.c_attn", 2},
               {"v_proj", "attn.c_attn", 4},
               {"out_proj", "attn.c_proj", 0},
               {"c_fc", "mlp.c_fc", 0},
               {"c_proj", "mlp.c_proj", 0},
               {"mlp.c_fc", "mlp.c_fc", 0},
               {"mlp.c_proj", "mlp.c_proj", 0},
               {"attn.attention.q_proj", "attn.c_attn", 1},
               {"attn.attention.k_proj", "attn.c_attn", 2},
               {"attn.attention.v_proj", "attn.c_attn", 4},
               {"attn.attention.out_proj", "attn.c_proj", 0}};
enum { N_TARGETS = sizeof targets / sizeof *targets };

static const struct target *find_target(const char *name)
{
    for (int i = 0; i < N_TARGETS; i++)
        if (strcmp(targets[i].theirs, name) == 0)
            return &targets[i];
    return NULL;
}

static int add_target(struct buf *out, int *qkv, const char *name, enum model_type type)
{
    char shown[SHOWN];
    if (type == MODEL_GPT_NEO) {
        const struct target *t = find_target(name);
        if (t == NULL)
            return err_set(ERR_UNSUPPORTED,
                           "target_modules has %s; of GPT-Neo's modules q_proj, k_proj, v_proj, "
                           "out_proj, c_fc and c_proj are read",
                           file_show(shown, sizeof shown, name));
        const bool again = t->qkv != 0 && *qkv != 0;
        *qkv |= t->qkv;
        if (again)
            return 0;
        name = t->ours;
    }
    int rc = out->n > 0 ? buf_char(out, ',') : 0;
    return rc == 0 ? buf_str(out, name) : rc;
}

int adapter_targets_read(struct buf *out, int *qkv, const json_t *o, enum model_type type)
{
    const json_t *v = json_object_get(o, "target_modules");
    char shown[SHOWN];
    *qkv = 0;
    if (json_is_string(v) && strcmp(json_string_value(v), "all-linear") == 0) {
        *qkv = (1 << QKV) - 1;
        return buf_str(out, "all-linear");
    }
    if (!json_is_array(v))
        return err_set(ERR_UNSUPPORTED,
                       "target_modules is %s: only a list of names or all-linear is read",
                       v == NULL ? "missing" : json_shown(shown, sizeof shown, v));
    int rc = 0;
    for (size_t i = 0; i < json_array_size(v) && rc == 0; i++) {
        const char *name = json_string_value(json_array_get(v, i));
        if (name == NULL || *name == '\0' || strpbrk(name, ", ") != NULL)
            return err_set(ERR_FORMAT, "target_modules has %s, must be names",
                           json_shown(shown, sizeof shown, json_array_get(v, i)));
        rc = add_target(out, qkv, name, type);
    }
    return rc;
}

/* Of one of ours: in GPT-2 itself, in GPT-Neo the modules that it stands for. */
static int list_target(json_t *list, const char *name, size_t n, const struct adapter *a)
{
    const int qkv = a->config.qkv == 0 ? (1 << QKV) - 1 : a->config.qkv;
    if (a->type != MODEL_GPT_NEO)
        return json_array_append_new(list, json_stringn(name, n));
    int rc = 0;
    for (int i = 0; i < 6 && rc == 0; i++) { /* the shortest names come first */
        const size_t all = strlen(targets[i].ours);
        const bool is = n == all || (n < all && targets[i].ours[all - n - 1] == '.');
        if (is && strncmp(targets[i].ours + all - n, name, n) == 0 &&
            (targets[i].qkv == 0 || (targets[i].qkv & qkv) != 0))
            rc = json_array_append_new(list, json_string(targets[i].theirs));
    }
    return rc;
}

json_t *adapter_targets_list(const struct adapter *a)
{
    const char *ours = a->config.targets;
    if (strcmp(ours, "all-linear") == 0)
        return json_string(ours);
    json_t *list = json_array();
    int rc = list == NULL ? -1 : 0;
    for (const char *t = ours + strspn(ours, ", "); *t != '\0' && rc == 0; t += strspn(t, ", ")) {
        size_t n = strcspn(t, ", ");
        rc = list_target(list, t, n, a);
        t += n;
    }
    if (rc == 0)
        return list;
    json_decref(list);
    return NULL;
}
