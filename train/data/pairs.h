#ifndef PRATTLE_TRAIN_DATA_PAIRS_H
#define PRATTLE_TRAIN_DATA_PAIRS_H
/*
 * Lines with a prompt and a completion: two templates, with names of the line's fields in braces
 * (sampling/text/template.h), say what is read of an object and what is learned.
 */
#include "model/base/buf.h"

#include <jansson.h>
#include <stdbool.h>

#define TEXT_FIELD "text"
#define PAIRS_PROMPT "{prompt}"
#define PAIRS_COMPLETION "{completion}"
enum { PAIRS_FIELDS = 32 };

/* What of a line of JSON or a row of Parquet is its document. */
struct data_lines {
    char *field; /* its text */
    char *prompt_template, *completion_template;
};
#define DATA_LINES ((struct data_lines){TEXT_FIELD, PAIRS_PROMPT, PAIRS_COMPLETION})

struct pairs {
    /* Not those two. An object that has any of the fields is then a pair, whatever else it has;
     * else only one without a text of its own is. */
    bool given;
    char *prompt, *completion;  /* escapes undone; owned */
    char *fields[PAIRS_FIELDS]; /* [n_fields], each once, the prompt's first; owned */
    int n_fields, n_prompt;     /* n_prompt: of the prompt */
};

/* ERR_RANGE: the completion's template names no field, or there are too many; ERR_FORMAT: one is
 * not UTF-8. A prompt without fields is the same in all lines, an empty one none. p is then empty.
 */
int pairs_init(struct pairs *p, const char *prompt, const char *completion);
void pairs_release(struct pairs *p);
/* Whether pairs_init takes them: 0, or its error. */
int pairs_check(const char *prompt, const char *completion);

/* Whether an object has any of the fields, and whether it has a text in each. */
bool pairs_has_any(const struct pairs *p, const json_t *value);
bool pairs_has_all(const struct pairs *p, const json_t *value);
/* ERR_FORMAT says which it lacks. */
int pairs_refuse(const struct pairs *p, const json_t *value);
/* Append what is read and what is learned of an object that has all. ERR_NOMEM. */
int pairs_fill(const struct pairs *p, struct buf *prompt, struct buf *completion,
               const json_t *value);

/*
 * Append the template of generation (sampling/text/template.h) that asks a model as these have
 * trained it: the prompt's, with {prompt} in the field's place. Nothing where they are the two
 * above, or the prompt has no field or several.
 */
int pairs_ask(const struct pairs *p, struct buf *out);

#endif
