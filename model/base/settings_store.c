#include "model/base/settings_store.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <string.h>

const char *origin_name(enum origin o)
{
    static const char *const names[N_ORIGINS] = {
        [ORIGIN_BUILT_IN] = "built in",
        [ORIGIN_PRESET] = "preset",
        [ORIGIN_FILE] = "file",
        [ORIGIN_USER_FILE] = "settings file",
        [ORIGIN_MODEL] = "model",
        [ORIGIN_CHECKPOINT] = "checkpoint",
        [ORIGIN_COMMAND_LINE] = "command line",
        [ORIGIN_SET] = ":set",
        [ORIGIN_CALL] = "this command",
    };
    return names[o];
}

static int row_index(const struct settings_store *s, const struct setting *row)
{
    return (int)(row - s->table->rows);
}

static char **text_of(const struct settings_store *s, int layer, const struct setting *row)
{
    return &s->layers[layer].texts[row_index(s, row)];
}

static void free_layer(struct settings_layer *l, int n_rows)
{
    for (int i = 0; i < n_rows && l->texts != NULL; i++)
        mem_free(l->texts[i]);
    mem_free(l->texts);
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
    char **texts = mem_array((size_t)s->table->n, sizeof *texts);
    struct settings_layer *grown = texts == NULL ? NULL : mem_grow(s->layers, bytes, bytes + one);
    if (grown == NULL) {
        mem_free(texts);
        return ERR_NOMEM;
    }
    s->layers = grown;
    s->layers[s->n_layers++] = (struct settings_layer){origin, texts};
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

static int take_built_in(struct settings_store *s, const void *values, const struct setting *row)
{
    struct buf text = {0};
    char **place = text_of(s, 0, row);
    int rc = setting_format(row, values, &text);
    if (rc == 0 && (*place = mem_strdup(buf_text(&text))) == NULL)
        rc = ERR_NOMEM;
    buf_release(&text);
    return rc;
}

/* The layer at the bottom, as text. */
static int fill_built_in(struct settings_store *s, const void *values)
{
    const struct settings_table *t = s->table;
    int rc = settings_store_push(s, ORIGIN_BUILT_IN);
    for (int i = 0; i < t->n && rc == 0; i++)
        if (t->rows[i].type != SETTING_SHORTHAND)
            rc = take_built_in(s, values, &t->rows[i]);
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

static int copy_layer(struct settings_store *dst, const struct settings_store *src, int layer)
{
    const struct settings_layer *from = &src->layers[layer];
    int rc = settings_store_push(dst, from->origin);
    for (int i = 0; i < src->table->n && rc == 0; i++)
        if (from->texts[i] != NULL &&
            (dst->layers[layer].texts[i] = mem_strdup(from->texts[i])) == NULL)
            rc = ERR_NOMEM;
    return rc;
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
    return *text_of(s, layer, row);
}

int settings_store_layer(const struct settings_store *s, const struct setting *row)
{
    int layer = s->n_layers - 1;
    while (layer > 0 && *text_of(s, layer, row) == NULL)
        layer--;
    return layer;
}

enum origin settings_store_origin(const struct settings_store *s, const struct setting *row)
{
    return s->layers[settings_store_layer(s, row)].origin;
}

bool settings_store_follows(const struct settings_store *s, const struct setting *row)
{
    return s->follows[row_index(s, row)];
}

/* On sets the row it stands for; off takes back what on has set, and no other value. */
static int set_shorthand(struct settings_store *s, void *values, int layer,
                         const struct setting *row, const char *text)
{
    bool on = false;
    int rc = text == NULL ? 0 : setting_switch(row, text, &on);
    const struct setting *meant = settings_table_find(s->table, row->shorthand_for);
    const char *given = *text_of(s, layer, meant);
    if (rc != 0 || (!on && (given == NULL || strcmp(given, row->shorthand_value) != 0)))
        return rc;
    return settings_store_set(s, values, layer, meant, on ? row->shorthand_value : NULL);
}

int settings_store_set(struct settings_store *s, void *values, int layer, const struct setting *row,
                       const char *text)
{
    if (row->type == SETTING_SHORTHAND)
        return set_shorthand(s, values, layer, row, text);
    const struct settings_table *t = s->table;
    char *fresh = NULL, **place = text_of(s, layer, row);
    if (text != NULL) {
        /* Tried before it is kept, though another layer may hide it. */
        int rc = settings_table_parse(t, row, values, text);
        if (rc != 0)
            return rc;
        if ((fresh = mem_strdup(text)) == NULL)
            return ERR_NOMEM;
    } else if (*place == NULL) {
        return 0;
    }
    mem_free(*place);
    *place = fresh;
    s->follows[row_index(s, row)] = false;
    const int in_force = settings_store_layer(s, row);
    int rc = 0;
    if (text == NULL || in_force != layer)
        rc = settings_table_parse(t, row, values, *text_of(s, in_force, row));
    return rc == 0 && text != NULL && t->given != NULL ? t->given(s, values, layer, row) : rc;
}

void settings_store_clear(struct settings_store *s, void *values, int layer)
{
    for (int i = 0; i < s->table->n; i++)
        if (s->table->rows[i].type != SETTING_SHORTHAND)
            settings_store_set(s, values, layer, &s->table->rows[i], NULL);
}
