#include "repl/commands/complete.h"

#include "model/base/mem.h"
#include "repl/commands/command.h"
#include "repl/commands/help_lists.h"
#include "repl/settings/options.h"
#include "train/config/presets.h"
#include "train/config/run_config.h"
#include "train/data/published.h"
#include "weights/hub/cached.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static void offer_commands(struct completion *out, const char *prefix)
{
    const struct command *c;
    char name[64];
    for (int i = 0; (c = command_at(i)) != NULL; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, c->name);
        if (c->flags & IN_REPL)
            completion_add(out, name);
    }
}

static void offer_settings(struct completion *out)
{
    const struct setting *o;
    for (int i = 0; (o = settings_table_at(&options_table, i)) != NULL; i++)
        if (!o->call_only)
            completion_add(out, o->name);
}

/* Whether the command's help has the option in it. */
static bool help_names(const struct command *c, const char *option)
{
    const size_t n = strlen(option);
    for (const char *at = c->help; (at = strstr(at, option)) != NULL; at += n)
        if (at[n] != '-' && !isalnum((unsigned char)at[n]))
            return true;
    return false;
}

static bool is_own_option(const struct command *c, const struct setting *o)
{
    char name[64];
    option_dashed(name, sizeof name, o->name);
    return o->call_only
               ? command_takes(c, o->name)
               : strncasecmp(o->group, c->name, strlen(c->name)) == 0 || help_names(c, name);
}

/* Of a command that has its own, all others only once their first letter is there. */
static void offer_options(struct completion *out, const struct command *c, const char *word)
{
    const struct setting *o;
    const bool own = c->options != NULL && word[2] == '\0';
    for (int i = 0; (o = settings_table_at(&options_table, i)) != NULL; i++) {
        char name[64];
        if ((own || o->call_only) && !is_own_option(c, o))
            continue;
        option_dashed(name, sizeof name, o->name);
        completion_add(out, name);
    }
}

static void offer_values(struct completion *out, const struct setting *o)
{
    char name[64];
    if (o == NULL)
        return;
    out->paths = o->type == SETTING_PATH || o->paths;
    if (o->type == SETTING_BOOL) {
        completion_add(out, "on");
        completion_add(out, "off");
    }
    if (o->or_auto)
        completion_add(out, "auto");
    for (int i = 0; o->type == SETTING_CHOICE && o->choices[i] != NULL; i++) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(o->choices[i], "|"), o->choices[i]);
        completion_add(out, name);
    }
    for (int i = 0; o->words != NULL && o->words(i) != NULL; i++)
        completion_add(out, o->words(i));
}

/* "steps=", and "training.steps=" for a word with a point. */
static void offer_training(struct completion *out, const char *word)
{
    const struct setting *row;
    const bool full = strchr(word, '.') != NULL;
    char name[96];
    for (int i = 0; (row = settings_table_at(&run_table, i)) != NULL; i++) {
        snprintf(name, sizeof name, "%s%s%s=", full ? row->group : "", full ? "." : "", row->name);
        completion_add(out, name);
    }
}

/* Word number `at` (0: the command itself) of the line before the cursor, NULL: none. */
static char *word_of(const char *before, int at)
{
    const char *p = before;
    for (int i = 0;; i++) {
        p += strspn(p, " \t\n");
        size_t n = strcspn(p, " \t\n");
        if (n == 0)
            return NULL;
        if (i == at)
            return mem_sprintf("%.*s", (int)n, p);
        p += n;
    }
}

/* KEY where `before` ends in KEY= or KEY=", else NULL. */
static char *key_of(const char *before)
{
    size_t n = strlen(before), start;
    n -= n > 0 && strchr("\"'", before[n - 1]) != NULL;
    if (n == 0 || before[n - 1] != '=')
        return NULL;
    for (start = n - 1; start > 0 && strchr(" \t\n", before[start - 1]) == NULL; start--)
        ;
    return mem_sprintf("%.*s", (int)(n - 1 - start), before + start);
}

/* A line of a command before the word at the cursor. */
struct line {
    const struct command *command;
    const char *word;
    char *first, *second; /* its arguments, NULL: none; owned */
    char *key;            /* where it ends in KEY=, else NULL; owned */
};

/* A word, or its value where the line ends in its KEY=. */
static void offer_word(struct completion *out, const struct line *l, const char *word)
{
    const size_t n = l->key == NULL ? 0 : strlen(l->key);
    if (l->key == NULL)
        completion_add(out, word);
    else if (strncmp(word, l->key, n) == 0 && word[n] == '=')
        completion_add(out, word + n + 1);
}

static void offer_words(struct completion *out, const struct line *l)
{
    const char *(*words)(int i) = l->command->words;
    for (int i = 0; words(i) != NULL; i++)
        offer_word(out, l, words(i));
}

/* Of the setting that the first argument names. */
static void offer_value(struct completion *out, const struct line *l)
{
    if (l->second == NULL)
        offer_values(out, settings_table_find(&options_table, l->key != NULL ? l->key : l->first));
}

/* "KEY=", or what may stand behind it. */
static void offer_run_setting(struct completion *out, const struct line *l)
{
    const struct setting *row;
    if (l->key == NULL)
        offer_training(out, l->word);
    else if (settings_table_lookup(&run_table, &row, l->key, false) == 0)
        offer_values(out, row);
}

static void offer_path(struct completion *out, const struct line *l)
{
    out->paths |= l->key == NULL;
}

static void offer_setting(struct completion *out, const struct line *l)
{
    if (l->key == NULL)
        offer_settings(out);
}

static void offer_group(struct completion *out, const struct line *l)
{
    for (int i = 0; l->key == NULL && help_group_at(i) != NULL; i++)
        completion_add(out, help_group_at(i));
}

static void offer_command(struct completion *out, const struct line *l)
{
    if (l->key == NULL)
        offer_commands(out, "");
}

static void offer_preset(struct completion *out, const struct line *l)
{
    for (const struct run_preset *p = run_presets; p->name != NULL && l->key == NULL; p++)
        completion_add(out, p->name);
}

/* The models of the Hugging Face cache. */
static void offer_cached(struct completion *out, const struct line *l)
{
    struct cached_list list;
    if (l->key != NULL || cached_list_read(&list) != 0)
        return;
    for (int i = 0; i < list.n; i++)
        completion_add(out, list.all[i].name);
    cached_list_release(&list);
}

static void offer_random(struct completion *out, const struct line *l)
{
    static const char *const shapes[] = {"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"};
    for (size_t i = 0; l->key == NULL && i < sizeof shapes / sizeof *shapes; i++) {
        char name[32];
        snprintf(name, sizeof name, "random:%s", shapes[i]);
        completion_add(out, name);
    }
}

/* The texts that data get has. */
static void offer_published(struct completion *out, const struct line *l)
{
    const struct published *t;
    (void)l;
    for (int i = 0; (t = published_at(i)) != NULL; i++)
        completion_add(out, t->name);
}

static const struct {
    const char *name;
    void (*offer)(struct completion *out, const struct line *l);
} kinds[] = {
    {"path", offer_path},           {"setting", offer_setting}, {"value", offer_value},
    {"command", offer_command},     {"preset", offer_preset},   {"run_setting", offer_run_setting},
    {"word", offer_words},          {"group", offer_group},     {"cached", offer_cached},
    {"published", offer_published}, {"random", offer_random},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* A kind of things, or a word as it is. */
static void offer_kind(struct completion *out, const struct line *l, const char *kind)
{
    int i = 0;
    while (i < N_KINDS && strcmp(kinds[i].name, kind) != 0)
        i++;
    if (i < N_KINDS)
        kinds[i].offer(out, l);
    else
        offer_word(out, l, kind);
}

static bool is_end_kind(const char *kind)
{
    return strcmp(kind, "then") == 0 || strcmp(kind, ";") == 0;
}

/* What may stand behind the arguments before: first is the first of them, NULL: there is none. */
static const char *kinds_behind(const char *completes, const char *first)
{
    const char *then = strstr(completes, " then ");
    if (first == NULL || then == NULL)
        return completes;
    const size_t n = strlen(first);
    for (const char *at = then; (at = strstr(at, " ; ")) != NULL;) {
        at += 3;
        if (strncmp(at, first, n) == 0 && at[n] == ' ')
            return at + n;
    }
    return then + strlen(" then ");
}

/* The arguments a row names, words and kinds. */
static void offer_arguments(struct completion *out, const struct command *c, const char *before,
                            const char *word)
{
    struct line l = {c, word, word_of(before, 1), word_of(before, 2), key_of(before)};
    const char *all = kinds_behind(c->completes == NULL ? "" : c->completes, l.first);
    char *kind;
    for (int i = 0; (kind = word_of(all, i)) != NULL && !is_end_kind(kind); i++) {
        offer_kind(out, &l, kind);
        mem_free(kind);
    }
    mem_free(kind);
    mem_free(l.first);
    mem_free(l.second);
    mem_free(l.key);
}

/* Whether the words behind the command are fewer than it takes. */
static bool takes_more(const struct command *c, const char *before)
{
    char *word;
    int n = 0;
    for (int i = 1; (word = word_of(before, i)) != NULL; i++) {
        n += strncmp(word, "--", 2) != 0;
        mem_free(word);
    }
    return (c->flags & TAKES_TEXT) || c->max_words < 0 || n < c->max_words;
}

void complete(struct completion *out, const char *before, const char *word)
{
    char *first = word_of(before, 0);
    if (first == NULL && (word[0] == ':' || word[0] == '/')) {
        offer_commands(out, (char[]){word[0], '\0'});
    } else if (first != NULL && (first[0] == ':' || first[0] == '/')) {
        const struct command *c = command_find(first + 1);
        if (c != NULL && strncmp(word, "--", 2) == 0 && !(c->flags & TAKES_TEXT))
            offer_options(out, c, word);
        else if (c != NULL && takes_more(c, before))
            offer_arguments(out, c, before, word);
    }
    mem_free(first);
}
