#include "model/base/settings_words.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <string.h>

enum { SOURCE = 80 }; /* bytes of a source */

/* The layer to set options in. */
struct target {
    struct settings_store *store;
    void *values;
    int layer;
};

/* Of what has several values in other programs the last alone would hold. */
static int refuse_second(const struct setting *row)
{
    return row->texts || row->pairs ? err_set(ERR_RANGE,
                                              "%s is given twice: one option has all of its "
                                              "values, divided by commas",
                                              row->name)
                                    : err_set(ERR_RANGE, "%s is given twice", row->name);
}

/* word: as it was typed. */
static int set_option(const struct target *t, const struct setting *row, const char *text,
                      const char *word)
{
    char source[SOURCE];
    if ((row->once || row->texts || row->pairs) &&
        settings_store_text(t->store, t->layer, row) != NULL)
        return refuse_second(row);
    return settings_store_set_from(t->store, t->values, t->layer, row, text,
                                   file_show(source, sizeof source, word));
}

/* Whether the option needs no value: a choice of auto, on and off is a switch too. */
static bool is_switch(const struct setting *row)
{
    return row->type == SETTING_BOOL || row->type == SETTING_SHORTHAND ||
           (row->type == SETTING_CHOICE && row->argument == NULL &&
            strncmp(row->choices[1], "on|", 3) == 0);
}

/* Whether a word after a switch is its value. */
static bool is_switch_value(const struct setting *row, const char *word)
{
    return strcmp(word, "on") == 0 || strcmp(word, "off") == 0 ||
           (row->type == SETTING_CHOICE && strcmp(word, "auto") == 0);
}

/* The row NAME of "no-NAME"; NULL: the key is not of that form. */
static const struct setting *find_negated(const struct settings_table *t, const char *key)
{
    bool no = strncmp(key, "no", 2) == 0 && (key[2] == '-' || key[2] == '_');
    return no && settings_table_find(t, key) == NULL ? settings_table_find(t, key + 3) : NULL;
}

/* Set --KEY; value: the text after "=", or NULL. *used counts the words used. */
static int take_key(const struct target *t, const char *key, const char *value, char **words, int n,
                    int *used)
{
    const struct setting *row, *negated = find_negated(t->store->table, key);
    if (negated != NULL && value == NULL) {
        /* "off" for a text is the empty text. */
        bool text = negated->type == SETTING_STRING || negated->type == SETTING_PATH;
        return set_option(t, negated, text ? "" : "off", words[0]);
    }
    int rc = settings_table_lookup(t->store->table, &row, key, false);
    if (rc != 0)
        return rc;
    bool needs = !is_switch(row), said = !needs && n > 1 && is_switch_value(row, words[1]);
    if (value == NULL && needs && n < 2)
        return err_set(ERR_RANGE, "--%s needs a value", key);
    if (value == NULL && (needs || said))
        value = words[(*used)++];
    return set_option(t, row, value == NULL ? "on" : value, words[0]);
}

/* "--name=value", "--name value", "--no-name", "--name" of a switch. */
static int take_long(const struct target *t, char **words, int n, int *used)
{
    const char *name = words[0] + 2, *equals = strchr(name, '=');
    size_t n_key = equals != NULL ? (size_t)(equals - name) : strlen(name);
    char *key = mem_sprintf("%.*s", (int)n_key, name);
    int rc = key == NULL ? ERR_NOMEM
                         : take_key(t, key, equals != NULL ? equals + 1 : NULL, words, n, used);
    mem_free(key);
    return rc;
}

/* "-p TEXT", "-k40", "-v". */
static int take_short(const struct target *t, char **words, int n, int *used)
{
    const struct setting *row = settings_table_by_letter(t->store->table, words[0][1]);
    const char *value = words[0] + 2;
    if (row == NULL) {
        char *shown = file_visible(words[0]);
        err_set(ERR_MISSING, "there is no option %s; `:help settings` lists them",
                shown == NULL ? "" : shown);
        mem_free(shown);
        return ERR_MISSING;
    }
    if (row->type == SETTING_BOOL && *value != '\0')
        return err_set(ERR_RANGE, "-%c takes no value", row->letter);
    if (row->type == SETTING_BOOL)
        value = "on";
    else if (*value == '\0') {
        if (n < 2)
            return err_set(ERR_RANGE, "-%c needs a value (%s)", row->letter, row->name);
        value = words[(*used)++];
    }
    return set_option(t, row, value, words[0]);
}

int settings_take_options(struct settings_store *s, void *values, int layer, char **words, int *n)
{
    const struct target t = {s, values, layer};
    int kept = 0;
    for (int i = 0; i < *n;) {
        int used = 1, rc = 0;
        if (strcmp(words[i], "--") == 0) {
            for (i++; i < *n; i++)
                words[kept++] = words[i];
            break;
        }
        if (strncmp(words[i], "--", 2) == 0)
            rc = take_long(&t, words + i, *n - i, &used);
        else if (words[i][0] == '-' && words[i][1] != '\0')
            rc = take_short(&t, words + i, *n - i, &used);
        else
            words[kept++] = words[i];
        if (rc != 0)
            return rc;
        i += used;
    }
    *n = kept;
    return 0;
}

size_t settings_pair_key(const char *word)
{
    size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-.");
    return word[n] == '=' ? n : 0;
}

int settings_take_pair(struct settings_store *s, void *values, int layer, const char *word)
{
    const size_t n = settings_pair_key(word);
    const struct setting *row;
    char *key = mem_sprintf("%.*s", (int)n, word);
    int rc = key == NULL ? ERR_NOMEM : settings_table_lookup(s->table, &row, key, true);
    mem_free(key);
    const struct target t = {s, values, layer};
    return rc != 0 ? rc : set_option(&t, row, word + n + 1, word);
}
