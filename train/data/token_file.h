#ifndef PRATTLE_TRAIN_DATA_TOKEN_FILE_H
#define PRATTLE_TRAIN_DATA_TOKEN_FILE_H
/*
 * Token ids in files of other programs: Megatron-LM's and fairseq's .bin with .idx, nanoGPT's .bin
 * (uint16, no header; each document ends with the end-of-text token), llm.c's .bin (a header of 256
 * int32; each document begins with that token), TFRecord, of which each record is a document
 * (tfrecord.h), pickled lists of lists (pickle_ids.h), NumPy's .npy,
 * of which each is a document (npy.h); and generated ids, which need no
 * file.
 */
#include "model/base/file.h"
#include "model/base/progress.h"
#include "model/config.h"

#define DATA_WHOLE_BYTES ((uint64_t)1 << 30) /* a file of up to this size is read when opened */
#define GENERATED_MOST ((uint64_t)1 << 48)   /* generated ids */

enum token_format {
    TOKENS_MEGATRON,
    TOKENS_NANOGPT,
    TOKENS_LLMC,
    TOKENS_TFRECORD,
    TOKENS_PICKLE,
    TOKENS_NPY,
    TOKENS_GENERATED
};

struct token_file {
    enum token_format format;
    struct file file; /* with the ids; of TFRecord and pickles a temporary copy of them */
    uint64_t offset;  /* of the first id in the file */
    int width;        /* bytes of an id: 1, 2, 4, 8; below 0 where they are signed */
    uint64_t n_tokens, n_documents;
    uint64_t *documents; /* [n_documents + 1], where each begins; owned */
    uint64_t *seconds;   /* of Megatron's: as there (megatron.h), or NULL; owned */
    bool prompts; /* what a document has before its second sequence is a prompt, not to be learned
                   */
    token_id end; /* the end-of-text token that separates documents in a file without their bounds;
                     TOKEN_NONE: not known, or not needed */
    size_t n_texts;  /* text files it was encoded from; 0: it was given as tokens */
    bool json_lines; /* all of these are JSON lines */
    char sum[65];    /* SHA-256 of the whole set in hexadecimal; "": not known */
    /* Set by token_file_check: */
    unsigned char
        digest[32];       /* SHA-256 of the ids read, as int32; and of sum where whole is false */
    token_id least, most; /* of the ids read; least > most: none was read */
    bool whole;           /* all ids were read */
    /* Generated ids only: */
    uint64_t seed;
    int n_vocab;
};

/*
 * path       PREFIX, PREFIX.bin or PREFIX.idx for Megatron, else the file
 * separator  the token that ends a pickled document, where it does not end with it; TOKEN_NONE:
 *            none
 * returns    0, ERR_MISSING, ERR_IO, ERR_FORMAT (naming file and both numbers), ERR_UNSUPPORTED,
 *            ERR_RANGE, ERR_NOMEM, ERR_INTERRUPTED; f is then closed
 */
int token_file_open(struct token_file *f, enum token_format format, const char *path,
                    token_id separator, const struct progress *p);
/*
 * n ids in documents of 1024: runs of eight ids that count up from a random one. A model can learn
 * them; its loss then approaches ln(V) / 8.
 */
int token_file_generate(struct token_file *f, uint64_t n, uint64_t seed, int n_vocab);
void token_file_close(struct token_file *f);

/* Read ids first .. first + n - 1 into out [n]. ERR_RANGE: an id is below 0 or not below n_vocab
 * (0: any id), ERR_IO, ERR_FORMAT. */
int token_file_read(const struct token_file *f, token_id *out, uint64_t first, size_t n,
                    int n_vocab);
/*
 * Read the ids once, to check them and to compute digest, least and most: all of a file up to
 * DATA_WHOLE_BYTES, or where `whole` is set, else a thousand blocks spread evenly. If all is read
 * and the format does not store documents, a document ends after each token `eos`, and begins with
 * it in llm.c's files, as its scripts write them. Without eos (TOKEN_NONE) it is the greatest id of
 * a nanoGPT or llm.c file if that is GPT-2's end of text, or the first of an llm.c file; others are
 * one document. Errors as token_file_read, and ERR_INTERRUPTED.
 */
int token_file_check(struct token_file *f, int n_vocab, token_id eos, bool whole,
                     const struct progress *p);

#endif
