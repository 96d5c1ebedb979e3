#include "train/data/pairs.h"

#include "model/base/err.h"
#include "model/base/file_show.h"
#include "model/base/mem.h"
#include "model/base/utf8.h"
#include "model/base/words.h"
#include "sampling/text/template.h"
#include "train/data/json_fields.h"

#include <string.h>

static bool is_name(const char *field, const struct template_piece *piece)
{
    return strlen(field) == piece->n_name && memcmp(field, piece->name, piece->n_name) == 0;
}

static const char *find_field(const struct pairs *p, const struct template_piece *piece)
{
    for (int i = 0; i < p->n_fields; i++)
        if (is_name(p->fields[i], piece))
            return p->fields[i];
    return NULL;
}

/* The fields of a template, behind those there are. *any: it has one. */
static int add_fields(struct pairs *p, const char *setting, const char *template, bool *any)
{
    struct template_piece piece;
    *any = false;
    if (utf8_valid(template, strlen(template)) < strlen(template))
        return err_set(ERR_FORMAT, "%s is not UTF-8", setting);
    for (const char *at = template; template_next(&piece, &at);) {
        *any |= piece.name != NULL;
        if (piece.name == NULL || find_field(p, &piece) != NULL)
            continue;
        if (p->n_fields == PAIRS_FIELDS)
            return err_set(ERR_RANGE,
                           "prompt_template and completion_template name more than %d "
                           "fields",
                           PAIRS_FIELDS);
        char *field = mem_sprintf("%.*s", (int)piece.n_name, piece.name);
        if (field == NULL)
            return ERR_NOMEM;
        p->fields[p->n_fields++] = field;
    }
    return 0;
}

int pairs_init(struct pairs *p, const char *prompt, const char *completion)
{
    char shown[80];
    bool any;
    *p = (struct pairs){.given = strcmp(prompt, PAIRS_PROMPT) != 0 ||
                                 strcmp(completion, PAIRS_COMPLETION) != 0,
                        .prompt = words_undo_escapes(prompt),
                        .completion = words_undo_escapes(completion)};
    int rc = p->prompt == NULL || p->completion == NULL ? ERR_NOMEM : 0;
    if (rc == 0)
        rc = add_fields(p, "prompt_template", p->prompt, &any);
    p->n_prompt = p->n_fields;
    if (rc == 0)
        rc = add_fields(p, "completion_template", p->completion, &any);
    if (rc == 0 && !any)
        rc = err_set(ERR_RANGE,
                     "completion_template must name a field in braces, as in \" {answer}\", not "
                     "\"%s\"",
                     file_show(shown, sizeof shown, completion));
    if (rc != 0)
        pairs_release(p);
    return rc;
}

void pairs_release(struct pairs *p)
{
    for (int i = 0; i < p->n_fields; i++)
        mem_free(p->fields[i]);
    mem_free(p->prompt);
    mem_free(p->completion);
    *p = (struct pairs){0};
}

int pairs_check(const char *prompt, const char *completion)
{
    struct pairs p;
    const int rc = pairs_init(&p, prompt, completion);
    if (rc == 0)
        pairs_release(&p);
    return rc;
}

bool pairs_has_any(const struct pairs *p, const json_t *value)
{
    int i = 0;
    while (i < p->n_fields && json_object_get(value, p->fields[i]) == NULL)
        i++;
    return i < p->n_fields;
}

/* The first without a text; n_fields: each has one. */
static int find_wrong(const struct pairs *p, const json_t *value)
{
    int i = 0;
    while (i < p->n_fields && json_is_string(json_object_get(value, p->fields[i])))
        i++;
    return i;
}

bool pairs_has_all(const struct pairs *p, const json_t *value)
{
    return find_wrong(p, value) == p->n_fields;
}

int pairs_refuse(const struct pairs *p, const json_t *value)
{
    const int i = find_wrong(p, value);
    return json_fields_refuse_named(value, p->fields[i],
                                    i < p->n_prompt ? "prompt_template" : "completion_template");
}

static int fill_template(const struct pairs *p, struct buf *out, const char *template,
                         const json_t *value)
{
    struct template_piece piece;
    int rc = 0;
    for (const char *at = template; rc == 0 && template_next(&piece, &at);) {
        const char *field = piece.name == NULL ? NULL : find_field(p, &piece);
        const json_t *text = field == NULL ? NULL : json_object_get(value, field);
        rc = text == NULL ? buf_add(out, piece.text, piece.n)
                          : buf_add(out, json_string_value(text), json_string_length(text));
    }
    return rc;
}

int pairs_fill(const struct pairs *p, struct buf *prompt, struct buf *completion,
               const json_t *value)
{
    const int rc = fill_template(p, prompt, p->prompt, value);
    return rc == 0 ? fill_template(p, completion, p->completion, value) : rc;
}

/* A template that means the text: a backslash in it begins no escape. */
static int add_literal(struct buf *out, const char *text, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (text[i] == '\\')
            rc = buf_char(out, '\\');
        if (rc == 0)
            rc = buf_char(out, text[i]);
    }
    return rc;
}

int pairs_ask(const struct pairs *p, struct buf *out)
{
    struct template_piece piece;
    int rc = 0;
    if (!p->given || p->n_prompt != 1)
        return 0;
    for (const char *at = p->prompt; rc == 0 && template_next(&piece, &at);)
        rc = piece.name != NULL ? buf_str(out, TEMPLATE_PLACE)
                                : add_literal(out, piece.text, piece.n);
    return rc;
}
