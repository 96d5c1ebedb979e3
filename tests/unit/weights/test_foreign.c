/* Models in the files of other programs: logits against PyTorch's
 * (tests/golden/foreign_reference.py), and the same bits once they are saved as a folder. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "kvcache/engine.h"
#include "sampling/score.h"
#include "weights/load.h"
#include "weights/save.h"

#include <jansson.h>
#include <math.h>

enum { MAX_IDS = 64 };

struct golden_ids {
    token_id ids[MAX_IDS + 1]; /* one more than there are: it is predicted, whichever it is */
    size_t n;
};

static void read_ids(struct golden_ids *ids, const char *folder)
{
    char *path = file_join(folder, "ids.json");
    json_t *list = json_load_file(path, 0, NULL);
    mem_free(path);
    assert_in_range(json_array_size(list), 1, MAX_IDS);
    *ids = (struct golden_ids){.n = json_array_size(list)};
    for (size_t i = 0; i < ids->n; i++)
        ids->ids[i] = (token_id)json_integer_value(json_array_get(list, i));
    json_decref(list);
}

struct scored {
    float *logits; /* [n,V] */
    size_t V;
};

static void take_logits(void *user, size_t target, const float *logits)
{
    struct scored *s = user;
    memcpy(s->logits + (target - 1) * s->V, logits, s->V * sizeof *logits);
}

/* New memory; *n floats. */
static float *score(struct model *m, const struct golden_ids *ids, size_t *n)
{
    struct engine e;
    struct scored s = {.V = (size_t)m->config.n_vocab};
    *n = ids->n * s.V;
    s.logits = mem_array(*n, sizeof *s.logits);
    assert_ok(engine_init(&e, m, 1));
    assert_ok(score_text(&e, ids->ids, ids->n + 1, 1, take_logits, &s, NULL));
    engine_release(&e);
    return s.logits;
}

static struct model *load(const char *path, enum dtype dtype)
{
    struct load_config c = {.dtype = dtype};
    struct model *m = NULL;
    assert_ok(model_load(&m, path, &c, NULL));
    return m;
}

/* The model at folder/file as it is, and as prattle saves it again. */
static void compare_model(const char *folder, const char *file)
{
    struct golden_ids ids;
    struct buf golden = {0};
    size_t n, again_n;
    char *path = file_join(folder, file), *logits_path = file_join(folder, "logits.f32");
    struct model *m = load(path, DTYPE_F32);
    read_ids(&ids, folder);
    float *got = score(m, &ids, &n);
    assert_ok(file_read_all(&golden, logits_path, UINT64_MAX));
    assert_int_equal(golden.n, n * sizeof *got);
    const float *expected = (const float *)(void *)golden.data;
    double error = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        error = worse(error, fabs((double)got[i] - (double)expected[i]));
        largest = fmax(largest, fabs((double)expected[i]));
    }
    if (!(error <= 1e-5 * largest))
        fail_msg("%s: logits differ by %g, the largest is %g", path, error, largest);
    struct scratch s;
    struct save_config how = {0};
    scratch_open(&s);
    assert_ok(model_save(m, scratch_path(&s, "folder"), &how, NULL));
    model_free(m);
    m = load(scratch_path(&s, "folder"), DTYPE_F32);
    float *again = score(m, &ids, &again_n);
    assert_int_equal(again_n, n);
    assert_memory_equal(again, got, n * sizeof *got);
    model_free(m);
    scratch_close(&s);
    mem_free(got);
    mem_free(again);
    buf_release(&golden);
    mem_free(path);
    mem_free(logits_path);
}

static void llmc(void **state)
{
    (void)state;
    compare_model("tests/golden/foreign/llmc-1", "model.bin");
    compare_model("tests/golden/foreign/llmc-3", "model.bin");
    compare_model("tests/golden/foreign/llmc-5", "model.bin");
}

static void nanogpt(void **state)
{
    (void)state;
    compare_model("tests/golden/foreign/nanogpt", "ckpt.pt");
    compare_model("tests/golden/foreign/nanogpt", "");
    compare_model("tests/golden/foreign/nanogpt-char", "");
}

static void mingpt(void **state)
{
    (void)state;
    compare_model("tests/golden/foreign/mingpt", "");
}

static void languini(void **state)
{
    (void)state;
    compare_model("tests/golden/foreign/languini-few", "");
    compare_model("tests/golden/foreign/languini-more", "checkpoints/model.pt");
    struct scratch s;
    struct save_config how = {0};
    scratch_open(&s);
    assert_fails(
        weights_convert("tests/golden/foreign/languini-few", scratch_path(&s, "x.gguf"), 0, &how,
                        NULL),
        ERR_UNSUPPORTED,
        "3 heads of 3 are not as wide as the model's 12, which GGUF cannot say of a GPT-2: "
        "name a folder");
    assert_false(file_exists(scratch_path(&s, "x.gguf")));
    scratch_close(&s);
}

static void fairseq(void **state)
{
    (void)state;
    compare_model("tests/golden/foreign/fairseq", "");
    compare_model("tests/golden/foreign/fairseq-learned", "checkpoint_best.pt");
    compare_model("tests/golden/foreign/fairseq-old", "");
}

/* DialoGPT, distilgpt2 and Cerebras-GPT are GPT-2s with settings and buffers of their own. */
static void of_the_hub(void **state)
{
    (void)state;
    compare_model("tests/golden/foreign/distilgpt2", "");
    compare_model("tests/golden/foreign/dialogpt", "");
    compare_model("tests/golden/foreign/cerebras", "pytorch_model.bin");
}

/* PEFT's, in which queries, keys and values have an A each. */
static void adapters_of_neo(void **state)
{
    (void)state;
    compare_model("tests/golden/foreign/neo-adapter", "");
    compare_model("tests/golden/foreign/neo-adapter-all", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llmc),
        cmocka_unit_test(nanogpt),
        cmocka_unit_test(mingpt),
        cmocka_unit_test(languini),
        cmocka_unit_test(fairseq),
        cmocka_unit_test(of_the_hub),
        cmocka_unit_test(adapters_of_neo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
