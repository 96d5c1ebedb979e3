#include "repl/complete.h"

#include "model/base/mem.h"
#include "model/kernels/kernels.h"
#include "repl/commands.h"
#include "repl/options.h"

#include <stdio.h>
#include <string.h>

/* The names in a list separated by `separator`, blanks around them left out. */
static void offer_list(struct completion *out, const char *list, char separator)
{
    const char stop[] = {separator, ' ', '\0'};
    char one[64];
    for (const char *p = list; *p != '\0';) {
        p += strspn(p, stop);
        int n = (int)strcspn(p, stop);
        snprintf(one, sizeof one, "%.*s", n, p);
        if (n > 0)
            completion_add(out, one);
        p += n;
    }
}

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
    out->paths = o->type == SETTING_PATH;
    if (o->type == SETTING_BOOL)
        offer_list(out, "on off", ' ');
    for (int i = 0; o->type == SETTING_CHOICE && o->choices[i] != NULL; i++) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(o->choices[i], "|"), o->choices[i]);
        completion_add(out, name);
    }
    if (strcmp(o->name, "kernels") == 0) {
        completion_add(out, "auto");
        offer_list(out, kernels_names(), ',');
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

/* The arguments a row names: words, and the kinds path, setting and command. */
static void offer_arguments(struct completion *out, const struct command *c, const char *before)
{
    char *first = word_of(before, 1), *second = word_of(before, 2);
    const char *kinds = c->completes == NULL ? "" : c->completes;
    const char *then = strstr(kinds, " then ");
    if (then != NULL && first != NULL)
        kinds = then + strlen(" then ");
    if (strcmp(c->name, "set") == 0 && first != NULL) {
        if (second == NULL)
            offer_values(out, option_find(first));
    } else {
        char *kind;
        for (int i = 0; (kind = word_of(kinds, i)) != NULL && strcmp(kind, "then") != 0; i++) {
            if (strcmp(kind, "path") == 0)
                out->paths = true;
            else if (strcmp(kind, "setting") == 0)
                offer_settings(out, NULL);
            else if (strcmp(kind, "command") == 0)
                offer_commands(out, "");
            else
                completion_add(out, kind);
            mem_free(kind);
        }
        mem_free(kind);
    }
    mem_free(first);
    mem_free(second);
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
            offer_arguments(out, c, before);
    }
    mem_free(first);
}
