#ifndef PRATTLE_TRAIN_PREPARE_PREPARE_CONFIG_H
#define PRATTLE_TRAIN_PREPARE_PREPARE_CONFIG_H
/*
 * What of the texts is prepared, and as what.
 */
#include "model/base/settings_table.h"

enum prepare_duplicates { DUPLICATES_KEEP, DUPLICATES_EXACT, DUPLICATES_NEAR };
enum { PREPARE_PARTS = 3 }; /* train, validation, test */

struct prepare_config {
    int format;       /* enum output_format + 1; 0: by the name */
    char *field;      /* of JSON lines and CSV */
    char *separator;  /* between the documents of a text; "file": each text is one */
    char *split;      /* "0.95,0.025,0.025"; "": one file */
    bool special;     /* special tokens in texts are read as such, else as text */
    int record_limit; /* MB of a line, a record or a word */
    int min_length;   /* characters of a document, or its tokens; shorter ones are left out */
    int duplicates;
    bool shuffle;
    uint64_t seed;         /* of the shuffled order */
    char *tokenizer;       /* path of what has it; "": that of the model */
    const char *opened_by; /* what the tokenizer was opened by, no setting; NULL: not known */
};
/* Its rows, for words KEY=VALUE; the texts are owned by the struct. */
extern const struct settings_table prepare_settings;
int prepare_config_init(struct prepare_config *c);
void prepare_config_release(struct prepare_config *c);
/* Whether a word is KEY=VALUE, and the name of no file. */
bool prepare_config_is_word(const char *word);
/* A word KEY=VALUE. ERR_MISSING, ERR_RANGE. */
int prepare_config_set(struct prepare_config *c, const char *word);
/* Between the documents of a text, as text_reader_init takes it. */
const char *prepare_separator(const struct prepare_config *c);
/* ERR_RANGE: set to something is what says not how texts are read: by field, document_separator,
 * special and record_limit, and a tokenizer. */
int prepare_config_check_reading(const struct prepare_config *c);
/* ERR_RANGE: what only texts have is set to something, and IN has tokens. */
int prepare_config_check_tokens(const struct prepare_config *c);
/* The shares of the split, which add up to 1, in shares [PREPARE_PARTS]; *n of them. ERR_RANGE. */
int prepare_shares(const struct prepare_config *c, double *shares, int *n);

#endif
