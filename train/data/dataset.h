#ifndef PRATTLE_TRAIN_DATA_DATASET_H
#define PRATTLE_TRAIN_DATA_DATASET_H
/*
 * Tokens to train on, from text files and folders, JSON lines, Megatron .bin/.idx, nanoGPT and
 * llm.c .bin, TFRecord, pickled lists, .npy, or generated: one stream of ids with document bounds,
 * read by pread and never all in memory.
 */
#include "model/base/progress.h"
#include "model/tokenizer/tokenizer.h"
#include "train/data/mixture.h"
#include "train/data/pairs.h"
#include "train/data/token_file.h"

struct data_config {
    /* "generated", or paths separated by commas, one stream in this order: files, folders
     * (all files in them, by name, those that begin with a dot left out), patterns, Megatron
     * prefixes. "\," is a comma in a path. */
    char *data;
    bool mixture;               /* data may be several sources with weights (mixture.h) */
    char *validation;           /* the same, for validation; "": validation_fraction of data */
    double validation_fraction; /* of the documents, spread evenly; 0: none is held out */
    char *document_separator;   /* between documents of a text file; "" or "file": each is one */
    struct data_lines lines;    /* JSON lines and Parquet (pairs.h) */
    bool completion_only_loss;  /* the loss does not count prompts */
    bool special;               /* special tokens in texts are read as such, else as text */
    int stride;                 /* tokens from one window to the next; 0: the window */
    bool whole;                 /* large token files are read whole, to find their documents */
    bool shuffle;               /* a new order of the windows each epoch */
    bool shift;                 /* other windows each epoch (batches.h) */
    uint64_t seed; /* of both and of generated tokens; validation generates with seed + 1 */
    int64_t generated_tokens;
};
/* No data, 5 % held out, separator "<|endoftext|>", field "text", shuffled, without the loss of
 * prompts. Texts are owned by the struct. ERR_NOMEM. */
int data_config_init(struct data_config *c);
void data_config_release(struct data_config *c);

struct data_part; /* contiguous tokens of the stream in one file */

/* A source of a mixture: contiguous tokens of the stream. */
struct data_source_range {
    uint64_t first, n_tokens;
};

struct dataset {
    uint64_t n_tokens, n_documents;
    char *name;  /* the paths it is made of, for messages; owned */
    int n_vocab; /* every id is below it */
    /* SHA-256 of ids, document bounds and a mixture's weights, to notice changed data. Of a token
     * file beyond DATA_WHOLE_BYTES it covers the size and a thousand samples: a change elsewhere in
     * such a file is not noticed. */
    unsigned char identity[32];
    struct data_files *files; /* shared by training and validation data of one stream */
    struct data_part *parts;  /* [n_parts]; owned */
    size_t n_parts;
    uint64_t *documents;    /* [n_documents + 1], where each begins; owned */
    uint64_t *completions;  /* [n_documents], where in each the loss begins; NULL: at its beginning
                               in all; owned */
    uint64_t n_prompt;      /* tokens before these */
    struct mixture mixture; /* whose sources follow one another in the stream; n 0: none */
    struct data_source_range *sources; /* [mixture.n_sources]; owned */
};

/*
 * Open the data that the configuration names and split it into training and validation data; each
 * source of a mixture is split. Text is encoded once, each document followed by the end-of-text
 * token if the tokenizer has one and the document does not end with it, into a Megatron data set in
 * $XDG_CACHE_HOME/prattle/data, named by the SHA-256 of the texts, the tokenizer and how they are
 * read. Without validation data *validation has no tokens. If the fraction is less than one
 * document, the end of the stream is held out.
 *
 * t        may be NULL if there is no text
 * n_vocab  of the model; 0: any ids. An id that is not below it is ERR_RANGE, which names file and
 *          position, here or, in files beyond DATA_WHOLE_BYTES, in dataset_read
 * returns  0; ERR_MISSING, ERR_FORMAT, ERR_RANGE, ERR_IO, ERR_NOMEM, ERR_INTERRUPTED: both are
 *          then empty
 */
int dataset_open(struct dataset *train, struct dataset *validation, const struct data_config *c,
                 const struct tokenizer *t, int n_vocab, const struct progress *p);
/* All that `paths` names (data_config.data) in its order, to look at: nothing is held out, and
 * every id is read. */
int dataset_open_whole(struct dataset *d, const char *paths, const struct data_lines *lines,
                       const struct tokenizer *t, int n_vocab, const struct progress *p);
void dataset_close(struct dataset *d);

/* Read ids first .. first + n - 1 of the stream into out [n]; any thread may call this. ERR_RANGE,
 * ERR_IO, ERR_FORMAT. */
int dataset_read(const struct dataset *d, token_id *out, uint64_t first, size_t n);

/* Which of the ids first .. first + n - 1 the loss counts: f(user, i) is called for each i in 0 ..
 * n - 1 that it does not, in this order. */
void dataset_prompts(const struct dataset *d, uint64_t first, size_t n,
                     void (*f)(void *user, size_t i), void *user);

/* Whether the document that begins at id `first` of the stream is of a file whose documents begin
 * with the end-of-text token, llm.c's, instead of ending with it. */
bool dataset_begins_with_end(const struct dataset *d, uint64_t first);

/* What the files of a data set are. */
struct data_summary {
    const char *format; /* "text", "Megatron", "nanoGPT", "llm.c", "TFRecord", "pickled lists",
                           "NumPy", "generated", "several" */
    size_t files;
    token_id least, most; /* of the ids that were read when the files were opened */
    bool whole;           /* all ids were read */
    bool bounds;          /* documents end where the files say, at a token that is known, or each
                             is one; else only the tokenizer says where */
    token_id end;         /* that token, where all files without bounds have the same; TOKEN_NONE */
};
void dataset_summary(const struct dataset *d, struct data_summary *out);

#endif
