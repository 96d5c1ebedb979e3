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
    *o = (struct options){0};
}

int options_set(struct options *o, const struct setting *row, enum origin origin, const char *text)
{
    return settings_store_set(&o->store, &o->settings, (int)origin, row, text);
}

void options_clear(struct options *o, enum origin origin)
{
    settings_store_clear(&o->store, &o->settings, (int)origin);
}

enum origin options_origin(const struct options *o, const struct setting *row)
{
    return settings_store_origin(&o->store, row);
}

/* The setting that a sentence begins with: "top_k is ..."; NULL: none. */
static const struct setting *row_said(const char *sentence)
{
    char name[64];
    const size_t n = strspn(sentence, "abcdefghijklmnopqrstuvwxyz_");
    if (n == 0 || n >= sizeof name || strchr(" :", sentence[n]) == NULL)
        return NULL;
    snprintf(name, sizeof name, "%.*s", (int)n, sentence);
    return option_find(name);
}

int options_blame(const struct options *o, const struct setting *row)
{
    const struct setting *const rows[] = {row == NULL ? row_said(err_text()) : row, NULL};
    return settings_store_blame(&o->store, rows);
}

int options_check_answers(const struct options *o)
{
    const struct generate_config *g = &o->settings.generate;
    struct generate_odds odds;
    if (generate_config_odds(&odds, g, &o->settings.sampler) != 0) {
        const struct setting *const rows[] = {option_find(odds.to), option_find(odds.yields), NULL};
        return settings_store_blame(&o->store, rows);
    }
    const int rc = generate_config_check(g, &o->settings.sampler);
    return rc == 0 ? 0 : options_blame(o, NULL);
}

int options_take(struct options *o, enum origin origin, char **words, int *n)
{
    return settings_take_options(&o->store, &o->settings, (int)origin, words, n);
}

int options_read(struct options *o, enum origin origin, const struct settings_text *from)
{
    return settings_read(&o->store, &o->settings, (int)origin, from);
}

int options_check(const struct options *o, enum origin origin, const struct settings_text *from)
{
    return settings_check(&o->store, &o->settings, (int)origin, from);
}

/* Until no value of the model excludes another; what is left the user gave. */
static int drop_odds(struct options *o, const struct settings_text *from)
{
    struct generate_odds odds;
    while (generate_config_odds(&odds, &o->settings.generate, &o->settings.sampler) != 0) {
        char what[64];
        const struct setting *row = option_find(odds.yields);
        if (options_origin(o, row) != ORIGIN_MODEL)
            row = option_find(odds.to);
        if (options_origin(o, row) != ORIGIN_MODEL)
            break;
        snprintf(what, sizeof what, "%s is left out", row->name);
        const char *place = settings_store_source(&o->store, ORIGIN_MODEL, row);
        settings_tell_left_out(from, place, what);
        const int rc = options_set(o, row, ORIGIN_MODEL, NULL);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int options_read_stored(struct options *o, const struct settings_text *from)
{
    struct options alone;
    int rc = options_init(&alone);
    if (rc != 0)
        return rc;
    if ((rc = options_read(&alone, ORIGIN_MODEL, from)) == 0)
        rc = drop_odds(&alone, from);
    const struct setting *row;
    for (int i = 0; rc == 0 && (row = option_at(i)) != NULL; i++) {
        const char *text = settings_store_text(&alone.store, ORIGIN_MODEL, row);
        if (text != NULL)
            rc = settings_store_set_from(&o->store, &o->settings, ORIGIN_MODEL, row, text,
                                         settings_store_source(&alone.store, ORIGIN_MODEL, row));
    }
    options_release(&alone);
    return rc == 0 ? drop_odds(o, from) : rc;
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
