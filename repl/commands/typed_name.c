#include "repl/commands/typed_name.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "repl/commands/systems.h"
#include "repl/session/foreign_settings.h"
#include "train/config/table.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { OPTION_BYTES = 128, HERE_BYTES = 160 };

static const char unknown[] = "there is no setting ";

/* Option number k of "a, b", without "--" in front; NULL past the last. */
static const char *nth_option(char out[OPTION_BYTES], const char *list, int k)
{
    for (; k > 0 && list != NULL; k--)
        list = (list = strchr(list, ',')) == NULL ? NULL : list + 2;
    if (list == NULL)
        return NULL;
    list += strncmp(list, "--", 2) == 0 ? 2 : 0;
    snprintf(out, OPTION_BYTES, "%.*s", (int)strcspn(list, ","), list);
    return out;
}

/* The first row with an option of that name, plain or with "--" in front; *k: which of its. */
static const struct system_option *find_option(const char *name, bool plain, int *k)
{
    char option[OPTION_BYTES];
    const struct system_option *o;
    for (int i = 0; (o = system_option_at(i)) != NULL; i++)
        for (*k = 0; nth_option(option, o->option, *k) != NULL; (*k)++)
            if (setting_same_name(option, name) && (*o->option != '-') == plain)
                return o;
    return NULL;
}

/* What the name is called here: the one of the row's that stands where the name does, else all. */
static void name_here(char out[HERE_BYTES], const struct system_option *o, int k)
{
    char one[OPTION_BYTES];
    int n_here = 0, n_options = 0;
    while (nth_option(one, o->here, n_here) != NULL)
        n_here++;
    while (nth_option(one, o->option, n_options) != NULL)
        n_options++;
    if (n_here == n_options)
        nth_option(out, o->here, k);
    else
        snprintf(out, HERE_BYTES, "%s", o->here);
}

int typed_name_of_system(int rc)
{
    char name[OPTION_BYTES], here[HERE_BYTES] = "";
    const char *at = rc == ERR_MISSING ? strstr(err_text(), unknown) : NULL;
    if (at == NULL)
        return rc;
    const int before = (int)(at - err_text());
    at += sizeof unknown - 1;
    const int n = (int)strcspn(at, ";");
    snprintf(name, sizeof name, "%.*s", n, at);
    const char *point = strrchr(name, '.'), *last = point == NULL ? name : point + 1;
    int k = 0;
    const struct system_option *o = find_option(last, true, &k);
    if (o == NULL)
        o = find_option(last, false, &k);
    if (o == NULL || settings_table_find(&run_table, last) != NULL)
        return rc;
    name_here(here, o, k);
    char *why = mem_strdup(err_text());
    if (why != NULL)
        err_set(rc, "%.*s%s%s; that of %s %s%s here%s%s%s", before, why, unknown, name, o->system,
                *here != '\0' ? "is " : "has nothing like it", here, *o->note != '\0' ? " (" : "",
                o->note, *o->note != '\0' ? ")" : "");
    mem_free(why);
    return rc;
}

/* A setting of another program that answers prompts, which may be near one of ours by chance. */
static bool explain_foreign(int rc)
{
    char name[OPTION_BYTES];
    const char *text = err_text(), *more = strchr(text, ';');
    if (rc != ERR_MISSING || strncmp(text, unknown, sizeof unknown - 1) != 0 ||
        (more != NULL && strncmp(more, "; did you mean", 14) != 0))
        return false;
    text += sizeof unknown - 1;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ";"), text);
    const char *sentence = foreign_setting_named(name);
    if (sentence != NULL)
        err_set(rc, "%s%s; %s", unknown, name, sentence);
    return sentence != NULL;
}

int typed_name_explain(int rc, const char *topic)
{
    if (strcmp(topic, "settings") == 0 && explain_foreign(rc))
        return rc;
    if (rc != ERR_MISSING || strncmp(err_text(), unknown, sizeof unknown - 1) != 0 ||
        strchr(err_text(), ';') != NULL)
        return rc;
    char *why = mem_strdup(err_text());
    if (why != NULL)
        err_set(rc, "%s; `:help %s` lists them", why, topic);
    mem_free(why);
    return rc;
}
