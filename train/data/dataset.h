#ifndef PRATTLE_TRAIN_DATA_DATASET_H
#define PRATTLE_TRAIN_DATA_DATASET_H
/*
 * Tokens to train on, whatever they come from: text files and folders, JSON lines,
 * Megatron .bin/.idx, nanoGPT and llm.c .bin, generated ones. One stream of ids with
 * document bounds, read by pread and never held in memory.
 */
#include "model/base/progress.h"
#include "model/tokenizer/tokenizer.h"
#include "train/data/mixture.h"
#include "train/data/token_file.h"

struct data_config {
    /* "generated", or paths separated by commas, one stream in this order: files, folders
     * (all files in them, by name, those that begin with a dot left out), patterns, Megatron
     * prefixes. "\," is a comma in a path. */
    char *data;
    bool mixture;              /* data may be several sources with weights (mixture.h) */
    char *validation;          /* the same, for validation; "": validation_fraction of data */
    float validation_fraction; /* of the documents, spread evenly; 0: none is held out */
    char *document_separator;  /* between documents of a text file; "" or "file": each is one */
    int stride;                /* tokens from one window to the next; 0: the window */
    bool shuffle;              /* windows in an order of their own each epoch */
    uint64_t seed; /* of that order, and of what is generated; for validation the next one */
    int64_t generated_tokens;
};
/* No data; 5 % held out; "<|endoftext|>"; shuffled. The texts are the struct's own. */
int data_config_init(struct data_config *c);
void data_config_release(struct data_config *c);

struct data_part; /* a run of the stream within one file */

/* A source of a mixture: a run of the stream. */
struct data_source_range {
    uint64_t first, n_tokens;
};

struct dataset {
    uint64_t n_tokens, n_documents;
    char *name;  /* of what it is made of, for sentences; owned */
    int n_vocab; /* every id is below it */
    /* SHA-256 of ids and bounds: changed data is noticed. Of a file beyond DATA_WHOLE_BYTES that
     * came as tokens it has a thousand places only, and the size: a change elsewhere is not. Of a
     * mixture it has the weights too. */
    unsigned char identity[32];
    struct data_files *files; /* shared by the two parts of one stream */
    struct data_part *parts;  /* [n_parts]; owned */
    size_t n_parts;
    uint64_t *documents;    /* [n_documents + 1], where each begins; owned */
    struct mixture mixture; /* whose sources follow one another in the stream; n 0: none */
    struct data_source_range *sources; /* [mixture.n_sources]; owned */
};

/*
 * The two parts of what the configuration names; of a mixture each source gives its part to
 * validation. Text is encoded, each document closed by
 * the end-of-text token where the tokenizer has one, once: into a Megatron data set in
 * $XDG_CACHE_HOME/prattle/data, named by the SHA-256 of the texts and the tokenizer.
 * Without validation data *validation has no tokens. Where the fraction is less than one
 * document, the end of the stream is held out.
 *
 * t        may be NULL unless there is text
 * n_vocab  of the model, 0: any ids; an id not below it is ERR_RANGE, naming file and place:
 *          here, or in dataset_read for files beyond DATA_WHOLE_BYTES
 * returns  0, ERR_MISSING, ERR_FORMAT, ERR_RANGE, ERR_INTERRUPTED...; both are then empty
 */
int dataset_open(struct dataset *train, struct dataset *validation, const struct data_config *c,
                 const struct tokenizer *t, int n_vocab, const struct progress *p);
void dataset_close(struct dataset *d);

/* ids first .. first + n - 1 of the stream; from any thread. ERR_RANGE, ERR_IO, ERR_FORMAT. */
int dataset_read(const struct dataset *d, token_id *out, uint64_t first, size_t n);

/* What the files behind a part of it are. */
struct data_summary {
    const char *format; /* "text", "Megatron", "nanoGPT", "llm.c", "generated", "several" */
    size_t files;
    token_id least, most; /* of the ids that were read */
    bool whole;           /* they all were */
};
void dataset_summary(const struct dataset *d, struct data_summary *out);

#endif
