#include "weights/hf/post_processor.h"

#include "model/base/file_show.h"

#include <string.h>

enum { SHOWN = 96 };

static const char *member_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

/* The id of a template's special token; TOKEN_NONE: it has none, or several. */
static token_id special_id(const struct vocab_draft *d, const json_t *template, const char *name)
{
    const json_t *ids =
        json_object_get(json_object_get(json_object_get(template, "special_tokens"), name), "ids");
    const json_t *one = json_array_get(ids, 0);
    const json_int_t id = json_integer_value(one);
    const bool fits = json_array_size(ids) == 1 && json_is_integer(one) && id >= 0 && id < d->n;
    return fits ? (token_id)id : TOKEN_NONE;
}

/* Read [token] text, of which the token may be missing. Returns whether it is no more than that. */
static bool read_template(struct vocab_draft *d, const json_t *template)
{
    const json_t *single = json_object_get(template, "single");
    const size_t n = json_array_size(single);
    const json_t *first = json_object_get(json_array_get(single, 0), "SpecialToken");
    if (n == 0 || n > 2 || json_object_get(json_array_get(single, n - 1), "Sequence") == NULL ||
        (n == 2 && first == NULL))
        return false;
    const token_id id = n == 2 ? special_id(d, template, member_text(first, "id")) : TOKEN_NONE;
    if (n == 2)
        d->begin = id;
    return n == 1 || id != TOKEN_NONE;
}

/* Whether all that it does to the ids of a text is understood. */
static bool read_one(struct vocab_draft *d, const json_t *post)
{
    const char *type = member_text(post, "type");
    return post == NULL || json_is_null(post) || strcmp(type, "ByteLevel") == 0 ||
           (strcmp(type, "TemplateProcessing") == 0 && read_template(d, post));
}

void post_processor_read(struct vocab_draft *d, const json_t *root, const struct progress *p)
{
    const json_t *post = json_object_get(root, "post_processor"), *one, *odd = NULL;
    size_t i;
    char shown[SHOWN];
    if (strcmp(member_text(post, "type"), "Sequence") != 0)
        odd = read_one(d, post) ? NULL : post;
    else
        json_array_foreach(json_object_get(post, "processors"), i, one) if (odd == NULL) odd =
            read_one(d, one) ? NULL : one;
    if (odd != NULL)
        progress_note(p,
                      "tokenizer.json: post_processor %s adds other tokens than one before the "
                      "text: left out",
                      file_show(shown, sizeof shown, member_text(odd, "type")));
}
