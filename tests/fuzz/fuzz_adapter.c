/*
 * adapter_read on any bytes: the first two say how many of them are adapter_config.json, the rest
 * are adapter_model.safetensors. What is accepted fits its model and is numbers, and comes back as
 * it was when it is written and read.
 */
#include "model/base/err.h"
#include "model/base/mem.h"
#include "tests/lib/scratch.h"
#include "weights/hf/adapter_file.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char CONFIG[] = "adapter_config.json", TENSORS[] = "adapter_model.safetensors";
static const struct config tiny = {.n_layer = 2,
                                   .n_head = 2,
                                   .n_embd = 8,
                                   .n_inner = 16,
                                   .n_ctx = 16,
                                   .n_vocab = 32,
                                   .layer_norm_epsilon = 1e-5f,
                                   .tie_word_embeddings = true,
                                   .scale_attn_weights = true};

static void check(const struct adapter *a)
{
    size_t n;
    if (a->n_branches < 1 || adapter_count(&n, &a->config, &tiny) != 0 || n != a->n)
        abort();
    for (size_t i = 0; i < n; i++)
        if (!isfinite(a->data[i]))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adapter *a, *back;
    if (size < 2)
        return 0;
    size_t config = (size_t)data[0] | (size_t)data[1] << 8;
    data += 2;
    size -= 2;
    config = config < size ? config : size;
    scratch_file(CONFIG, data, config);
    scratch_file(TENSORS, data + config, size - config);
    err_clear();
    if (adapter_read(&a, scratch_of_process()->folder, &tiny) != 0) {
        if (err_text()[0] == '\0')
            abort();
        return 0;
    }
    check(a);
    unlink(scratch_file(CONFIG, NULL, 0));
    unlink(scratch_file(TENSORS, NULL, 0));
    if (adapter_write(a, scratch_of_process()->folder, "base") != 0 ||
        adapter_read(&back, scratch_of_process()->folder, &tiny) != 0)
        abort();
    if (back->n != a->n || memcmp(back->data, a->data, a->n * sizeof *a->data) != 0)
        abort();
    adapter_free(back);
    adapter_free(a);
    return 0;
}
