#include "repl/commands/complete.h"

#include "model/base/mem.h"
#include "repl/commands/command.h"
#include "repl/settings/options.h"
#include "train/config/presets.h"
#include "train/config/run_config.h"

#include <stdio.h>
#include <string.h>

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

static void offer_settings(struct completion *out, const char *call_options)
{
    const struct setting *o;
    char name[64];
    for (int i = 0; (o = option_at(i)) != NULL; i++) {
        bool taken = call_options != NULL && strstr(call_options, o->name) != NULL;
        if (o->call_only && !taken)
            continue;
        snprintf(name, sizeof name, "%s%s", call_options != NULL ? "--" : "", o->name);
        for (char *p = name; call_options != NULL && *p != '\0'; p++)
            *p = *p == '_' ? '-' : *p;
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
    for (int i = 0; o->type == SETTING_CHOICE && o->choices[i] != NULL; i++) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(o->choices[i], "|"), o->choices[i]);
        completion_add(out, name);
    }
    for (int i = 0; o->words != NULL && o->words(i) != NULL; i++)
        completion_add(out, o->words(i));
}

static void offer_presets(struct completion *out)
{
    for (const struct run_preset *p = run_presets; p->name != NULL; p++)
        completion_add(out, p->name);
}

/* "steps=", and "training.steps=" for a word with a point. */
static void offer_training(struct completion *out, const char *word)
{
    const struct setting *row;
    const bool full = strchr(word, '.') != NULL;
    char name[96];
    for (int i = 0; (row = run_row_at(i)) != NULL; i++) {
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

/* What a kind, or a word, of a row gives behind KEY=. */
static void offer_of_key(struct completion *out, const char *kind, const char *key)
{
    const struct setting *row;
    const size_t n = strlen(key);
    if (strcmp(kind, "run_setting") == 0 && run_row_find(&row, key) == 0)
        offer_values(out, row);
    else if (strncmp(kind, key, n) == 0 && kind[n] == '=')
        completion_add(out, kind + n + 1);
}

static void offer_kind(struct completion *out, const char *kind, const char *word)
{
    if (strcmp(kind, "path") == 0)
        out->paths = true;
    else if (strcmp(kind, "setting") == 0)
        offer_settings(out, NULL);
    else if (strcmp(kind, "command") == 0)
        offer_commands(out, "");
    else if (strcmp(kind, "preset") == 0)
        offer_presets(out);
    else if (strcmp(kind, "run_setting") == 0)
        offer_training(out, word);
    else
        completion_add(out, kind);
}

static bool is_end(const char *kind)
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
    char *first = word_of(before, 1), *second = word_of(before, 2), *key = key_of(before);
    const char *kinds = kinds_behind(c->completes == NULL ? "" : c->completes, first);
    if (strcmp(c->name, "set") == 0 && first != NULL) {
        if (second == NULL)
            offer_values(out, option_find(key != NULL ? key : first));
    } else {
        char *kind;
        for (int i = 0; (kind = word_of(kinds, i)) != NULL && !is_end(kind); i++) {
            if (key != NULL)
                offer_of_key(out, kind, key);
            else
                offer_kind(out, kind, word);
            mem_free(kind);
        }
        mem_free(kind);
    }
    mem_free(first);
    mem_free(second);
    mem_free(key);
}

void complete(struct completion *out, const char *before, const char *word)
{
    char *first = word_of(before, 0);
    if (first == NULL && word[0] == ':') {
        offer_commands(out, ":");
    } else if (first != NULL && first[0] == ':') {
        const struct command *c = command_find(first + 1);
        if (c != NULL && strncmp(word, "--", 2) == 0 && !(c->flags & TAKES_TEXT))
            offer_settings(out, c->options == NULL ? "" : c->options);
        else if (c != NULL)
            offer_arguments(out, c, before, word);
    }
    mem_free(first);
}
