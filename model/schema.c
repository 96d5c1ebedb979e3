#include "model/schema.h"

#include <stdio.h>
#include <string.h>

#define ONCE(field) .offset = offsetof(struct params, field)
#define EACH(field) .in_layer = true, .offset = offsetof(struct layer, field)
#define VECTOR .kind = PARAM_VECTOR, .rows = "1"
#define MATRIX .kind = PARAM_CONV1D, .decays = true

/* GPT-2 (Radford et al. 2019) and GPT-Neo (Black et al. 2021). */
static const struct schema_row schema[] = {
    {SCHEMA_EMBEDDING, "token_embd", PARAM_EMBEDDING, "V", "C", .decays = true, ONCE(wte)},
    {"wpe.weight", "position_embd", PARAM_ROWS, "n", "C", .decays = true, ONCE(wpe)},
    {"ln_1.weight", "attn_norm", VECTOR, .cols = "C", EACH(ln_1_weight)},
    {"ln_1.bias", "attn_norm", VECTOR, .cols = "C", EACH(ln_1_bias)},
    {"attn.c_attn.weight", "attn_qkv", MATRIX, .rows = "C", .cols = "3A", .fused = 3, EACH(c_attn)},
    {"attn.c_attn.bias", "attn_qkv", VECTOR, .cols = "3A", .gpt2_only = true, EACH(c_attn.bias)},
    {"attn.c_proj.weight", "attn_output", MATRIX, .rows = "A", .cols = "C", EACH(attn_proj)},
    {"attn.c_proj.bias", "attn_output", VECTOR, .cols = "C", EACH(attn_proj.bias)},
    {"ln_2.weight", "ffn_norm", VECTOR, .cols = "C", EACH(ln_2_weight)},
    {"ln_2.bias", "ffn_norm", VECTOR, .cols = "C", EACH(ln_2_bias)},
    {"mlp.c_fc.weight", "ffn_up", MATRIX, .rows = "C", .cols = "F", EACH(c_fc)},
    {"mlp.c_fc.bias", "ffn_up", VECTOR, .cols = "F", EACH(c_fc.bias)},
    {"mlp.c_proj.weight", "ffn_down", MATRIX, .rows = "F", .cols = "C", EACH(mlp_proj)},
    {"mlp.c_proj.bias", "ffn_down", VECTOR, .cols = "C", EACH(mlp_proj.bias)},
    {"ln_f.weight", "output_norm", VECTOR, .cols = "C", ONCE(ln_f_weight)},
    {"ln_f.bias", "output_norm", VECTOR, .cols = "C", ONCE(ln_f_bias)},
    {SCHEMA_HEAD, "output", PARAM_EMBEDDING, "V", "C", .decays = true, .untied_only = true,
     ONCE(lm_head)},
};
enum { N_ROWS = sizeof schema / sizeof *schema };

static bool has_row(const struct config *c, const struct schema_row *row)
{
    return !(row->untied_only && c->tie_word_embeddings) &&
           !(row->gpt2_only && c->type != MODEL_GPT2);
}

int schema_first_of_layers(const struct config *c)
{
    int n = 0;
    for (int i = 0; !schema[i].in_layer; i++)
        n += has_row(c, &schema[i]);
    return n;
}

int schema_tensors_per_layer(const struct config *c)
{
    int n = 0;
    for (int i = 0; i < N_ROWS; i++)
        n += schema[i].in_layer && has_row(c, &schema[i]);
    return n;
}

int schema_count(const struct config *c)
{
    int n = 0;
    for (int i = 0; i < N_ROWS; i++)
        if (has_row(c, &schema[i]))
            n += schema[i].in_layer ? c->n_layer : 1;
    return n;
}

/* The row of tensor i of a model of one layer. */
static const struct schema_row *row_at(const struct config *c, int i)
{
    const struct schema_row *row = schema;
    while (!has_row(c, row) || i-- > 0)
        row++;
    return row;
}

struct schema_tensor schema_tensor(const struct config *c, int i)
{
    const int first = schema_first_of_layers(c), each = schema_tensors_per_layer(c), at = i - first;
    if (at < 0)
        return (struct schema_tensor){row_at(c, i), -1};
    if (at < c->n_layer * each)
        return (struct schema_tensor){row_at(c, first + at % each), at / each};
    return (struct schema_tensor){row_at(c, i - (c->n_layer - 1) * each), -1};
}

/* The value of a dimension such as "C" or "3A": a letter, perhaps with a digit as factor. */
static int dimension_size(const char *letters, const struct config *c)
{
    int times = 1;
    if (*letters >= '0' && *letters <= '9')
        times = *letters++ - '0';
    switch (*letters) {
    case 'A':
        return times * config_heads_width(c);
    case 'C':
        return times * c->n_embd;
    case 'F':
        return times * c->n_inner;
    case 'V':
        return times * c->n_vocab;
    case 'n':
        return times * c->n_ctx;
    default:
        return times;
    }
}

void schema_shape(const struct schema_row *row, const struct config *c, int *rows, int *cols)
{
    *rows = dimension_size(row->rows, c);
    *cols = dimension_size(row->cols, c);
}

void schema_name(char *out, size_t n, struct schema_tensor t)
{
    if (t.layer < 0)
        snprintf(out, n, "%s", t.row->name);
    else
        snprintf(out, n, "h.%d.%s", t.layer, t.row->name);
}

struct schema_tensor schema_find(const char *name)
{
    int layer = -1, used = 0;
    if (sscanf(name, "h.%d.%n", &layer, &used) != 1 || used == 0 || layer < 0) {
        layer = -1;
        used = 0;
    }
    for (int i = 0; i < N_ROWS; i++)
        if (schema[i].in_layer == (layer >= 0) && strcmp(schema[i].name, name + used) == 0)
            return (struct schema_tensor){&schema[i], layer};
    return (struct schema_tensor){NULL, -1};
}

const struct schema_row *schema_matrix(int i)
{
    for (int r = 0; r < N_ROWS; r++)
        if (schema[r].kind == PARAM_CONV1D && i-- == 0)
            return &schema[r];
    return NULL;
}

static char *tensor_field(struct schema_tensor t, const struct params *p)
{
    return (t.row->in_layer ? (char *)&p->layers[t.layer] : (char *)p) + t.row->offset;
}

struct linear *schema_linear(struct schema_tensor t, const struct params *p)
{
    return (struct linear *)(void *)tensor_field(t, p);
}

/* By memcpy, since fields are float * or const float *. */
float *schema_data(struct schema_tensor t, const struct params *p)
{
    float *data;
    memcpy(&data, tensor_field(t, p), sizeof data);
    return data;
}

void schema_set_data(struct schema_tensor t, struct params *p, float *data)
{
    memcpy(tensor_field(t, p), &data, sizeof data);
}
