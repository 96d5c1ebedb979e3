#ifndef PRATTLE_TRAIN_DATA_TOKEN_FILE_H
#define PRATTLE_TRAIN_DATA_TOKEN_FILE_H
/*
 * Token ids on disk, in the formats of others: Megatron-LM's and fairseq's .bin with
 * .idx, nanoGPT's .bin (uint16, nothing else), llm.c's .bin (256 int32 of header). And
 * ids that are made up, which need no disk.
 */
#include "model/base/file.h"
#include "model/base/progress.h"
#include "model/config.h"

#define DATA_WHOLE_BYTES ((uint64_t)1 << 30) /* up to here all of a file is read when opened */

/* What llm.c's files begin with: ids of GPT-2, of Llama 3. */
enum { LLMC_GPT2 = 20240520, LLMC_LLAMA3 = 20240801 };

enum token_format { TOKENS_MEGATRON, TOKENS_NANOGPT, TOKENS_LLMC, TOKENS_GENERATED };

struct token_file {
    enum token_format format;
    struct file file; /* that has the ids */
    uint64_t offset;  /* where in it they begin */
    int width;        /* bytes of an id: 1, 2, 4, 8; below 0 where they are signed */
    uint64_t n_tokens, n_documents;
    uint64_t *documents; /* [n_documents + 1], where each begins; owned */
    size_t n_texts;      /* files of text it was encoded from, 0: it came as it is */
    char sum[65];        /* SHA-256 of all of it in hexadecimal, "": not known */
    /* By token_file_check: */
    unsigned char
        digest[32];       /* SHA-256 of the ids read, as int32; and of sum where whole is false */
    token_id least, most; /* of the ids read; least > most: none were */
    bool whole;           /* all of them were */
    /* Of what is generated: */
    uint64_t seed;
    int n_vocab;
};

/*
 * path    PREFIX, PREFIX.bin or PREFIX.idx for Megatron, else the file
 * returns 0, ERR_MISSING, ERR_IO, ERR_FORMAT (naming file and both numbers), ERR_NOMEM;
 *         f is then closed
 */
int token_file_open(struct token_file *f, enum token_format format, const char *path);
/*
 * n ids in runs of eight that count up from a random one: a model can learn them, its
 * loss then nears ln(V) / 8. Documents of 1024.
 */
int token_file_generate(struct token_file *f, uint64_t n, uint64_t seed, int n_vocab);
void token_file_close(struct token_file *f);

/* ids first .. first + n - 1. ERR_RANGE: one below 0 or not below n_vocab (0: any). */
int token_file_read(const struct token_file *f, token_id *out, uint64_t first, size_t n,
                    int n_vocab);
/*
 * Read it once: all of it up to DATA_WHOLE_BYTES, else a thousand places spread evenly.
 * Where the format keeps no documents and all is read, they end behind each token `eos`
 * (TOKEN_NONE: one document). Errors as token_file_read, and ERR_INTERRUPTED.
 */
int token_file_check(struct token_file *f, int n_vocab, token_id eos, const struct progress *p);

#endif
