#ifndef PRATTLE_TESTS_HF_FOLDER_H
#define PRATTLE_TESTS_HF_FOLDER_H
/* Hugging Face folders of a very small GPT-2, right or wrong as a test asks. */
#include "model/base/buf.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

/* n_layer 1, n_head 2, n_embd 4, n_positions 3, n_inner 6, vocab_size 5. */
#define HF_CONFIG_WITH(more)                                                                       \
    "{\"model_type\": \"gpt2\", \"n_layer\": 1, \"n_head\": 2, \"n_embd\": 4, \"n_positions\": 3," \
    " \"n_inner\": 6, \"vocab_size\": 5" more "}"
#define HF_CONFIG HF_CONFIG_WITH("")

struct hf_tensor {
    char name[64];
    char dtype[12];
    int rank;
    uint64_t shape[3];
    const char *values_of; /* the tensor whose values it has; NULL: its own */
};

struct hf_tensors {
    int n;
    struct hf_tensor all[32];
};

void hf_add(struct hf_tensors *l, const char *name, const char *dtype, int rank, uint64_t a,
            uint64_t b);

/* The tensors of HF_CONFIG, as transformers writes them. */
void hf_list(struct hf_tensors *l, const char *dtype);
struct hf_tensor *hf_find(struct hf_tensors *l, const char *name);
uint64_t hf_elements(const struct hf_tensor *t);

/* Element i of the tensor of this name, without "transformer.": a value that all three
 * types hold, the same wherever it is stored. */
float hf_value(const char *name, uint64_t i);
void hf_data(struct buf *out, const struct hf_tensor *t);

/* A safetensors file: the length, this header, n bytes of data. */
void hf_write_raw(const struct scratch *s, const char *file, const char *header, const void *data,
                  size_t n);

/* The tensors from first on, count of them, as one safetensors file. */
void hf_write(const struct scratch *s, const char *file, const struct hf_tensors *l, int first,
              int count);
/* Text as it is. */
void hf_write_text(const struct scratch *s, const char *file, const char *text);

/* A folder that loads. */
void hf_write_folder(const struct scratch *s, const char *dtype);

#endif
