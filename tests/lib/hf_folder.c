#include "tests/lib/hf_folder.h"

#include "model/base/half.h"
#include "model/base/rng.h"

void hf_add(struct hf_tensors *l, const char *name, const char *dtype, int rank, uint64_t a,
            uint64_t b)
{
    struct hf_tensor *t = &l->all[l->n++];
    *t = (struct hf_tensor){.rank = rank, .shape = {a, b}};
    snprintf(t->name, sizeof t->name, "%s", name);
    snprintf(t->dtype, sizeof t->dtype, "%s", dtype);
}

void hf_list(struct hf_tensors *l, const char *dtype)
{
    l->n = 0;
    hf_add(l, "wte.weight", dtype, 2, 5, 4);
    hf_add(l, "wpe.weight", dtype, 2, 3, 4);
    hf_add(l, "h.0.ln_1.weight", dtype, 1, 4, 0);
    hf_add(l, "h.0.ln_1.bias", dtype, 1, 4, 0);
    hf_add(l, "h.0.attn.c_attn.weight", dtype, 2, 4, 12);
    hf_add(l, "h.0.attn.c_attn.bias", dtype, 1, 12, 0);
    hf_add(l, "h.0.attn.c_proj.weight", dtype, 2, 4, 4);
    hf_add(l, "h.0.attn.c_proj.bias", dtype, 1, 4, 0);
    hf_add(l, "h.0.ln_2.weight", dtype, 1, 4, 0);
    hf_add(l, "h.0.ln_2.bias", dtype, 1, 4, 0);
    hf_add(l, "h.0.mlp.c_fc.weight", dtype, 2, 4, 6);
    hf_add(l, "h.0.mlp.c_fc.bias", dtype, 1, 6, 0);
    hf_add(l, "h.0.mlp.c_proj.weight", dtype, 2, 6, 4);
    hf_add(l, "h.0.mlp.c_proj.bias", dtype, 1, 4, 0);
    hf_add(l, "ln_f.weight", dtype, 1, 4, 0);
    hf_add(l, "ln_f.bias", dtype, 1, 4, 0);
}

struct hf_tensor *hf_find(struct hf_tensors *l, const char *name)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->all[i].name, name) == 0)
            return &l->all[i];
    fail_msg("the test names a tensor that is not there: %s", name);
    return NULL;
}

uint64_t hf_elements(const struct hf_tensor *t)
{
    uint64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->shape[i];
    return n;
}

static size_t hf_size(const struct hf_tensor *t)
{
    return strcmp(t->dtype, "F32") == 0 || strcmp(t->dtype, "I32") == 0 ? 4
           : strcmp(t->dtype, "BOOL") == 0                              ? 1
                                                                        : 2;
}

float hf_value(const char *name, uint64_t i)
{
    uint64_t stream = 0;
    for (const char *c = name; *c != '\0'; c++)
        stream = stream * 131 + (unsigned char)*c;
    return (float)((int)(rng_uniform(1, stream, i) * 64) - 32) / 32.0f;
}

void hf_data(struct buf *out, const struct hf_tensor *t)
{
    const char *name = t->values_of != NULL                        ? t->values_of
                       : strncmp(t->name, "transformer.", 12) == 0 ? t->name + 12
                                                                   : t->name;
    for (uint64_t i = 0; i < hf_elements(t); i++) {
        float x = hf_value(name, i);
        uint16_t h = strcmp(t->dtype, "F16") == 0 ? half_from_f32(x) : bf16_from_f32(x);
        assert_ok(hf_size(t) == 4   ? buf_add(out, &x, 4)
                  : hf_size(t) == 2 ? buf_add(out, &h, 2)
                                    : buf_char(out, 0));
    }
}

void hf_write_raw(const struct scratch *s, const char *file, const char *header, const void *data,
                  size_t n)
{
    struct buf out = {0};
    uint64_t length = strlen(header);
    assert_ok(buf_add(&out, &length, sizeof length));
    assert_ok(buf_str(&out, header));
    assert_ok(buf_add(&out, data, n));
    scratch_write(s, file, out.data, out.n);
    buf_release(&out);
}

void hf_write(const struct scratch *s, const char *file, const struct hf_tensors *l, int first,
              int count)
{
    struct buf header = {0}, data = {0};
    assert_ok(buf_str(&header, "{\"__metadata__\": {\"format\": \"pt\"}"));
    for (int i = first; i < first + count; i++) {
        const struct hf_tensor *t = &l->all[i];
        size_t begin = data.n;
        hf_data(&data, t);
        assert_ok(
            buf_printf(&header, ", \"%s\": {\"dtype\": \"%s\", \"shape\": [", t->name, t->dtype));
        for (int k = 0; k < t->rank; k++)
            assert_ok(
                buf_printf(&header, "%s%llu", k == 0 ? "" : ",", (unsigned long long)t->shape[k]));
        assert_ok(buf_printf(&header, "], \"data_offsets\": [%zu,%zu]}", begin, data.n));
    }
    assert_ok(buf_char(&header, '}'));
    hf_write_raw(s, file, buf_text(&header), buf_text(&data), data.n);
    buf_release(&header);
    buf_release(&data);
}

void hf_write_text(const struct scratch *s, const char *file, const char *text)
{
    scratch_write(s, file, text, strlen(text));
}

void hf_write_folder(const struct scratch *s, const char *dtype)
{
    struct hf_tensors l;
    hf_list(&l, dtype);
    hf_write_text(s, "config.json", HF_CONFIG);
    hf_write(s, "model.safetensors", &l, 0, l.n);
}
