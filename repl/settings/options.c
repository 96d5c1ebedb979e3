#include "repl/settings/options.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <stdio.h>
#include <string.h>

enum { MAX_FILE_BYTES = 1 << 20 };

int options_init(struct options *o)
{
    *o = (struct options){0};
    settings_init(&o->settings);
    int rc = settings_store_init(&o->store, &options_table, &o->settings);
    if (rc != 0)
        return rc;
    if ((o->told = mem_array((size_t)options_table.n, sizeof *o->told)) == NULL)
        rc = ERR_NOMEM;
    for (int origin = 1; origin < N_ORIGINS && rc == 0; origin++)
        rc = settings_store_push(&o->store, (enum origin)origin);
    if (rc != 0)
        options_release(o);
    return rc;
}

void options_release(struct options *o)
{
    settings_store_release(&o->store);
    settings_release(&o->settings);
    mem_free(o->told);
    *o = (struct options){0};
}

/* ---- values that exclude each other ---- */

/* Who stands behind a value, the weakest first. */
enum standing { STANDING_BUILT_IN, STANDING_MODEL, STANDING_USER_FILE, STANDING_ASKED };

static enum standing value_standing(const struct options *o, const struct setting *row)
{
    switch (settings_store_origin(&o->store, row)) {
    case ORIGIN_BUILT_IN:
        return STANDING_BUILT_IN;
    case ORIGIN_MODEL:
        return STANDING_MODEL;
    case ORIGIN_USER_FILE:
        return STANDING_USER_FILE;
    case ORIGIN_LEFT_OUT: /* the user's file is the only one below the model's */
        return settings_store_source(&o->store, ORIGIN_LEFT_OUT, row) == NULL ? STANDING_BUILT_IN
                                                                              : STANDING_USER_FILE;
    default:
        return STANDING_ASKED;
    }
}

static bool gives_way(enum standing value, enum standing other)
{
    return value == STANDING_MODEL || (value == STANDING_USER_FILE && other == STANDING_ASKED);
}

/* Of two values the one that is left out; NULL: the user asked for both. */
static const struct setting *find_yielding(const struct options *o,
                                           const struct generate_odds *odds)
{
    const struct setting *first = settings_table_find(&options_table, odds->yields),
                         *second = settings_table_find(&options_table, odds->to);
    const enum standing a = value_standing(o, first), b = value_standing(o, second);
    return gives_way(a, b) ? first : gives_way(b, a) ? second : NULL;
}

/* What would hold without the file that gives it holds. */
static int leave_out(struct options *o, const struct setting *row)
{
    const struct settings_store *s = &o->store;
    const int layer = settings_store_layer(s, row);
    int below = layer == ORIGIN_LEFT_OUT ? ORIGIN_USER_FILE : layer;
    do
        below--;
    while (below > ORIGIN_BUILT_IN && settings_store_text(s, below, row) == NULL);
    return settings_store_set_from(&o->store, &o->settings, ORIGIN_LEFT_OUT, row,
                                   settings_store_text(s, below, row),
                                   settings_store_source(s, below, row));
}

/* "generation_config.json: num_beams is 4 and ...: num_beams is left out" */
static void left_out_sentence(char *out, size_t n, const struct options *o,
                              const struct generate_odds *odds, const struct setting *row)
{
    const struct settings_store *s = &o->store;
    const char *source = settings_store_source(s, settings_store_layer(s, row), row);
    generate_odds_refuse(odds, &o->settings.generate, &o->settings.sampler);
    snprintf(out, n, "%s: %s: %s is left out", source == NULL ? "a file" : source, err_text(),
             row->name);
}

/*
 * Leave out the values of files that exclude what has a better standing, all of them anew. tell
 * hears of each once; NULL: nobody does, and the last error stays what it is.
 */
static int resolve_odds(struct options *o, void (*tell)(const char *sentence))
{
    const struct generate_config *g = &o->settings.generate;
    const struct sampler_config *c = &o->settings.sampler;
    const struct generate_odds *odds;
    int rc = 0;
    settings_store_clear(&o->store, &o->settings, ORIGIN_LEFT_OUT);
    while (rc == 0 && (odds = generate_config_odds(g, c)) != NULL) {
        char sentence[1024];
        const struct setting *row = find_yielding(o, odds);
        if (row == NULL)
            break;
        bool *told = &o->told[row - options_table.rows];
        if (tell != NULL)
            left_out_sentence(sentence, sizeof sentence, o, odds, row);
        if ((rc = leave_out(o, row)) != 0)
            break;
        if (generate_config_odds(g, c) == odds && value_standing(o, row) == STANDING_BUILT_IN)
            /* It was not the file's fault. */
            return settings_store_set(&o->store, &o->settings, ORIGIN_LEFT_OUT, row, NULL);
        if (tell != NULL && !*told)
            tell(sentence);
        *told |= tell != NULL;
    }
    return rc;
}

/* ---- values ---- */

int options_set(struct options *o, const struct setting *row, enum origin origin, const char *text)
{
    const int rc = settings_store_set(&o->store, &o->settings, (int)origin, row, text);
    return rc == 0 ? resolve_odds(o, NULL) : rc;
}

void options_clear(struct options *o, enum origin origin)
{
    settings_store_clear(&o->store, &o->settings, (int)origin);
    if (origin == ORIGIN_MODEL)
        memset(o->told, 0, (size_t)options_table.n * sizeof *o->told);
    resolve_odds(o, NULL);
}

int options_say_left_out(struct options *o, void (*tell)(const char *sentence))
{
    return resolve_odds(o, tell);
}

/* The setting that a sentence begins with: "top_k is ..."; NULL: none. */
static const struct setting *row_of_sentence(const char *sentence)
{
    char name[64];
    const size_t n = strspn(sentence, "abcdefghijklmnopqrstuvwxyz_");
    if (n == 0 || n >= sizeof name || strchr(" :", sentence[n]) == NULL)
        return NULL;
    snprintf(name, sizeof name, "%.*s", (int)n, sentence);
    return settings_table_find(&options_table, name);
}

int options_blame(const struct options *o, const struct setting *row)
{
    const struct setting *const rows[] = {row == NULL ? row_of_sentence(err_text()) : row, NULL};
    return settings_store_blame(&o->store, rows);
}

int options_check_answers(struct options *o, void (*tell)(const char *sentence))
{
    const struct generate_config *g = &o->settings.generate;
    const struct sampler_config *c = &o->settings.sampler;
    int rc = resolve_odds(o, tell);
    if (rc != 0)
        return rc;
    const struct generate_odds *odds = generate_config_odds(g, c);
    if (odds != NULL) {
        const struct setting *const rows[] = {settings_table_find(&options_table, odds->to),
                                              settings_table_find(&options_table, odds->yields),
                                              NULL};
        generate_odds_refuse(odds, g, c);
        return settings_store_blame(&o->store, rows);
    }
    rc = generate_config_check(g, c);
    return rc == 0 ? 0 : options_blame(o, NULL);
}

int options_take(struct options *o, enum origin origin, char **words, int *n)
{
    const int rc = settings_take_options(&o->store, &o->settings, (int)origin, words, n);
    return rc == 0 ? resolve_odds(o, NULL) : rc;
}

int options_read(struct options *o, enum origin origin, const struct settings_text *from)
{
    const int rc = settings_read(&o->store, &o->settings, (int)origin, from);
    return rc == 0 ? resolve_odds(o, NULL) : rc;
}

int options_check(const struct options *o, enum origin origin, const struct settings_text *from)
{
    return settings_check(&o->store, &o->settings, (int)origin, from);
}

int options_read_stored(struct options *o, const struct settings_text *from)
{
    struct options alone;
    int rc = options_init(&alone);
    if (rc != 0)
        return rc;
    if ((rc = options_read(&alone, ORIGIN_MODEL, from)) == 0)
        rc = resolve_odds(&alone, from->left_out);
    const struct setting *row;
    for (int i = 0; rc == 0 && (row = settings_table_at(&options_table, i)) != NULL; i++) {
        const char *text = settings_store_text(&alone.store, ORIGIN_MODEL, row);
        if (text != NULL && settings_store_origin(&alone.store, row) == ORIGIN_MODEL)
            rc = settings_store_set_from(&o->store, &o->settings, ORIGIN_MODEL, row, text,
                                         settings_store_source(&alone.store, ORIGIN_MODEL, row));
    }
    options_release(&alone);
    return rc == 0 ? resolve_odds(o, from->left_out) : rc;
}

static int read_settings_file(struct options *o, const char *path)
{
    struct buf text = {0};
    char *shown = file_visible(path);
    int rc = file_read_all(&text, path, MAX_FILE_BYTES);
    const struct settings_text from = {
        .label = shown == NULL ? "settings.yaml" : shown, .text = buf_text(&text), .n = text.n};
    if (rc == 0)
        rc = options_read(o, ORIGIN_USER_FILE, &from);
    mem_free(shown);
    buf_release(&text);
    return rc;
}

int options_read_user_file(struct options *o)
{
    char *path = file_home(HOME_CONFIG, "settings.yaml");
    if (path == NULL)
        return err_last() == ERR_MISSING ? 0 : ERR_NOMEM;
    int rc = file_exists(path) ? read_settings_file(o, path) : 0;
    mem_free(path);
    return rc;
}

void option_dashed(char *out, size_t n, const char *name)
{
    snprintf(out, n, "--%s", name);
    for (char *p = out; *p != '\0'; p++)
        *p = *p == '_' ? '-' : *p;
}
