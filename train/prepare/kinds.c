#include "train/prepare/kinds.h"

#include "model/base/json.h"
#include "train/data/packing.h"
#include "train/prepare/extracted.h"

#include <string.h>

/* A first line that is an object with the field. */
static bool is_json(const struct text_reader *r, const char *head, size_t n)
{
    const char *end = memchr(head, '\n', n);
    json_t *line = NULL;
    bool replaced;
    if (n == 0 || *head != '{')
        return false;
    bool is =
        json_read_any_line(&line, head, end == NULL ? n : (size_t)(end - head), &replaced) == 0 &&
        json_is_string(json_object_get(line, r->field));
    json_decref(line);
    return is;
}

static const struct text_splitter *choose_kind(struct text_reader *r, void *user)
{
    struct kinds *k = user;
    char inner[256];
    const char *head = r->window.data + r->used;
    const size_t n = r->window.n - r->used;
    data_unpacked_name(inner, sizeof inner, r->stream.name);
    if (csv_is_name(inner, &k->csv.given))
        return &k->csv.splitter;
    if (n > 0 && extracted_is(head, n))
        return &extracted_splitter;
    if (n > 0 && wiki_dump_is(head, n))
        return &k->dump.splitter;
    if (r->stream.kind != DATA_JSON_LINES && is_json(r, head, n))
        r->stream.kind = DATA_JSON_LINES;
    return NULL;
}

void kinds_use(struct kinds *k, struct text_reader *r, const char *field)
{
    csv_init(&k->csv, field);
    wiki_dump_init(&k->dump);
    r->field = field;
    r->choose = choose_kind;
    r->user = k;
}

void kinds_release(struct kinds *k)
{
    wiki_dump_release(&k->dump);
}

bool kinds_is_wiki(const struct kinds *k, const struct text_reader *r)
{
    return r->splitter == &k->dump.splitter;
}
