/*
 * A sequence file of any bytes, as somebody would forge it: what stands before the lengths and the
 * checksum behind it all are made right. What is accepted can be gone on from, numbers that are
 * none included, and is the same file when it is saved.
 */
#include "kvcache/snapshot.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "sampling/generate.h"
#include "tests/lib/need.h"
#include "tests/lib/scratch.h"
#include "weights/load.h"

#include <openssl/evp.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 72, HASH = 32, MAX_BYTES = 1 << 20 };

static struct model *model;
static struct engine engine;
static struct sequence sequence;
static uint8_t head[HEAD];

static void drop(void)
{
    sequence_release(&sequence);
    engine_release(&engine);
    model_free(model);
}

/* A model of two pages a text, and how its sequence files begin. */
static void begin(void)
{
    const struct load_config fp16 = {.dtype = DTYPE_F16, .seed = 1};
    struct buf file = {0};
    need(model_load(&model, "random:gpt2,n_layer=1,n_embd=16,n_head=2,n_positions=70,vocab_size=32",
                    &fp16, NULL) == 0);
    need(engine_init(&engine, model, 1) == 0 && sequence_init(&sequence, &engine) == 0);
    atexit(drop);
    const char *path = scratch_file("empty", NULL, 0);
    need(snapshot_save(&sequence, path, NULL, true) == 0);
    need(file_read_all(&file, path, MAX_BYTES) == 0 && file.n > HEAD);
    memcpy(head, file.data, HEAD);
    buf_release(&file);
}

static void go_on(void)
{
    struct generate_config g;
    struct sampler_config c;
    struct answer answers[1] = {0};
    generate_config_init(&g);
    sampler_config_init(&c);
    g.max_new_tokens = 3;
    g.on_full = ON_FULL_SLIDE;
    c.seed = 1;
    if (generate(&sequence, NULL, &g, &c, &(struct generate_callbacks){0}, answers) != 0)
        need(err_text()[0] != '\0');
    answer_release(&answers[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (model == NULL)
        begin();
    if (size > MAX_BYTES)
        return 0;
    const size_t whole = HEAD + size + HASH;
    uint8_t *file = malloc(whole);
    char *settings = NULL;
    struct buf again = {0};
    need(file != NULL);
    memcpy(file, head, HEAD);
    memcpy(file + HEAD, data, size);
    need(EVP_Digest(file, HEAD + size, file + HEAD + size, NULL, EVP_sha256(), NULL) == 1);
    sequence_truncate(&sequence, 0);
    err_clear();
    if (snapshot_load(&sequence, scratch_file("forged", file, whole), NULL, NULL, &settings,
                      NULL) != 0) {
        need(err_text()[0] != '\0' && sequence.ids.n == 0);
    } else {
        const char *path = scratch_file("saved", NULL, 0);
        need(sequence.ids.n <= 71 && sequence_cached(&sequence) <= sequence.ids.n);
        need(snapshot_save(&sequence, path, settings, true) == 0);
        need(file_read_all(&again, path, 2 * MAX_BYTES) == 0 && again.n <= whole);
        go_on();
    }
    mem_free(settings);
    buf_release(&again);
    free(file);
    return 0;
}
