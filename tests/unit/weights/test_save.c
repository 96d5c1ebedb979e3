/* Saving and converting: what comes back is what was there, bit for bit, and what was
 * there before stays where a save fails. */
#include "tests/lib/gguf_open.h"
#include "tests/lib/notes.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "model/base/file.h"
#include "model/base/half.h"
#include "model/base/mem.h"
#include "model/base/rng.h"
#include "weights/gguf/gguf.h"
#include "weights/hf/save_hf.h"
#include "weights/load.h"
#include "weights/open.h"
#include "weights/save.h"
#include "weights/tensors/tensor_copy.h"
#include "weights/hf/vocab.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct scratch scratch;

static void clean(void)
{
    scratch_close(&scratch);
    scratch_open(&scratch);
}

static int count_entries(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    int n = -2; /* . and .. */
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

/* ---- a source of arbitrary bits ---- */

struct bits {
    uint64_t stream;
    enum dtype dtype;
    uint64_t fail_at; /* reading this element fails; 0: never */
};

/* All patterns, NaN payloads and signalling ones among them. */
static int read_bits(void *user, void *dst, uint64_t first, size_t n)
{
    const struct bits *b = user;
    for (size_t i = 0; i < n; i++) {
        uint32_t w[4];
        if (b->fail_at != 0 && first + i >= b->fail_at)
            return err_set(ERR_IO, "the disk is on fire");
        rng_words(w, 1, b->stream, first + i);
        memcpy((char *)dst + i * dtype_bytes(b->dtype), w, dtype_bytes(b->dtype));
    }
    return 0;
}

static void make_tokenizer(struct source *s)
{
    const char *tokens[] = {"a", "b", "ab", NULL, "<|endoftext|>"};
    const char *merges[] = {"a b"};
    const unsigned char special[] = {0, 0, 0, 0, 1};
    struct vocab v = {.n_tokens = 5,
                      .tokens = tokens,
                      .special = special,
                      .n_merges = 1,
                      .merges = merges,
                      .eos = 4};
    assert_ok(tokenizer_new(&s->tokenizer, &v));
}

/* An odd shape; describe() then makes the tensors of it. */
static void make_source(struct source *s, enum dtype matrices)
{
    *s = (struct source){.close = mem_free, .dtype = matrices};
    config_init(&s->config);
    struct config *c = &s->config;
    c->n_layer = 3;
    c->n_head = 5;
    c->n_embd = 35;
    c->n_inner = 77;
    c->n_ctx = 17;
    c->n_vocab = 11;
    c->bos_token_id = c->eos_token_id = 4;
    assert_ok(config_check(c));
    s->name = mem_strdup("odd one");
    make_tokenizer(s);
    s->format = mem_array(100, sizeof(struct bits));
    s->readers = mem_array(100, sizeof *s->readers);
    assert_non_null(s->readers);
}

/* Matrices and vectors each of their own dtype. */
static void describe(struct source *s, enum dtype matrices, enum dtype vectors)
{
    assert_ok(params_describe(&s->table, &s->config));
    assert_true(s->table.n_tensors <= 100);
    struct bits *bits = s->format;
    for (int i = 0; i < s->table.n_tensors; i++) {
        const struct param_tensor *t = &s->table.tensors[i];
        bool vector = t->kind == PARAM_VECTOR || t->kind == PARAM_ROWS;
        bits[i] = (struct bits){.stream = (uint64_t)i, .dtype = vector ? vectors : matrices};
        s->readers[i] =
            (struct tensor_reader){.read = read_bits, .user = &bits[i], .dtype = bits[i].dtype};
    }
}

/* ---- comparing ---- */

static void assert_same_file(const char *a, const char *b)
{
    struct buf x = {0}, y = {0};
    assert_ok(file_read_all(&x, a, UINT64_MAX));
    assert_ok(file_read_all(&y, b, UINT64_MAX));
    if (x.n != y.n || memcmp(x.data, y.data, x.n) != 0)
        fail_msg("%s and %s differ", a, b);
    buf_release(&x);
    buf_release(&y);
}

static void assert_same_folder(const char *a, const char *b)
{
    const char *files[] = {"config.json",       "generation_config.json",
                           "model.safetensors", "vocab.json",
                           "merges.txt",        "tokenizer.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char x[PATH_MAX], y[PATH_MAX];
        snprintf(x, sizeof x, "%s/%s", a, files[i]);
        snprintf(y, sizeof y, "%s/%s", b, files[i]);
        assert_same_file(x, y);
    }
    assert_int_equal(count_entries(a), count_entries(b));
}

/* Tensor by tensor, in the orientation of the table. */
static void assert_same_tensors(const struct source *a, const struct source *b)
{
    assert_int_equal(a->table.n_tensors, b->table.n_tensors);
    for (int i = 0; i < a->table.n_tensors; i++) {
        const struct param_tensor *t = &a->table.tensors[i];
        const struct tensor_reader *x = &a->readers[i], *y = &b->readers[i];
        size_t n = (size_t)t->rows * (size_t)t->cols, size = dtype_bytes(x->dtype);
        assert_string_equal(t->name, b->table.tensors[i].name);
        assert_int_equal(x->dtype, y->dtype);
        char *p = mem_array(n, size), *q = mem_array(n, size);
        assert_ok(x->read(x->user, p, 0, n));
        assert_ok(y->read(y->user, q, 0, n));
        for (size_t k = 0; k < n; k++) {
            size_t in = k / (size_t)t->cols, out = k % (size_t)t->cols;
            size_t turned = out * (size_t)t->rows + in;
            if (memcmp(p + size * (x->out_major ? turned : k),
                       q + size * (y->out_major ? turned : k), size) != 0)
                fail_msg("%s differs at %zu", t->name, k);
        }
        mem_free(p);
        mem_free(q);
    }
}

/* ---- round trips ---- */

static void go_round(struct source *s)
{
    const struct save_config keep = {0};
    assert_ok(source_save(s, scratch_path(&scratch, "hf"), &keep, NULL));
    assert_ok(weights_convert(scratch_path(&scratch, "hf"), scratch_path(&scratch, "a.gguf"), 0,
                              &keep, NULL));
    assert_ok(weights_convert(scratch_path(&scratch, "a.gguf"), scratch_path(&scratch, "b.gguf"), 0,
                              &keep, NULL));
    assert_ok(weights_convert(scratch_path(&scratch, "b.gguf"), scratch_path(&scratch, "hf2"), 0,
                              &keep, NULL));
    assert_same_folder(scratch_path(&scratch, "hf"), scratch_path(&scratch, "hf2"));
    struct source back;
    assert_ok(source_open(&back, scratch_path(&scratch, "b.gguf"), 0, true, NULL));
    assert_same_tensors(s, &back);
    assert_int_equal(tokenizer_size(back.tokenizer), 5);
    assert_null(tokenizer_text(back.tokenizer, 3));
    assert_string_equal(tokenizer_text(back.tokenizer, 2), "ab");
    assert_string_equal(tokenizer_merge(back.tokenizer, 0), "a b");
    assert_true(tokenizer_is_special(back.tokenizer, 4));
    source_close(&back);
    source_close(s);
    clean();
}

static void every_precision_comes_back_bit_for_bit(void **state)
{
    (void)state;
    for (int matrices = DTYPE_F32; matrices <= DTYPE_BF16; matrices++)
        for (int vectors = DTYPE_F32; vectors <= DTYPE_BF16; vectors++)
            for (int tied = 0; tied < 2; tied++) {
                struct source s;
                make_source(&s, matrices);
                s.config.tie_word_embeddings = tied;
                describe(&s, matrices, vectors);
                go_round(&s);
            }
}

/* Each in both formats; what only prattle reads of a GGUF is said when it is written. */
static void every_activation_comes_back(void **state)
{
    (void)state;
    static const char *const paths[] = {"a.gguf", "folder"};
    for (int i = 0; i < N_ACTIVATIONS; i++)
        for (int format = 0; format < 2; format++) {
            struct source s, back;
            make_source(&s, DTYPE_F32);
            s.config.activation = (enum activation)i;
            describe(&s, DTYPE_F32, DTYPE_F32);
            struct notes notes = {0};
            struct progress p = {.note = notes_take, .user = &notes};
            const struct save_config keep = {0};
            assert_ok(source_save(&s, scratch_path(&scratch, paths[format]), &keep, &p));
            const bool said = strstr(notes.all, "GGUF cannot say the ") != NULL;
            assert_int_equal(said, format == 0 && i != ACTIVATION_GELU_TANH);
            if (said)
                assert_non_null(strstr(notes.all, activation_title((enum activation)i)));
            assert_ok(source_open(&back, scratch_path(&scratch, paths[format]), 0, true, NULL));
            assert_int_equal(back.config.activation, i);
            source_close(&back);
            source_close(&s);
            clean();
        }
}

static void every_field_comes_back(void **state)
{
    (void)state;
    struct source s;
    make_source(&s, DTYPE_F16);
    struct config *c = &s.config;
    c->activation = ACTIVATION_GELU_ERF;
    c->layer_norm_epsilon = 1e-6f;
    c->scale_attn_weights = false;
    c->scale_attn_by_inverse_layer_idx = true;
    c->reorder_and_upcast_attn = true;
    c->initializer_range = 0.015f;
    c->embd_pdrop = 0.25f;
    c->attn_pdrop = 0;
    c->resid_pdrop = 0.5f;
    c->bos_token_id = TOKEN_NONE;
    c->pad_token_id = 0;
    struct config before = *c;
    describe(&s, DTYPE_F16, DTYPE_F16);
    struct notes notes = {0};
    struct progress p = {.note = notes_take, .user = &notes};
    const struct save_config keep = {0};
    s.defaults = mem_strdup("temperature: 0.5\n");
    assert_ok(source_save(&s, scratch_path(&scratch, "a.gguf"), &keep, &p));
    assert_string_equal(strstr(notes.all, "GGUF"),
                        "GGUF cannot say the exact GELU nor attention scaled by the layer nor "
                        "attention without scaling: it is kept in prattle.* keys, other programs "
                        "will compute something else\n");
    struct source back;
    assert_ok(source_open(&back, scratch_path(&scratch, "a.gguf"), 0, true, NULL));
    struct config *d = &back.config;
    assert_int_equal(d->activation, before.activation);
    assert_true(d->layer_norm_epsilon == before.layer_norm_epsilon);
    assert_int_equal(d->scale_attn_weights, before.scale_attn_weights);
    assert_int_equal(d->scale_attn_by_inverse_layer_idx, before.scale_attn_by_inverse_layer_idx);
    assert_int_equal(d->reorder_and_upcast_attn, before.reorder_and_upcast_attn);
    assert_true(d->initializer_range == before.initializer_range);
    assert_true(d->embd_pdrop == before.embd_pdrop);
    assert_true(d->attn_pdrop == before.attn_pdrop);
    assert_true(d->resid_pdrop == before.resid_pdrop);
    assert_int_equal(d->bos_token_id, before.bos_token_id);
    assert_int_equal(d->eos_token_id, before.eos_token_id);
    assert_int_equal(d->pad_token_id, before.pad_token_id);
    assert_int_equal(d->n_inner, before.n_inner);
    assert_int_equal(d->n_ctx, before.n_ctx);
    assert_int_equal(d->n_head, before.n_head);
    assert_string_equal(back.defaults, "temperature: 0.5\n");
    assert_string_equal(back.name, "odd one");
    source_close(&back);
    clean();
    go_round(&s);
}

static void a_prefix_space_comes_back(void **state)
{
    (void)state;
    struct source s, back;
    const char *tokens[] = {"a", "\xc4\xa0"};
    const struct vocab v = {.n_tokens = 2, .tokens = tokens, .eos = -1, .add_prefix_space = true};
    const struct save_config keep = {0};
    make_source(&s, DTYPE_F16);
    describe(&s, DTYPE_F16, DTYPE_F32);
    tokenizer_free(s.tokenizer);
    assert_ok(tokenizer_new(&s.tokenizer, &v));
    assert_ok(source_save(&s, scratch_path(&scratch, "a.gguf"), &keep, NULL));
    assert_ok(weights_convert(scratch_path(&scratch, "a.gguf"), scratch_path(&scratch, "hf"), 0,
                              &keep, NULL));
    assert_ok(weights_convert(scratch_path(&scratch, "hf"), scratch_path(&scratch, "b.gguf"), 0,
                              &keep, NULL));
    assert_ok(weights_convert(scratch_path(&scratch, "b.gguf"), scratch_path(&scratch, "c.gguf"), 0,
                              &keep, NULL));
    static const char *const names[] = {"a.gguf", "hf", "b.gguf", "c.gguf"};
    for (int i = 0; i < 4; i++) {
        assert_ok(source_open(&back, scratch_path(&scratch, names[i]), 0, true, NULL));
        assert_true(tokenizer_adds_prefix_space(back.tokenizer));
        source_close(&back);
    }
    source_close(&s);
    clean();
}

/* What is no part of the model, and the kinds of its tokens, go from one GGUF file to another; what
 * is written from the model does not go again, nor what was true of that file alone. */
static void the_other_keys_of_a_gguf_file_are_written_again(void **state)
{
    (void)state;
    struct source s, back;
    const struct save_config keep = {0};
    static const char license[] = "\x0f\0\0\0\0\0\0\0general.license\x08\0\0\0\x03\0\0\0\0\0\0\0mit"
                                  "\x03\0\0\0\0\0\0\0few\x09\0\0\0\x02\0\0\0\x02\0\0\0\0\0\0\0"
                                  "\1\0\2\0",
                      split[] = "\x08\0\0\0\0\0\0\0split.no\x02\0\0\0\1\0"
                                "\x0a\0\0\0\0\0\0\0quantize.x\x02\0\0\0\1\0";
    make_source(&s, DTYPE_F16);
    s.config.activation = ACTIVATION_RELU;
    s.config.embd_pdrop = s.config.attn_pdrop = s.config.resid_pdrop = 0.3F;
    s.config.initializer_range = 0.5F;
    s.config.bos_token_id = s.config.eos_token_id = s.config.pad_token_id = 1;
    describe(&s, DTYPE_F16, DTYPE_F32);
    assert_ok(buf_add(&s.keys, license, sizeof license - 1));
    assert_ok(buf_add(&s.keys, split, sizeof split - 1));
    s.n_keys = 4;
    for (int32_t i = 0; i < s.config.n_vocab; i++)
        assert_ok(buf_add(&s.token_types, (const char *)&(int32_t){i == 3 ? 4 : 1}, sizeof i));
    assert_ok(source_save(&s, scratch_path(&scratch, "a.gguf"), &keep, NULL));
    assert_ok(weights_convert(scratch_path(&scratch, "a.gguf"), scratch_path(&scratch, "b.gguf"), 0,
                              &keep, NULL));
    assert_ok(source_open(&back, scratch_path(&scratch, "b.gguf"), 0, true, NULL));
    assert_int_equal(back.n_keys, 2);
    assert_int_equal(back.keys.n, sizeof license - 1);
    assert_non_null(memmem(back.keys.data, back.keys.n, license, 38));
    assert_int_equal(back.token_types.n, s.token_types.n);
    assert_memory_equal(back.token_types.data, s.token_types.data, s.token_types.n);
    assert_true(tokenizer_is_special(back.tokenizer, 3));
    source_close(&back);
    source_close(&s);
    clean();
}

static void no_tokenizer_is_kept_that_way(void **state)
{
    (void)state;
    struct source s, back;
    const struct save_config keep = {0};
    make_source(&s, DTYPE_F16);
    describe(&s, DTYPE_F16, DTYPE_F32);
    tokenizer_free(s.tokenizer);
    s.tokenizer = NULL;
    assert_ok(source_save(&s, scratch_path(&scratch, "a.gguf"), &keep, NULL));
    assert_ok(weights_convert(scratch_path(&scratch, "a.gguf"), scratch_path(&scratch, "hf"), 0,
                              &keep, NULL));
    assert_false(file_exists(scratch_path(&scratch, "hf/vocab.json")));
    assert_ok(source_open(&back, scratch_path(&scratch, "hf"), 0, true, NULL));
    assert_null(back.tokenizer);
    assert_same_tensors(&s, &back);
    source_close(&back);
    source_close(&s);
    clean();
}

static void compat_writes_the_tied_head_and_it_counts_as_tied(void **state)
{
    (void)state;
    struct source s, back;
    const struct save_config keep = {0}, compat = {.compat = true};
    make_source(&s, DTYPE_F16);
    describe(&s, DTYPE_F16, DTYPE_F32);
    assert_ok(source_save(&s, scratch_path(&scratch, "plain.gguf"), &keep, NULL));
    assert_ok(source_save(&s, scratch_path(&scratch, "compat.gguf"), &compat, NULL));
    struct gguf g;
    assert_ok(gguf_open(&g, scratch_path(&scratch, "plain.gguf")));
    assert_null(gguf_find_tensor(&g, "output.weight"));
    gguf_close(&g);
    assert_ok(gguf_open(&g, scratch_path(&scratch, "compat.gguf")));
    const struct gguf_tensor *head = gguf_find_tensor(&g, "output.weight");
    assert_non_null(head);
    uint64_t at = head->at;
    gguf_close(&g);
    assert_ok(source_open(&back, scratch_path(&scratch, "compat.gguf"), 0, true, NULL));
    assert_true(back.config.tie_word_embeddings);
    assert_same_tensors(&s, &back);
    source_close(&back);
    /* One bit of difference, and it is a head of its own. */
    FILE *f = fopen(scratch_path(&scratch, "compat.gguf"), "r+b");
    assert_non_null(f);
    fseek(f, (long)at + 100, SEEK_SET);
    int byte = fgetc(f);
    fseek(f, -1, SEEK_CUR);
    fputc(byte ^ 1, f);
    fclose(f);
    assert_ok(source_open(&back, scratch_path(&scratch, "compat.gguf"), 0, true, NULL));
    assert_false(back.config.tie_word_embeddings);
    assert_non_null(params_find(&back.table, "lm_head.weight"));
    source_close(&back);
    source_close(&s);
    clean();
}

/* What the listed vectors were is told by the file; one that cannot be is refused. */
static void a_narrowed_vector_must_be_one(void **state)
{
    (void)state;
    struct source s, back;
    const struct save_config keep = {0};
    make_source(&s, DTYPE_F16);
    describe(&s, DTYPE_F16, DTYPE_F16);
    assert_ok(source_save(&s, scratch_path(&scratch, "a.gguf"), &keep, NULL));
    struct gguf g;
    assert_ok(gguf_open(&g, scratch_path(&scratch, "a.gguf")));
    uint64_t at = gguf_find_tensor(&g, "output_norm.bias")->at;
    assert_int_equal(gguf_find_tensor(&g, "output_norm.bias")->format->dtype, DTYPE_F32);
    gguf_close(&g);
    FILE *f = fopen(scratch_path(&scratch, "a.gguf"), "r+b");
    assert_non_null(f);
    const float third = 1.0f / 3;
    fseek(f, (long)at + 8, SEEK_SET);
    fwrite(&third, sizeof third, 1, f);
    fclose(f);
    assert_ok(source_open(&back, scratch_path(&scratch, "a.gguf"), 0, true, NULL));
    assert_int_equal(source_save(&back, scratch_path(&scratch, "hf"), &keep, NULL), ERR_FORMAT);
    assert_string_equal(err_text(), "tensor output_norm.bias: element 2 is no F16 value, though "
                                    "prattle.narrow says that all are");
    assert_false(file_exists(scratch_path(&scratch, "hf")));
    source_close(&back);
    source_close(&s);
    clean();
}

/* ---- another precision ---- */

/* Of an F32 source. */
static uint64_t count_unfinite(const struct source *s)
{
    uint64_t unfinite = 0;
    for (int t = 0; t < s->table.n_tensors; t++)
        for (uint64_t i = 0; i < tensor_elements(&s->table.tensors[t]); i++) {
            float f;
            assert_ok(s->readers[t].read(s->readers[t].user, &f, i, 1));
            unfinite += !isfinite(f);
        }
    return unfinite;
}

static void a_precision_asked_for_is_rounded_once(void **state)
{
    (void)state;
    struct source s, back;
    make_source(&s, DTYPE_F32);
    describe(&s, DTYPE_F32, DTYPE_F32);
    const enum dtype ways[] = {DTYPE_F16, DTYPE_BF16, DTYPE_F32};
    for (size_t i = 0; i < 3; i++)
        for (int gguf = 0; gguf < 2; gguf++) {
            const struct save_config c = {.convert = true, .dtype = ways[i]};
            const char *path = scratch_path(&scratch, gguf ? "a.gguf" : "hf");
            assert_ok(source_save(&s, path, &c, NULL));
            assert_ok(source_open(&back, path, 0, true, NULL));
            for (int t = 0; t < s.table.n_tensors; t++) {
                const struct tensor_reader *x = &s.readers[t], *y = &back.readers[t];
                enum param_kind kind = s.table.tensors[t].kind;
                bool vector = kind == PARAM_VECTOR || kind == PARAM_ROWS;
                assert_int_equal(y->dtype, gguf && vector ? DTYPE_F32 : ways[i]);
                /* The corner stays where it is when a matrix is turned. */
                float f;
                unsigned char h[4];
                assert_ok(x->read(x->user, &f, 0, 1));
                assert_ok(y->read(y->user, h, 0, 1));
                uint16_t half;
                memcpy(&half, h, sizeof half);
                if (y->dtype == DTYPE_F32)
                    assert_memory_equal(&f, h, 4);
                else
                    assert_int_equal(half,
                                     y->dtype == DTYPE_F16 ? half_from_f32(f) : bf16_from_f32(f));
            }
            source_close(&back);
            clean();
        }
    struct notes notes = {0};
    struct progress p = {.note = notes_take, .user = &notes};
    const struct save_config c = {.convert = true, .dtype = DTYPE_F16};
    assert_ok(source_save(&s, scratch_path(&scratch, "hf"), &c, &p));
    assert_non_null(
        strstr(notes.all, "values are beyond F16's range and became infinite, the first in "));
    char expected[128];
    snprintf(expected, sizeof expected,
             "%llu values were NaN or infinite already, the first in %s;",
             (unsigned long long)count_unfinite(&s), s.table.tensors[0].name);
    assert_non_null(strstr(notes.all, expected));
    source_close(&s);
    clean();
}

/* More elements than are held at once: the matrix is turned in parts. */
static void a_large_matrix_is_turned_in_parts(void **state)
{
    (void)state;
    struct source s, back;
    const struct save_config keep = {0};
    make_source(&s, DTYPE_F16);
    s.config.n_layer = 1;
    s.config.n_head = 1;
    s.config.n_embd = 1100;
    s.config.n_inner = 4001;
    describe(&s, DTYPE_F16, DTYPE_F32);
    assert_ok(source_save(&s, scratch_path(&scratch, "a.gguf"), &keep, NULL));
    assert_ok(weights_convert(scratch_path(&scratch, "a.gguf"), scratch_path(&scratch, "hf"), 0,
                              &keep, NULL));
    assert_ok(source_open(&back, scratch_path(&scratch, "hf"), 0, true, NULL));
    assert_same_tensors(&s, &back);
    source_close(&back);
    source_close(&s);
    clean();
}

/* ---- what was there before ---- */

static void save_odd(struct source *s, const char *name)
{
    const struct save_config keep = {0};
    make_source(s, DTYPE_F16);
    describe(s, DTYPE_F16, DTYPE_F32);
    assert_ok(source_save(s, scratch_path(&scratch, name), &keep, NULL));
}

static void nothing_is_overwritten_without_force(void **state)
{
    (void)state;
    struct source s;
    const struct save_config keep = {0}, force = {.force = true};
    const char *names[] = {"hf", "a.gguf"};
    for (int i = 0; i < 2; i++) {
        char expected[PATH_MAX + 64];
        save_odd(&s, names[i]);
        assert_int_equal(source_save(&s, scratch_path(&scratch, names[i]), &keep, NULL),
                         ERR_EXISTS);
        snprintf(expected, sizeof expected, "%s exists already; --force overwrites it",
                 scratch_path(&scratch, names[i]));
        assert_string_equal(err_text(), expected);
        assert_ok(source_save(&s, scratch_path(&scratch, names[i]), &force, NULL));
        assert_int_equal(count_entries(scratch.folder), i + 1);
        source_close(&s);
    }
    /* A file in the way of a folder stays, force or not. */
    save_odd(&s, "hf2");
    FILE *f = fopen(scratch_path(&scratch, "plain"), "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(source_save_hf(&s, scratch_path(&scratch, "plain"), &force, NULL), ERR_EXISTS);
    /* An empty folder is nothing to overwrite; nor is a slash at the end. */
    assert_int_equal(mkdir(scratch_path(&scratch, "empty"), 0777), 0);
    assert_ok(source_save(&s, scratch_path(&scratch, "empty/"), &keep, NULL));
    assert_same_folder(scratch_path(&scratch, "hf2"), scratch_path(&scratch, "empty"));
    source_close(&s);
    clean();
}

static void a_folder_in_the_place_of_a_file_stays(void **state)
{
    (void)state;
    struct source s;
    const struct save_config force = {.force = true};
    save_odd(&s, "hf");
    assert_int_equal(mkdir(scratch_path(&scratch, "old"), 0777), 0);
    assert_int_equal(mkdir(scratch_path(&scratch, "old/model.safetensors"), 0777), 0);
    scratch_write(&scratch, "old/merges.txt", "mine", 4);
    assert_int_equal(source_save(&s, scratch_path(&scratch, "old"), &force, NULL), ERR_EXISTS);
    assert_non_null(strstr(err_text(), "has a folder model.safetensors, in the place of a file"));
    assert_int_equal(count_entries(scratch.folder), 2);
    assert_int_equal(count_entries(scratch_path(&scratch, "old")), 2);
    assert_true(file_is_folder(scratch_path(&scratch, "old/model.safetensors")));
    source_close(&s);
    clean();
}

static void force_replaces_the_model_and_keeps_the_rest(void **state)
{
    (void)state;
    struct source s;
    const struct save_config force = {.force = true};
    save_odd(&s, "hf");
    const char *others[] = {"hf/notes.txt", "hf/mine.safetensors", "hf/pytorch_model.bin"};
    for (int i = 0; i < 3; i++) {
        FILE *f = fopen(scratch_path(&scratch, others[i]), "w");
        assert_non_null(f);
        fclose(f);
    }
    assert_int_equal(mkdir(scratch_path(&scratch, "hf/runs"), 0777), 0);
    assert_int_equal(mkdir(scratch_path(&scratch, "hf/x.safetensors"), 0777), 0);
    assert_ok(source_save(&s, scratch_path(&scratch, "hf"), &force, NULL));
    assert_true(file_exists(scratch_path(&scratch, "hf/notes.txt")));
    assert_true(file_exists(scratch_path(&scratch, "hf/mine.safetensors")));
    assert_true(file_is_folder(scratch_path(&scratch, "hf/runs")));
    assert_true(file_is_folder(scratch_path(&scratch, "hf/x.safetensors")));
    assert_false(file_exists(scratch_path(&scratch, "hf/pytorch_model.bin"))); /* other weights */
    assert_int_equal(count_entries(scratch.folder), 1);
    source_close(&s);
    /* A model over itself. */
    assert_ok(weights_convert(scratch_path(&scratch, "hf"), scratch_path(&scratch, "hf"), 0, &force,
                              NULL));
    assert_int_equal(count_entries(scratch.folder), 1);
    assert_ok(weights_convert(scratch_path(&scratch, "hf"), scratch_path(&scratch, "a.gguf"), 0,
                              &force, NULL));
    assert_ok(weights_convert(scratch_path(&scratch, "a.gguf"), scratch_path(&scratch, "a.gguf"), 0,
                              &force, NULL));
    clean();
}

/* Somebody may stand in it, have it mounted, or be at work in a folder of it. */
static void a_folder_that_is_there_stays_the_same_folder(void **state)
{
    (void)state;
    struct source s;
    struct stat before, after;
    const struct save_config keep = {0}, force = {.force = true};
    save_odd(&s, "hf");
    const char *hf = scratch_path(&scratch, "hf");
    assert_int_equal(mkdir(scratch_path(&scratch, "hf/runs"), 0777), 0);
    assert_int_equal(chmod(hf, 02750), 0);
    assert_int_equal(chmod(scratch_path(&scratch, "hf/model.safetensors"), 0600), 0);
    assert_int_equal(stat(hf, &before), 0);
    const int runs = open(scratch_path(&scratch, "hf/runs"), O_RDONLY | O_DIRECTORY);
    assert_ok(source_save(&s, hf, &force, NULL));
    assert_int_equal(stat(hf, &after), 0);
    assert_true(before.st_ino == after.st_ino && before.st_mode == after.st_mode);
    assert_int_equal(stat(scratch_path(&scratch, "hf/model.safetensors"), &after), 0);
    assert_int_equal(after.st_mode & 0777, 0600);
    assert_int_equal(stat(scratch_path(&scratch, "hf/config.json"), &after), 0);
    assert_int_equal(after.st_mode & 0777, 0644);
    assert_int_equal(faccessat(runs, "../config.json", F_OK, 0), 0);
    close(runs);
    /* An empty one in a parent where nothing can be made (root may everywhere). */
    assert_int_equal(mkdir(scratch_path(&scratch, "closed"), 0777), 0);
    assert_int_equal(mkdir(scratch_path(&scratch, "closed/empty"), 0700), 0);
    assert_int_equal(chmod(scratch_path(&scratch, "closed"), 0555), 0);
    assert_ok(source_save(&s, scratch_path(&scratch, "closed/empty"), &keep, NULL));
    assert_int_equal(stat(scratch_path(&scratch, "closed/empty"), &after), 0);
    assert_int_equal(after.st_mode & 07777, 0700);
    assert_int_equal(chmod(scratch_path(&scratch, "closed"), 0777), 0);
    source_close(&s);
    clean();
}

/* Fail the k-th renaming and what follows it: as after a kill, or, `once`, of itself. */
static int n_renames, kill_at;
static bool once;

/* Instead of the C library's. */
int renameat(int from, const char *a, int to, const char *b)
{
    n_renames++;
    if (kill_at != 0 && (once ? n_renames == kill_at : n_renames >= kill_at)) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from, a, to, b, 0);
}

/* As the sentence says. */
static void bring_back(const char *why)
{
    char command[2 * PATH_MAX];
    const char *from = strchr(why, '`'), *to = from == NULL ? NULL : strchr(from + 1, '`');
    if (to == NULL)
        fail_msg("no command in: %s", why);
    snprintf(command, sizeof command, "%.*s", (int)(to - from - 1), from + 1);
    assert_int_equal(system(command), 0);
}

static bool is_tied(const char *path, int *rc)
{
    struct source s;
    if ((*rc = source_open(&s, path, 0, true, NULL)) != 0)
        return false;
    const bool tied = s.config.tie_word_embeddings;
    source_close(&s);
    return tied;
}

/* The opening that brings a model back is killed after one more renaming each time; where it has
 * moved nothing, it says how to do that by hand. */
static void mend_killed_at_each_step(const char *path, bool by_hand)
{
    const struct save_config keep = {0};
    struct source s;
    int opened = -1;
    once = false;
    for (int j = 1; opened != 0; j++) {
        n_renames = 0;
        kill_at = j > 1 ? 2 : 1;
        is_tied(path, &opened);
        kill_at = 0;
        if (opened != 0) {
            assert_int_equal(opened, ERR_MISSING);
            assert_non_null(strstr(err_text(), "` brings the "));
            if (by_hand)
                bring_back(err_text());
        }
        assert_true(j < 20);
    }
    /* It is nothing to save over unasked. */
    make_source(&s, DTYPE_F16);
    assert_int_equal(source_save(&s, path, &keep, NULL), ERR_EXISTS);
    source_close(&s);
}

/* Wherever it stops, the folder opens as the old model or the new one. */
static void a_save_that_is_cut_off_leaves_no_half_model(void **state)
{
    (void)state;
    struct source old, new;
    const struct save_config force = {.force = true};
    const char *hf = scratch_path(&scratch, "hf");
    make_source(&new, DTYPE_F16);
    new.config.tie_word_embeddings = true;
    describe(&new, DTYPE_F16, DTYPE_F32);
    make_source(&old, DTYPE_F16);
    old.config.tie_word_embeddings = false;
    describe(&old, DTYPE_F16, DTYPE_F32);
    int cut = 0, n_old = 0, n_new = 0, rc = -1;
    for (int k = 1; rc != 0; k++) {
        int opened;
        assert_ok(source_save(&old, hf, &force, NULL));
        n_renames = 0;
        kill_at = k;
        once = true;
        rc = source_save(&new, hf, &force, NULL);
        kill_at = 0;
        if (rc != 0) { /* put back */
            assert_int_equal(rc, ERR_IO);
            assert_false(is_tied(hf, &opened));
            assert_ok(opened);
            assert_int_equal(count_entries(hf), 6);
            n_renames = 0;
            kill_at = k;
            once = false;
            assert_int_equal(source_save(&new, hf, &force, NULL), ERR_IO);
            kill_at = 0;
            cut += !file_exists_in(hf, "config.json");
            mend_killed_at_each_step(hf, k % 4 == 0);
            const bool is_new = is_tied(hf, &opened);
            assert_ok(opened);
            n_new += is_new;
            n_old += !is_new;
        }
    }
    assert_true(cut > 10 && n_old > 3 && n_new > 3);
    /* What is left goes with the next save. */
    assert_ok(source_save(&new, hf, &force, NULL));
    assert_int_equal(count_entries(hf), 6);
    source_close(&old);
    source_close(&new);
    clean();
}

/* One that was killed as it cleared up, and then another: there is one model to bring back. */
static void a_second_killed_save_is_mended_too(void **state)
{
    (void)state;
    static const char *const left[] = {"hf/.prattle-new-aaaaaa", "hf/.prattle-old-aaaaaa"};
    const char *hf = scratch_path(&scratch, "hf");
    const struct save_config force = {.force = true};
    struct source s;
    int opened;
    make_source(&s, DTYPE_F16);
    describe(&s, DTYPE_F16, DTYPE_F32);
    assert_ok(source_save(&s, hf, &force, NULL));
    for (int i = 0; i < 2; i++)
        assert_int_equal(mkdir(scratch_path(&scratch, left[i]), 0700), 0);
    scratch_write(&scratch, "hf/.prattle-old-aaaaaa/config.json", "{}", 2);
    n_renames = 0;
    kill_at = 2;
    once = false;
    assert_int_equal(source_save(&s, hf, &force, NULL), ERR_IO);
    kill_at = 0;
    assert_false(file_exists_in(hf, "config.json"));
    is_tied(hf, &opened);
    assert_ok(opened);
    source_close(&s);
    clean();
}

/* Neither while a writer has the folder, nor over a file that was put there since. */
static void a_save_is_not_undone_by_an_opening(void **state)
{
    (void)state;
    char hf[2 * PATH_MAX];
    const struct save_config keep = {0};
    struct source s;
    int opened;
    snprintf(hf, sizeof hf, "%s/hf", scratch.folder);
    make_source(&s, DTYPE_F16);
    describe(&s, DTYPE_F16, DTYPE_F32);
    assert_ok(source_save(&s, hf, &keep, NULL));
    assert_int_equal(mkdir(scratch_path(&scratch, "hf/.prattle-old-aaaaaa"), 0700), 0);
    assert_int_equal(rename(scratch_path(&scratch, "hf/config.json"),
                            scratch_path(&scratch, "hf/.prattle-old-aaaaaa/config.json")),
                     0);
    const int writer = open(hf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(writer, LOCK_EX | LOCK_NB), 0);
    is_tied(hf, &opened);
    assert_int_equal(opened, ERR_MISSING);
    close(writer);
    scratch_write(&scratch, "hf/.prattle-old-aaaaaa/model.safetensors", "{}", 2);
    is_tied(hf, &opened);
    assert_int_equal(opened, ERR_MISSING);
    assert_int_equal(remove(scratch_path(&scratch, "hf/.prattle-old-aaaaaa/model.safetensors")), 0);
    is_tied(hf, &opened);
    assert_ok(opened);
    source_close(&s);
    clean();
}

static void a_failed_save_leaves_what_was_there(void **state)
{
    (void)state;
    struct source s;
    const struct save_config force = {.force = true};
    const char *names[] = {"hf", "a.gguf"}, *copies[] = {"copy", "copy.gguf"};
    for (int i = 0; i < 2; i++) {
        save_odd(&s, names[i]);
        assert_ok(source_save(&s, scratch_path(&scratch, copies[i]), &force, NULL));
        int n = count_entries(scratch.folder);
        /* The source fails in the middle. */
        ((struct bits *)s.format)[20].fail_at = 3;
        assert_int_equal(source_save(&s, scratch_path(&scratch, names[i]), &force, NULL), ERR_IO);
        assert_string_equal(err_text(), "the disk is on fire");
        ((struct bits *)s.format)[20].fail_at = 0;
        /* Ctrl-C. */
        interrupt_raise();
        assert_int_equal(source_save(&s, scratch_path(&scratch, names[i]), &force, NULL),
                         ERR_INTERRUPTED);
        interrupt_clear();
        /* The disk is full: files may grow to 60 KB. */
        struct rlimit old, small;
        getrlimit(RLIMIT_FSIZE, &old);
        small = old;
        small.rlim_cur = 60000;
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &small);
        int rc = source_save(&s, scratch_path(&scratch, names[i]), &force, NULL);
        setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(rc, ERR_IO);
        assert_non_null(strstr(err_text(), "File too large"));
        assert_int_equal(count_entries(scratch.folder), n);
        if (i == 0)
            assert_same_folder(scratch_path(&scratch, names[i]), scratch_path(&scratch, copies[i]));
        else
            assert_same_file(scratch_path(&scratch, names[i]), scratch_path(&scratch, copies[i]));
        /* A place where nothing can be written. */
        assert_true(source_save(&s, scratch_path(&scratch, i == 0 ? "no/such/hf" : "no/such.gguf"),
                                &force, NULL) < 0);
        source_close(&s);
        clean();
    }
}

static void no_memory_is_survived(void **state)
{
    (void)state;
    struct source s;
    const struct save_config force = {.force = true};
    const char *names[] = {"hf", "a.gguf"};
    for (int i = 0; i < 2; i++) {
        save_odd(&s, names[i]);
        int rc = ERR_NOMEM;
        uint64_t k = 1;
        for (; rc == ERR_NOMEM && k < 3000; k++) {
            mem_fail_at(k);
            rc = source_save(&s, scratch_path(&scratch, names[i]), &force, NULL);
            mem_fail_at(0);
            assert_int_equal(count_entries(scratch.folder), 1);
        }
        assert_true(k > 20);
        assert_ok(rc);
        source_close(&s);
        struct source back;
        rc = ERR_NOMEM;
        k = 1;
        for (; rc == ERR_NOMEM && k < 3000; k++) {
            mem_fail_at(k);
            rc = source_open(&back, scratch_path(&scratch, names[i]), 0, true, NULL);
            mem_fail_at(0);
        }
        assert_true(k > 20);
        assert_ok(rc);
        source_close(&back);
        clean();
    }
}

/* ---- a model in memory ---- */

static void turn_last_byte(const char *path)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, -1, SEEK_END), 0);
    int byte = getc(f);
    assert_int_equal(fseek(f, -1, SEEK_END), 0);
    putc(byte ^ 0x80, f);
    assert_int_equal(fclose(f), 0);
}

static void a_model_is_saved_from_its_source_until_it_changes(void **state)
{
    (void)state;
    const struct save_config keep = {0}, force = {.force = true};
    const struct load_config fp16 = {.dtype = DTYPE_F16};
    struct source s, back;
    struct model *m;
    assert_ok(weights_convert("random:gpt2-test@5", scratch_path(&scratch, "random.gguf"), 0, &keep,
                              NULL));
    assert_ok(model_load(&m, "random:gpt2-test@5", &fp16, NULL));
    /* Unchanged: the fp32 of the source, not the fp16 of the panels. */
    assert_ok(model_save(m, scratch_path(&scratch, "saved"), &keep, NULL));
    assert_ok(source_open(&s, scratch_path(&scratch, "random.gguf"), 0, true, NULL));
    assert_ok(source_open(&back, scratch_path(&scratch, "saved"), 0, true, NULL));
    assert_same_tensors(&s, &back);
    source_close(&s);
    source_close(&back);
    /* Changed: what is in memory. */
    m->params.ln_f_bias[3] = 0.75f;
    m->changed = true;
    assert_int_equal(model_save(m, scratch_path(&scratch, "saved"), &keep, NULL), ERR_EXISTS);
    assert_true(m->changed);
    const struct save_config bf16 = {.convert = true, .dtype = DTYPE_BF16};
    assert_ok(model_save(m, scratch_path(&scratch, "bf16"), &bf16, NULL));
    assert_true(m->changed); /* not all of it is in that file */
    /* It is no more the model that it was by name. */
    const struct save_config gguf_bf16 = {.convert = true, .dtype = DTYPE_BF16, .force = true};
    assert_ok(model_save(m, scratch_path(&scratch, "my-own.gguf"), &gguf_bf16, NULL));
    assert_ok(source_open(&back, scratch_path(&scratch, "my-own.gguf"), 0, true, NULL));
    assert_string_equal(back.name, "my-own");
    source_close(&back);
    assert_ok(model_save(m, scratch_path(&scratch, "saved"), &force, NULL));
    assert_false(m->changed);
    assert_int_equal(mkdir(scratch_path(&scratch, "saved again"), 0777), 0);
    assert_ok(model_save(m, scratch_path(&scratch, "saved again"), &keep, NULL));
    assert_same_folder(scratch_path(&scratch, "saved"), scratch_path(&scratch, "saved again"));
    assert_ok(source_open(&back, scratch_path(&scratch, "saved"), 0, true, NULL));
    const struct param_tensor *t = params_find(&back.table, "ln_f.bias");
    const struct tensor_reader *r = &back.readers[t - back.table.tensors];
    float value;
    assert_ok(r->read(r->user, &value, 3, 1));
    assert_true(value == 0.75f);
    assert_int_equal(back.dtype, DTYPE_F16);
    source_close(&back);
    model_free(m);
    clean();
}

/* What became of the files since they were loaded: rewritten, another model, cut short. */
static void a_model_is_saved_as_it_was_loaded(void **state)
{
    (void)state;
    const struct save_config keep = {0}, force = {.force = true};
    const struct load_config fp16 = {.dtype = DTYPE_F16};
    struct model *m;
    for (int i = 0; i < 3; i++) {
        struct notes notes = {0};
        const struct progress p = {.note = notes_take, .user = &notes};
        struct model *again;
        unsigned char fingerprint[32];
        char name[32], weights[64], saved[32];
        snprintf(name, sizeof name, "from%d", i);
        snprintf(saved, sizeof saved, "saved%d", i);
        snprintf(weights, sizeof weights, "%s/model.safetensors", name);
        assert_ok(
            weights_convert("random:gpt2-test@5", scratch_path(&scratch, name), 0, &keep, NULL));
        assert_ok(model_load(&m, scratch_path(&scratch, name), &fp16, NULL));
        memcpy(fingerprint, model_fingerprint(m), sizeof fingerprint);
        if (i == 0)
            turn_last_byte(scratch_path(&scratch, weights));
        else if (i == 1)
            assert_ok(weights_convert("random:gpt2-test@6", scratch_path(&scratch, name), 0, &force,
                                      NULL));
        else
            assert_int_equal(truncate(scratch_path(&scratch, weights), 100), 0);
        assert_ok(model_save(m, scratch_path(&scratch, saved), &keep, &p));
        assert_non_null(strstr(notes.all, " is not what it was when it was loaded"));
        assert_ok(model_load(&again, scratch_path(&scratch, saved), &fp16, NULL));
        assert_memory_equal(model_fingerprint(again), fingerprint, sizeof fingerprint);
        model_free(again);
        model_free(m);
    }
    clean();
}

/* ---- real files ---- */

static void real_folders_come_back(void **state)
{
    (void)state;
    const char *data = getenv("DATA");
    if (data == NULL || *data == '\0') {
        puts("# left out: converting SLM_4096 and tiny-random-gpt2 there and back");
        return;
    }
    const char *models[] = {"SLM_4096", "tiny-random-gpt2", "neural-api-tiny_gpt2/hf"};
    const struct save_config keep = {0};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char path[PATH_MAX];
        struct source s, back;
        snprintf(path, sizeof path, "%s/weights/%s", data, models[i]);
        assert_ok(weights_convert(path, scratch_path(&scratch, "a.gguf"), 0, &keep, NULL));
        assert_ok(weights_convert(scratch_path(&scratch, "a.gguf"), scratch_path(&scratch, "hf"), 0,
                                  &keep, NULL));
        assert_ok(source_open(&s, path, 0, true, NULL));
        assert_ok(source_open(&back, scratch_path(&scratch, "hf"), 0, true, NULL));
        assert_same_tensors(&s, &back);
        assert_int_equal(s.config.activation, back.config.activation);
        assert_int_equal(s.config.eos_token_id, back.config.eos_token_id);
        assert_int_equal(s.tokenizer == NULL, back.tokenizer == NULL);
        for (int k = 0; s.tokenizer != NULL && k < tokenizer_size(s.tokenizer); k++)
            assert_string_equal(tokenizer_text(s.tokenizer, k), tokenizer_text(back.tokenizer, k));
        source_close(&s);
        source_close(&back);
        clean();
    }
}

int main(void)
{
    /* In memory where that is possible: thousands of small files are synced here. */
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1);
    scratch_open(&scratch);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_precision_comes_back_bit_for_bit),
        cmocka_unit_test(every_activation_comes_back),
        cmocka_unit_test(every_field_comes_back),
        cmocka_unit_test(a_prefix_space_comes_back),
        cmocka_unit_test(the_other_keys_of_a_gguf_file_are_written_again),
        cmocka_unit_test(no_tokenizer_is_kept_that_way),
        cmocka_unit_test(compat_writes_the_tied_head_and_it_counts_as_tied),
        cmocka_unit_test(a_narrowed_vector_must_be_one),
        cmocka_unit_test(a_precision_asked_for_is_rounded_once),
        cmocka_unit_test(a_large_matrix_is_turned_in_parts),
        cmocka_unit_test(nothing_is_overwritten_without_force),
        cmocka_unit_test(a_folder_in_the_place_of_a_file_stays),
        cmocka_unit_test(force_replaces_the_model_and_keeps_the_rest),
        cmocka_unit_test(a_folder_that_is_there_stays_the_same_folder),
        cmocka_unit_test(a_save_that_is_cut_off_leaves_no_half_model),
        cmocka_unit_test(a_second_killed_save_is_mended_too),
        cmocka_unit_test(a_save_is_not_undone_by_an_opening),
        cmocka_unit_test(a_failed_save_leaves_what_was_there),
        cmocka_unit_test(no_memory_is_survived),
        cmocka_unit_test(a_model_is_saved_from_its_source_until_it_changes),
        cmocka_unit_test(a_model_is_saved_as_it_was_loaded),
        cmocka_unit_test(real_folders_come_back),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    scratch_close(&scratch);
    return rc;
}
