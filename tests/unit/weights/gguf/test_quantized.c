/* A GGUF file whose matrices are of every type that is read: it is the model that its values make.
 */
#include "tests/lib/gguf_open.h"
#include "tests/lib/notes.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "kvcache/sequence.h"
#include "model/base/par.h"
#include "model/base/rng.h"
#include "model/base/sha256.h"
#include "weights/load.h"
#include "weights/save.h"
#include "weights/tensors/half_exact.h"
#include "weights/tensors/names.h"
#include "weights/tensors/tensor_copy.h"

#include <fcntl.h>

static const char mixed[] = "tests/golden/blocks/mixed.gguf";
static const char small[] = "tests/fuzz/corpus/gguf/quantized.gguf";

static float *read_values(const struct tensor_reader *r, uint64_t n)
{
    float *x = mem_array((size_t)n, sizeof *x);
    assert_non_null(x);
    assert_ok(r->read(r->user, x, 0, (size_t)n));
    half_exact_widen(x, x, r->dtype, (size_t)n);
    return x;
}

static void each_tensor_has_the_values_of_the_reference(void **state)
{
    (void)state;
    struct source s;
    struct buf digests = {0};
    assert_ok(file_read_all(&digests, "tests/golden/blocks/mixed.sha256", 1 << 16));
    assert_ok(gguf_open_source(&s, mixed, true));
    assert_false(s.config.tie_word_embeddings);
    assert_int_equal(s.dtype, DTYPE_F32);
    for (int i = 0; i < s.table.n_tensors; i++) {
        const struct param_tensor *t = &s.table.tensors[i];
        float *x = read_values(&s.readers[i], tensor_elements(t));
        char name[NAMES_BYTES], hex[SHA256_HEX], line[SHA256_HEX + NAMES_BYTES + 2];
        struct sha256 h;
        assert_ok(sha256_init(&h));
        sha256_add(&h, x, (size_t)tensor_elements(t) * sizeof *x);
        sha256_end_hex(&h, hex);
        sha256_release(&h);
        names_gguf(name, sizeof name, t->name);
        snprintf(line, sizeof line, "%s  %s\n", hex, name);
        if (strstr(buf_text(&digests), line) == NULL)
            fail_msg("%s has other values", name);
        mem_free(x);
    }
    buf_release(&digests);
    source_close(&s);
}

/* Whole blocks, parts of them, and more than are read at a time. */
static void any_part_of_a_tensor_is_read_the_same(void **state)
{
    (void)state;
    struct source s;
    assert_ok(gguf_open_source(&s, mixed, true));
    for (int i = 0; i < s.table.n_tensors; i++) {
        const struct tensor_reader *r = &s.readers[i];
        const uint64_t all = tensor_elements(&s.table.tensors[i]);
        if (r->stored == NULL)
            continue;
        float *x = read_values(r, all), *part = mem_array((size_t)all + 1, sizeof *part);
        assert_non_null(part);
        for (uint64_t k = 0; k < 200; k++) {
            uint32_t w[4];
            rng_words(w, 5, (uint64_t)i, k);
            const uint64_t first = w[0] % (all + 1);
            uint64_t n = k % 2 == 0 ? w[1] % 100 : w[1] % (all + 1);
            n = n < all - first ? n : all - first;
            part[n] = 77;
            assert_ok(r->read(r->user, part, first, (size_t)n));
            assert_memory_equal(part, x + first, n * sizeof *x);
            assert_true(part[n] == 77);
        }
        mem_free(part);
        mem_free(x);
    }
    source_close(&s);
}

enum { N = 20 };

/* Logits [N,V] after each of N ids; in new memory. */
static float *logits_of(const char *path, enum dtype dtype, size_t *bytes)
{
    struct model *m;
    struct engine e;
    struct sequence s;
    assert_ok(model_load(&m, path, &(struct load_config){.dtype = dtype}, NULL));
    const size_t V = (size_t)m->config.n_vocab;
    float *logits = mem_array(N * V, sizeof *logits);
    assert_non_null(logits);
    assert_ok(engine_init(&e, m, 1));
    assert_ok(sequence_init(&s, &e));
    for (int i = 0; i < N; i++) {
        const token_id id = i * 7 % m->config.n_vocab;
        assert_ok(sequence_feed(&s, &id, 1, NULL));
        memcpy(logits + (size_t)i * V, s.logits, V * sizeof *logits);
    }
    sequence_release(&s);
    engine_release(&e);
    model_free(m);
    *bytes = N * V * sizeof *logits;
    return logits;
}

static void its_logits_are_those_of_its_values_in_f32(void **state)
{
    (void)state;
    const struct scratch *x = scratch_of_process();
    const struct save_config f32 = {.convert = true, .dtype = DTYPE_F32, .force = true};
    const struct save_config kept = {.force = true};
    const char *const copies[] = {"f32.gguf", "kept.gguf", "folder"};
    for (size_t i = 0; i < 3; i++)
        assert_ok(
            weights_convert(mixed, scratch_path(x, copies[i]), 0, i == 0 ? &f32 : &kept, NULL));
    for (int k = 0; k < 2; k++) {
        const enum dtype dtype = k == 0 ? DTYPE_F32 : DTYPE_F16;
        size_t bytes, other_bytes;
        float *logits = logits_of(mixed, dtype, &bytes);
        for (size_t i = 0; i < 3; i++) {
            float *others = logits_of(scratch_path(x, copies[i]), dtype, &other_bytes);
            assert_int_equal(other_bytes, bytes);
            assert_memory_equal(logits, others, bytes);
            mem_free(others);
        }
        assert_true(logits[0] == logits[0] && logits[0] != logits[1]);
        mem_free(logits);
    }
}

static struct model *load(const char *path)
{
    struct model *m;
    assert_ok(model_load(&m, path, &(struct load_config){.dtype = DTYPE_F16}, NULL));
    return m;
}

/* The types of the matrices, that of most elements first. */
static void types_have_their_names(void **state)
{
    (void)state;
    const struct scratch *x = scratch_of_process();
    struct notes notes = {0};
    const struct progress p = {.note = notes_take, .user = &notes};
    struct model *m = load(small);
    assert_string_equal(m->file_types, "Q4_1, Q3_K, Q4_0, Q5_0, Q5_1 and Q8_0");
    assert_ok(model_save(m, scratch_path(x, "exact.gguf"), &(struct save_config){0}, &p));
    assert_int_equal(notes.n, 1);
    assert_string_equal(notes.first,
                        "quantized weights (Q4_1, Q3_K, Q4_0, Q5_0 and Q5_1) are written as F32, "
                        "which holds their exact values; --dtype fp16 takes half the space");
    const struct save_config fp16 = {.convert = true, .dtype = DTYPE_F16};
    assert_ok(model_save(m, scratch_path(x, "half.gguf"), &fp16, &p));
    assert_int_equal(notes.n, 1);

    /* Changed weights are saved from memory, and then have its type in their file. */
    m->changed = true;
    assert_ok(model_save(m, scratch_path(x, "changed.gguf"), &(struct save_config){0}, &p));
    assert_string_equal(m->file_types, "F16");
    assert_int_equal(notes.n, 1);
    model_free(m);

    m = load(scratch_path(x, "exact.gguf"));
    assert_string_equal(m->file_types, "F32 and Q8_0");
    model_free(m);
    m = load(scratch_path(x, "half.gguf"));
    assert_string_equal(m->file_types, "F16");
    model_free(m);
    m = load(mixed);
    assert_string_equal(m->file_types, "Q5_1, Q8_0, Q4_0, Q5_0, IQ4_NL, Q2_K, Q3_K, Q4_K, Q5_K, "
                                       "Q6_K, Q4_1, F16, BF16 and F32");
    model_free(m);
}

/* ---- damaged files ---- */

/* Open and read everything; returns the code of what failed, or 0. */
static int read_everything(const char *path)
{
    struct source s;
    err_clear();
    int rc = gguf_open_source(&s, path, true);
    if (rc != 0)
        return rc;
    for (int i = 0; i < s.table.n_tensors && rc == 0; i++) {
        const uint64_t n = tensor_elements(&s.table.tensors[i]);
        float *x = mem_array((size_t)n, sizeof *x);
        assert_non_null(x);
        rc = s.readers[i].read(s.readers[i].user, x, 0, (size_t)n);
        mem_free(x);
    }
    source_close(&s);
    return rc;
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    (void)state;
    struct buf whole = {0};
    assert_ok(file_read_all(&whole, small, 1 << 20));
    const char *path = scratch_file("cut.gguf", whole.data, whole.n);
    assert_ok(read_everything(path));
    for (size_t n = whole.n; n-- > 0;) {
        assert_int_equal(truncate(path, (off_t)n), 0);
        assert_int_not_equal(read_everything(path), 0);
        assert_true(strlen(err_text()) > 20);
    }
    buf_release(&whole);
}

/* It is read or gets a sentence. */
static void a_file_with_any_byte_changed_does_no_harm(void **state)
{
    (void)state;
    static const unsigned char flips[] = {1, 0x10, 0x80, 0xff};
    struct buf whole = {0};
    int refused = 0, loaded = 0;
    assert_ok(file_read_all(&whole, small, 1 << 20));
    const char *path = scratch_file("changed.gguf", whole.data, whole.n);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    for (size_t at = 0; at < whole.n; at++) {
        const unsigned char byte = (unsigned char)whole.data[at];
        const unsigned char changed = byte ^ flips[at % sizeof flips];
        assert_int_equal(pwrite(fd, &changed, 1, (off_t)at), 1);
        int rc = read_everything(path);
        assert_true(rc == 0 || strlen(err_text()) > 20);
        refused += rc != 0;
        loaded += rc == 0;
        assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    }
    close(fd);
    assert_true(refused > 300 && loaded > 8000);
    buf_release(&whole);
}

static void a_file_that_shrinks_while_it_is_read_is_refused(void **state)
{
    (void)state;
    struct buf whole = {0};
    struct source s;
    float x[512];
    assert_ok(file_read_all(&whole, small, 1 << 20));
    const char *path = scratch_file("shrinks.gguf", whole.data, whole.n);
    assert_ok(gguf_open_source(&s, path, true));
    assert_int_equal(truncate(path, 2048), 0);
    int n_failed = 0;
    for (int i = 0; i < s.table.n_tensors; i++)
        if (s.readers[i].stored != NULL)
            n_failed += s.readers[i].read(s.readers[i].user, x, 7, 100) == ERR_FORMAT;
    assert_true(n_failed >= 5);
    source_close(&s);
    buf_release(&whole);
}

int main(void)
{
    if (par_open(2, false) != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_tensor_has_the_values_of_the_reference),
        cmocka_unit_test(any_part_of_a_tensor_is_read_the_same),
        cmocka_unit_test(its_logits_are_those_of_its_values_in_f32),
        cmocka_unit_test(types_have_their_names),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(a_file_with_any_byte_changed_does_no_harm),
        cmocka_unit_test(a_file_that_shrinks_while_it_is_read_is_refused),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    par_close();
    return rc;
}
