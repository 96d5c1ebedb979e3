#include "model/base/settings_store.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <string.h>

const char *origin_name(enum origin o)
{
    static const char *const names[N_ORIGINS] = {
        [ORIGIN_BUILT_IN] = "built in", [ORIGIN_PRESET] = "preset",
        [ORIGIN_FILE] = "file",         [ORIGIN_USER_FILE] = "settings file",
        [ORIGIN_MODEL] = "model",       [ORIGIN_CHECKPOINT] = "checkpoint",
        [ORIGIN_LEFT_OUT] = "left out", [ORIGIN_COMMAND_LINE] = "command line",
        [ORIGIN_SET] = ":set",          [ORIGIN_CALL] = "this command",
        [ORIGIN_LINE] = "this line",
    };
    return names[o];
}

static int row_index(const struct settings_store *s, const struct setting *row)
{
    return (int)(row - s->table->rows);
}

static char **layer_text(const struct settings_store *s, int layer, const struct setting *row)
{
    return &s->layers[layer].texts[row_index(s, row)];
}

static void free_texts(char **texts, int n_rows)
{
    for (int i = 0; i < n_rows && texts != NULL; i++)
        mem_free(texts[i]);
    mem_free(texts);
}

static void free_layer(struct settings_layer *l, int n_rows)
{
    free_texts(l->texts, n_rows);
    free_texts(l->sources, n_rows);
}

void settings_store_release(struct settings_store *s)
{
    for (int i = 0; i < s->n_layers; i++)
        free_layer(&s->layers[i], s->table->n);
    mem_free(s->layers);
    mem_free(s->follows);
    *s = (struct settings_store){0};
}

int settings_store_push(struct settings_store *s, enum origin origin)
{
    const size_t one = sizeof *s->layers, bytes = (size_t)s->n_layers * one;
    struct settings_layer fresh = {
        .origin = origin,
        .texts = mem_array((size_t)s->table->n, sizeof *fresh.texts),
        .sources = mem_array((size_t)s->table->n, sizeof *fresh.sources),
    };
    bool all = fresh.texts != NULL && fresh.sources != NULL;
    struct settings_layer *grown = all ? mem_grow(s->layers, bytes, bytes + one) : NULL;
    if (grown == NULL) {
        free_layer(&fresh, s->table->n);
        return ERR_NOMEM;
    }
    s->layers = grown;
    s->layers[s->n_layers++] = fresh;
    return 0;
}

void settings_store_pop(struct settings_store *s)
{
    free_layer(&s->layers[--s->n_layers], s->table->n);
}

/* An empty store of a table. */
static int begin_store(struct settings_store *s, const struct settings_table *t)
{
    *s = (struct settings_store){.table = t};
    s->follows = mem_array((size_t)t->n, sizeof *s->follows);
    return s->follows == NULL ? ERR_NOMEM : 0;
}

static int format_built_in(struct settings_store *s, const void *values, const struct setting *row)
{
    struct buf text = {0};
    char **place = layer_text(s, 0, row);
    int rc = setting_format(row, values, &text);
    if (rc == 0 && (*place = mem_strdup(buf_text(&text))) == NULL)
        rc = ERR_NOMEM;
    buf_release(&text);
    return rc;
}

/* Fill the bottom layer from values. */
static int fill_built_in(struct settings_store *s, const void *values)
{
    const struct settings_table *t = s->table;
    int rc = settings_store_push(s, ORIGIN_BUILT_IN);
    for (int i = 0; i < t->n && rc == 0; i++)
        if (t->rows[i].type != SETTING_SHORTHAND)
            rc = format_built_in(s, values, &t->rows[i]);
    return rc;
}

int settings_store_init(struct settings_store *s, const struct settings_table *t, void *values)
{
    int rc = begin_store(s, t);
    if (rc == 0)
        rc = fill_built_in(s, values);
    settings_forget_texts(t->rows, (size_t)t->n, values);
    for (int i = 0; i < t->n && rc == 0; i++)
        if (t->rows[i].type != SETTING_SHORTHAND)
            rc = setting_parse(&t->rows[i], values, s->layers[0].texts[i]);
    if (rc != 0) {
        settings_store_release(s);
        settings_table_release(t, values);
    }
    return rc;
}

static int copy_texts(char **dst, char *const *src, int n)
{
    for (int i = 0; i < n; i++)
        if (src[i] != NULL && (dst[i] = mem_strdup(src[i])) == NULL)
            return ERR_NOMEM;
    return 0;
}

static int copy_layer(struct settings_store *dst, const struct settings_store *src, int layer)
{
    const struct settings_layer *from = &src->layers[layer];
    const int n = src->table->n;
    int rc = settings_store_push(dst, from->origin);
    if (rc == 0)
        rc = copy_texts(dst->layers[layer].texts, from->texts, n);
    return rc == 0 ? copy_texts(dst->layers[layer].sources, from->sources, n) : rc;
}

int settings_store_copy(struct settings_store *dst, const struct settings_store *src)
{
    int rc = begin_store(dst, src->table);
    if (rc == 0)
        memcpy(dst->follows, src->follows, (size_t)src->table->n * sizeof *src->follows);
    for (int i = 0; i < src->n_layers && rc == 0; i++)
        rc = copy_layer(dst, src, i);
    if (rc != 0)
        settings_store_release(dst);
    return rc;
}

const char *settings_store_text(const struct settings_store *s, int layer,
                                const struct setting *row)
{
    return *layer_text(s, layer, row);
}

int settings_store_layer(const struct settings_store *s, const struct setting *row)
{
    int layer = s->n_layers - 1;
    while (layer > 0 && *layer_text(s, layer, row) == NULL)
        layer--;
    return layer;
}

enum origin settings_store_origin(const struct settings_store *s, const struct setting *row)
{
    return s->layers[settings_store_layer(s, row)].origin;
}

const char *settings_store_source(const struct settings_store *s, int layer,
                                  const struct setting *row)
{
    return s->layers[layer].sources[row_index(s, row)];
}

static bool is_of_file(enum origin o)
{
    return o == ORIGIN_FILE || o == ORIGIN_USER_FILE || o == ORIGIN_MODEL || o == ORIGIN_LEFT_OUT;
}

int settings_store_blame(const struct settings_store *s, const struct setting *const *rows)
{
    const char *before = "";
    struct buf where = {0};
    bool in_file = false;
    int code = err_last(), rc = 0;
    for (; *rows != NULL && rc == 0; rows++) {
        const int layer = settings_store_layer(s, *rows);
        const enum origin origin = s->layers[layer].origin;
        const char *source = settings_store_source(s, layer, *rows);
        in_file |= source != NULL && is_of_file(origin);
        if (source != NULL && strcmp(source, before) != 0)
            rc = buf_printf(&where, "%s%s", where.n > 0 ? " and " : "", before = source);
    }
    if (rc == 0 && in_file && code != ERR_NOMEM && code != ERR_INTERRUPTED)
        err_wrap("%s", buf_text(&where));
    buf_release(&where);
    return rc == 0 ? code : rc;
}

bool settings_store_follows(const struct settings_store *s, const struct setting *row)
{
    return s->follows[row_index(s, row)];
}

/* "on" sets the row it stands for; "off" clears that row only if it has the value that "on" sets.
 */
static int set_shorthand(struct settings_store *s, void *values, int layer,
                         const struct setting *row, const char *text, const char *source)
{
    bool on = false;
    int rc = text == NULL ? 0 : setting_switch(row, text, &on);
    const struct setting *meant = settings_table_find(s->table, row->shorthand_for);
    const char *given = *layer_text(s, layer, meant);
    if (rc != 0 || (!on && (given == NULL || strcmp(given, row->shorthand_value) != 0)))
        return rc;
    return settings_store_set_from(s, values, layer, meant, on ? row->shorthand_value : NULL,
                                   source);
}

/* Set the text and the source of a row in a layer, and its value, even if another layer hides it:
 * all or, out of range or without memory, nothing. */
static int set_layer_text(struct settings_store *s, void *values, int layer,
                          const struct setting *row, const char *text, const char *source)
{
    char **place = layer_text(s, layer, row),
         **where = &s->layers[layer].sources[row_index(s, row)];
    char *fresh = text == NULL ? NULL : mem_strdup(text);
    char *from = text == NULL || source == NULL ? NULL : mem_strdup(source);
    int rc = (text != NULL && fresh == NULL) || (text != NULL && source != NULL && from == NULL)
                 ? ERR_NOMEM
             : text == NULL ? 0
                            : settings_table_parse(s->table, row, values, text);
    if (rc != 0) {
        mem_free(fresh);
        mem_free(from);
        return rc;
    }
    mem_free(*place);
    mem_free(*where);
    *place = fresh;
    *where = from;
    return 0;
}

int settings_store_set(struct settings_store *s, void *values, int layer, const struct setting *row,
                       const char *text)
{
    return settings_store_set_from(s, values, layer, row, text, NULL);
}

int settings_store_set_from(struct settings_store *s, void *values, int layer,
                            const struct setting *row, const char *text, const char *source)
{
    if (row->type == SETTING_SHORTHAND)
        return set_shorthand(s, values, layer, row, text, source);
    const struct settings_table *t = s->table;
    if (text == NULL && *layer_text(s, layer, row) == NULL)
        return 0;
    int rc = set_layer_text(s, values, layer, row, text, source);
    if (rc != 0)
        return rc;
    s->follows[row_index(s, row)] = false;
    const int in_force = settings_store_layer(s, row);
    if (text == NULL || in_force != layer)
        rc = settings_table_parse(t, row, values, *layer_text(s, in_force, row));
    return rc == 0 && text != NULL && t->given != NULL ? t->given(s, values, layer, row) : rc;
}

void settings_store_clear(struct settings_store *s, void *values, int layer)
{
    for (int i = 0; i < s->table->n; i++)
        if (s->table->rows[i].type != SETTING_SHORTHAND)
            settings_store_set(s, values, layer, &s->table->rows[i], NULL);
}
