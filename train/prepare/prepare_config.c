#include "train/prepare/prepare_config.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/file_show.h"
#include "model/base/mem.h"
#include "model/base/settings_words.h"
#include "model/base/words.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define P(field) offsetof(struct prepare_config, field)
#define CHOICES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* clang-format off */
static const struct setting rows[] = {
{.group = "prepare", .name = "format", .type = SETTING_CHOICE, .offset = P(format), .choices = CHOICES("auto", "megatron", "nanogpt", "llmc|llm.c", "tfrecord", "jsonl|json"),
 .help = "format of OUT; auto: by its name"},
{.group = "prepare", .name = "field", .also = "column", .type = SETTING_STRING, .offset = P(field),
 .help = "field of JSON lines, or column of CSV or Parquet, with the text"},
{.group = "prepare", .name = "document_separator", .also = "separator", .type = SETTING_STRING, .offset = P(separator),
 .help = "text between documents; file: each file is one",
 .more = "\\n, \\t, \\r and \\\\ are understood"},
{.group = "prepare", .name = "special", .type = SETTING_BOOL, .offset = P(special),
 .help = "read <|endoftext|> and the like in texts as tokens"},
{.group = "prepare", .name = "split", .type = SETTING_STRING, .offset = P(split),
 .help = "shares of training, validation and test documents",
 .more = "Two or three that add up to 1, as 0.95,0.025,0.025; empty: one file"},
{.group = "prepare", .name = "record_limit", .type = SETTING_INT, .offset = P(record_limit), .min = 1, .max = 2000,
 .help = "MB that a line of JSON or a record of CSV may have at most; memory grows with it"},
{.group = "prepare", .name = "min_length", .type = SETTING_INT, .offset = P(min_length), .max = 1e5,
 .help = "leave out documents with fewer characters; of token files, with fewer tokens"},
{.group = "prepare", .name = "duplicates", .type = SETTING_CHOICE, .offset = P(duplicates), .choices = CHOICES("keep", "exact", "near"),
 .help = "leave out repeated documents: the same words (exact), or four fifths of them (near); of token files, the same tokens"},
{.group = "prepare", .name = "shuffle", .type = SETTING_BOOL, .offset = P(shuffle),
 .help = "shuffle the documents"},
{.group = "prepare", .name = "seed", .type = SETTING_UINT64, .offset = P(seed), .max = 1.8e19,
 .help = "seed of the shuffled order"},
{.group = "prepare", .name = "tokenizer", .type = SETTING_PATH, .offset = P(tokenizer), .argument = "PATH",
 .help = "folder, GGUF or .model with the tokenizer; empty: the model's"},
};
/* clang-format on */
const struct settings_table prepare_settings = {
    .rows = rows, .n = sizeof rows / sizeof rows[0], .bytes = sizeof(struct prepare_config)};

static const char FIELD[] = "text", SEPARATOR[] = "<|endoftext|>";
enum { RECORD_LIMIT = 64, SEED = 1 };

int prepare_config_init(struct prepare_config *c)
{
    *c = (struct prepare_config){.seed = SEED, .record_limit = RECORD_LIMIT};
    c->field = mem_strdup(FIELD);
    c->separator = mem_strdup(SEPARATOR);
    c->split = mem_strdup("");
    c->tokenizer = mem_strdup("");
    if (c->field != NULL && c->separator != NULL && c->split != NULL && c->tokenizer != NULL)
        return 0;
    prepare_config_release(c);
    return ERR_NOMEM;
}

void prepare_config_release(struct prepare_config *c)
{
    settings_table_release(&prepare_settings, c);
    *c = (struct prepare_config){0};
}

/* "file": a value left empty is easily overlooked. */
const char *prepare_separator(const struct prepare_config *c)
{
    return strcmp(c->separator, "file") == 0 ? "" : c->separator;
}

int prepare_config_check_reading(const struct prepare_config *c)
{
    const char *name = c->format != 0        ? "format"
                       : c->split[0] != '\0' ? "split"
                       : c->min_length != 0  ? "min_length"
                       : c->duplicates != 0  ? "duplicates"
                       : c->shuffle          ? "shuffle"
                       : c->seed != SEED     ? "seed"
                                             : NULL;
    return name == NULL
               ? 0
               : err_set(
                     ERR_RANGE,
                     "%s is a setting of `data prepare`; how texts are read to check "
                     "is said by field, document_separator, special, record_limit and tokenizer",
                     name);
}

int prepare_config_check_tokens(const struct prepare_config *c)
{
    const char *name = strcmp(c->field, FIELD) != 0           ? "field"
                       : strcmp(c->separator, SEPARATOR) != 0 ? "document_separator"
                       : c->special                           ? "special"
                       : c->record_limit != RECORD_LIMIT      ? "record_limit"
                                                              : NULL;
    return name == NULL ? 0
                        : err_set(ERR_RANGE,
                                  "%s is a setting of texts, and the input has tokens, whose "
                                  "documents are known",
                                  name);
}

bool prepare_config_is_word(const char *word)
{
    return settings_pair_key(word) > 0 && !file_exists(word);
}

int prepare_config_set(struct prepare_config *c, const char *word)
{
    const struct setting *row;
    const size_t n = settings_pair_key(word);
    char *key = mem_sprintf("%.*s", (int)n, word);
    int rc = key == NULL ? ERR_NOMEM : settings_table_lookup(&prepare_settings, &row, key, false);
    if (rc == 0)
        rc = settings_table_parse(&prepare_settings, row, c, word + n + 1);
    if (rc == 0 && row->offset == P(separator)) {
        char *undone = words_undo_escapes(c->separator);
        if (undone == NULL)
            rc = ERR_NOMEM;
        else
            mem_free(c->separator), c->separator = undone;
    }
    mem_free(key);
    return rc;
}

int prepare_shares(const struct prepare_config *c, double *shares, int *n)
{
    double sum = 0;
    const char *at = c->split;
    char *end = (char *)at;
    *n = 0;
    shares[0] = 1;
    while (*at != '\0' && *n < PREPARE_PARTS) {
        shares[*n] = strtod(at, &end);
        if (end == at || !(shares[*n] > 0 && shares[*n] <= 1))
            break;
        sum += shares[(*n)++];
        at = *end == ',' && end[1] != '\0' ? end + 1 : end;
        if (*end != ',')
            break;
    }
    if (*at != '\0' || (*n > 0 && !(sum > 0.999 && sum < 1.001)))
        return err_set(
            ERR_RANGE,
            "split must be up to %d shares that add up to 1, as 0.95,0.025,0.025, not %s",
            PREPARE_PARTS, file_quote(c->split));
    *n += *n == 0;
    return 0;
}
