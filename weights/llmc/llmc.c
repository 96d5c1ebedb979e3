#include "weights/llmc/llmc.h"

#include "model/base/err.h"
#include "model/base/little_endian.h"
#include "model/schema.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_PADDED = 1 << 24 };

/* llm.c's other files. */
static const struct {
    uint32_t magic;
    const char *what;
} others[] = {
    {20240327, "a state for llm.c's tests"},
    {20240328, "llm.c's tokenizer"},
    {20240520, "token data of llm.c, which :train reads"},
    {20240522, "llm.c's HellaSwag data"},
    {20240527, "llm.c's optimizer state; the model is in the file that begins with model_"}};
enum { N_OTHERS = sizeof others / sizeof *others };

bool llmc_is_file(const char head[4])
{
    const uint32_t magic = le32_at(head);
    bool found = magic == LLMC_MAGIC;
    for (int i = 0; i < N_OTHERS; i++)
        found = found || magic == others[i].magic;
    return found;
}

static int check_magic(uint32_t magic)
{
    for (int i = 0; i < N_OTHERS; i++)
        if (magic == others[i].magic)
            return err_set(ERR_FORMAT, "it is not a model but %s", others[i].what);
    if (magic != LLMC_MAGIC)
        return err_set(ERR_FORMAT, "it is not a model of llm.c");
    return 0;
}

static int read_sizes(struct llmc *h, const char *header)
{
    struct config *c = &h->config;
    int *const to[] = {&h->version, &c->n_ctx,  &c->n_vocab, &c->n_layer,
                       &c->n_head,  &c->n_embd, &h->padded};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        *to[i] = (int)(int32_t)le32_at(header + 4 * (i + 1));
    if (h->version != LLMC_UNPADDED_F32 && h->version != LLMC_F32 && h->version != LLMC_BF16)
        return err_set(ERR_UNSUPPORTED,
                       "it has version %d of llm.c's format; 1 and 3 (fp32) and 5 (bf16) are read",
                       h->version);
    if (h->version == LLMC_UNPADDED_F32)
        h->padded = c->n_vocab;
    h->dtype = h->version == LLMC_BF16 ? DTYPE_BF16 : DTYPE_F32;
    c->eos_token_id = c->bos_token_id = c->n_vocab > 50256 ? 50256 : TOKEN_NONE;
    int rc = config_check(c);
    if (rc == 0 && (h->padded < c->n_vocab || h->padded > MAX_PADDED))
        rc = err_set(ERR_RANGE, "the padded vocabulary is %d, must be %d to %d", h->padded,
                     c->n_vocab, MAX_PADDED);
    return rc;
}

int llmc_read(struct llmc *h, const struct file *f)
{
    char header[LLMC_HEADER_BYTES];
    *h = (struct llmc){0};
    config_init(&h->config);
    h->config.embd_pdrop = h->config.attn_pdrop = h->config.resid_pdrop = 0;
    if (f->bytes < LLMC_HEADER_BYTES)
        return err_set(ERR_FORMAT, "the file has %" PRIu64 " bytes, llm.c's header has %d",
                       f->bytes, LLMC_HEADER_BYTES);
    int rc = file_read_at(f, header, 0, sizeof header);
    if (rc == 0)
        rc = check_magic(le32_at(header));
    if (rc == 0)
        rc = read_sizes(h, header);
    if (rc == 0 && llmc_bytes(h) != f->bytes)
        rc = err_set(ERR_FORMAT, "the file has %" PRIu64 " bytes, its header says %" PRIu64,
                     f->bytes, llmc_bytes(h));
    return rc;
}

void llmc_header(unsigned char *out, const struct llmc *h)
{
    const struct config *c = &h->config;
    const int values[] = {LLMC_MAGIC, h->version, c->n_ctx,  c->n_vocab,
                          c->n_layer, c->n_head,  c->n_embd, h->padded};
    memset(out, 0, LLMC_HEADER_BYTES);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (int byte = 0; byte < 4; byte++)
            out[4 * i + (size_t)byte] = (unsigned char)((uint32_t)values[i] >> 8 * byte);
}

uint64_t llmc_bytes(const struct llmc *h)
{
    const struct config *c = &h->config;
    const uint64_t more = (uint64_t)(h->padded - c->n_vocab) * (uint64_t)c->n_embd;
    return LLMC_HEADER_BYTES + (config_params(c) + more) * dtype_bytes(h->dtype);
}

uint64_t llmc_offset(const struct llmc *h, const struct params *table, int i)
{
    const struct config *c = &h->config;
    const int first = schema_first_of_layers(c), each = schema_tensors_per_layer(c);
    const bool in_layer = table->tensors[i].layer >= 0;
    /* Of those before it, one of each layer stands for all layers. */
    const int column = in_layer ? first + (i - first) % each : i;
    uint64_t at = 0;
    for (int k = 0; k < table->n_tensors && k < column; k++) {
        const struct param_tensor *t = &table->tensors[k];
        const uint64_t rows = k == 0 ? (uint64_t)h->padded : (uint64_t)t->rows;
        const uint64_t times = in_layer && t->layer == 0 ? (uint64_t)c->n_layer : 1;
        at += rows * (uint64_t)t->cols * times;
    }
    const struct param_tensor *t = &table->tensors[i];
    return at + (in_layer ? (uint64_t)t->layer * (uint64_t)t->rows * (uint64_t)t->cols : 0);
}
