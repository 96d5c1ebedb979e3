#ifndef PRATTLE_WEIGHTS_LLMC_LLMC_H
#define PRATTLE_WEIGHTS_LLMC_LLMC_H
/*
 * A model of llm.c (Karpathy 2024, train_gpt2.py and train_gpt2.cu): 256 int32, little-endian, then
 * all tensors of one type in the order of schema.h, but each tensor of all layers together:
 *
 *   int32    0 magic 20240326   1 version        2 n_positions   3 vocab_size
 *            4 n_layer          5 n_head         6 n_embd        7 padded vocabulary, from 3 on
 *   version  1, 3 fp32          5 bf16
 *   tensors  wte [padded,C] | wpe | ln_1.weight of all layers | ln_1.bias of all layers | ... |
 *            ln_f.weight | ln_f.bias;  matrices [out,in]; the head is wte
 */
#include "model/base/file.h"
#include "model/params.h"

enum { LLMC_HEADER_BYTES = 1024, LLMC_MAGIC = 20240326, LLMC_PADDING = 128 };
enum { LLMC_UNPADDED_F32 = 1, LLMC_F32 = 3, LLMC_BF16 = 5 };

struct llmc {
    int version;
    struct config config;
    int padded; /* rows of wte in the file */
    enum dtype dtype;
};

/* Whether the file begins as one of llm.c's: a model, or what llmc_read refuses by its name. */
bool llmc_is_file(const char head[4]);
/* Read the header and check it against the file's size. ERR_FORMAT, ERR_UNSUPPORTED, ERR_RANGE. */
int llmc_read(struct llmc *h, const struct file *f);
/* The header in out [LLMC_HEADER_BYTES]. */
void llmc_header(unsigned char *out, const struct llmc *h);
/* The number of bytes of a whole file. */
uint64_t llmc_bytes(const struct llmc *h);
/* Where the elements of tensor i of the table begin, in elements behind the header. */
uint64_t llmc_offset(const struct llmc *h, const struct params *table, int i);

#endif
