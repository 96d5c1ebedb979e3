/* Settings by origin: who gave which value, and the one in force. */
#include "repl/settings/options.h"
#include "weights/bundled/bundled.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <stdlib.h>
#include <string.h>

const char *origin_name(enum origin o)
{
    static const char *const names[N_ORIGINS] = {"built in",     "settings file", "model",
                                                 "command line", ":set",          "this command"};
    return names[o];
}

static int n_rows(void)
{
    int n = 0;
    while (option_at(n) != NULL)
        n++;
    return n;
}

static int row_index(const struct setting *row)
{
    return (int)(row - option_at(0));
}

static void set_built_in(struct settings *s)
{
    *s = (struct settings){
        .device = {.pin = true},
        .talk = {.wrap = true, .history = 10000, .keep_results = true},
        .batch = {.batch_size = 8},
    };
    generate_config_init(&s->generate);
    sampler_config_init(&s->sampler);
    eval_config_init(&s->eval);
    bpe_train_config_init(&s->call.bpe);
}

/* Every value of the built-in origin as text, and every text field as memory of its own. */
static int take_built_in(struct options *o)
{
    const struct setting *row;
    for (int i = 0; (row = option_at(i)) != NULL; i++) {
        if (row->type == SETTING_SHORTHAND)
            continue;
        struct buf text = {0};
        bool unset_chain = strcmp(row->name, "chain") == 0 && o->settings.sampler.chain == NULL;
        int rc = unset_chain                         ? buf_str(&text, SAMPLER_CHAIN)
                 : strcmp(row->name, "kernels") == 0 ? buf_str(&text, "auto")
                 : strcmp(row->name, "model") == 0   ? buf_str(&text, BUNDLED_NAME)
                                                     : setting_format(row, &o->settings, &text);
        if (rc == 0 && (o->given[i][ORIGIN_BUILT_IN] = mem_strdup(buf_text(&text))) == NULL)
            rc = ERR_NOMEM;
        buf_release(&text);
        if (rc == 0)
            rc = option_parse(row, &o->settings, o->given[i][ORIGIN_BUILT_IN]);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int options_init(struct options *o)
{
    *o = (struct options){0};
    set_built_in(&o->settings);
    o->given = mem_array((size_t)n_rows(), sizeof *o->given);
    int rc = o->given == NULL ? ERR_NOMEM : take_built_in(o);
    if (rc != 0)
        options_release(o);
    return rc;
}

void options_release(struct options *o)
{
    for (int i = 0, n = o->given == NULL ? 0 : n_rows(); i < n; i++)
        for (int origin = 0; origin < N_ORIGINS; origin++)
            mem_free(o->given[i][origin]);
    mem_free(o->given);
    settings_release(&o->settings);
    *o = (struct options){0};
}

enum origin options_origin(const struct options *o, const struct setting *row)
{
    enum origin origin = N_ORIGINS - 1;
    while (origin > ORIGIN_BUILT_IN && o->given[row_index(row)][origin] == NULL)
        origin--;
    return origin;
}

int options_set(struct options *o, const struct setting *row, enum origin origin, const char *text)
{
    if (row->type == SETTING_SHORTHAND) {
        bool on = false;
        int rc = text == NULL ? 0 : option_switch(row, text, &on);
        const struct setting *meant = option_find(row->choices[0]);
        const char *given = o->given[row_index(meant)][origin];
        /* Off takes back what on has set, and no other value. */
        if (rc != 0 || (!on && (given == NULL || strcmp(given, row->choices[1]) != 0)))
            return rc;
        return options_set(o, meant, origin, on ? row->choices[1] : NULL);
    }
    char *fresh = NULL, **place = &o->given[row_index(row)][origin];
    if (text != NULL) {
        /* Tried before it is kept, though another origin may hide it. */
        int rc = option_parse(row, &o->settings, text);
        if (rc != 0)
            return rc;
        if ((fresh = mem_strdup(text)) == NULL)
            return ERR_NOMEM;
    } else if (*place == NULL) {
        return 0;
    }
    mem_free(*place);
    *place = fresh;
    return option_parse(row, &o->settings, o->given[row_index(row)][options_origin(o, row)]);
}

void options_clear(struct options *o, enum origin origin)
{
    const struct setting *row;
    for (int i = 0; (row = option_at(i)) != NULL; i++)
        if (row->type != SETTING_SHORTHAND)
            options_set(o, row, origin, NULL);
}

/* "--name=value", "--name value", "--no-name", "--name" of a switch. *used counts the
 * words taken. */
static int take_long(struct options *o, enum origin origin, char **words, int n, int *used)
{
    const struct setting *row;
    char *name = words[0] + 2, *value = strchr(name, '=');
    char *key = mem_strdup(name);
    if (key == NULL)
        return ERR_NOMEM;
    if (value != NULL)
        key[value++ - name] = '\0';
    *used = 1;
    row = option_find(key);
    /* A choice of auto, on and off is a switch as well. */
    const struct setting *negated =
        row == NULL && strncmp(key, "no", 2) == 0 && (key[2] == '-' || key[2] == '_')
            ? option_find(key + 3)
            : NULL;
    int rc = 0;
    if (negated != NULL && value == NULL) {
        /* No text at all is what a text's "off" is. */
        bool text = negated->type == SETTING_STRING || negated->type == SETTING_PATH;
        rc = options_set(o, negated, origin, text ? "" : "off");
    } else if ((rc = option_lookup(&row, key)) == 0) {
        bool flag = row->type == SETTING_BOOL || row->type == SETTING_SHORTHAND ||
                    (row->type == SETTING_CHOICE && row->argument == NULL &&
                     strncmp(row->choices[1], "on|", 3) == 0);
        bool said = flag && n > 1 &&
                    (strcmp(words[1], "on") == 0 || strcmp(words[1], "off") == 0 ||
                     (row->type == SETTING_CHOICE && strcmp(words[1], "auto") == 0));
        if (value == NULL && (!flag || said)) {
            if (n < 2)
                rc = err_set(ERR_RANGE, "--%s needs a value", key);
            else
                value = words[(*used)++];
        }
        if (rc == 0)
            rc = options_set(o, row, origin, value == NULL ? "on" : value);
    }
    mem_free(key);
    return rc;
}

/* "-p TEXT", "-k40", "-v". */
static int take_short(struct options *o, enum origin origin, char **words, int n, int *used)
{
    const struct setting *row = option_by_letter(words[0][1]);
    const char *value = words[0] + 2;
    *used = 1;
    if (row == NULL) {
        char *shown = file_visible(words[0]);
        err_set(ERR_MISSING, "there is no option %s; --help lists them", shown);
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
    return options_set(o, row, origin, value);
}

int options_take(struct options *o, enum origin origin, char **words, int *n)
{
    int kept = 0;
    for (int i = 0; i < *n;) {
        int used = 1, rc = 0;
        if (strcmp(words[i], "--") == 0) {
            for (i++; i < *n; i++)
                words[kept++] = words[i];
            break;
        }
        if (strncmp(words[i], "--", 2) == 0)
            rc = take_long(o, origin, words + i, *n - i, &used);
        else if (words[i][0] == '-' && words[i][1] != '\0')
            rc = take_short(o, origin, words + i, *n - i, &used);
        else
            words[kept++] = words[i];
        if (rc != 0)
            return rc;
        i += used;
    }
    *n = kept;
    return 0;
}
