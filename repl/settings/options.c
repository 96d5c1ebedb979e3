#include "repl/settings/options.h"

#include "model/base/err.h"
#include "model/base/file.h"

enum { MAX_NAMES = 128 };

const struct setting *option_find(const char *name)
{
    const struct setting *o;
    for (int i = 0; (o = option_at(i)) != NULL && !setting_called(o, name); i++)
        ;
    return o;
}

const struct setting *option_by_letter(char letter)
{
    const struct setting *o;
    for (int i = 0; (o = option_at(i)) != NULL && (letter == 0 || o->letter != letter); i++)
        ;
    return o;
}

static int say_unknown(const char *name, bool settable_only)
{
    const char *names[MAX_NAMES];
    size_t n = 0;
    const struct setting *o;
    for (int i = 0; (o = option_at(i)) != NULL && n < MAX_NAMES; i++)
        if (!settable_only || !o->call_only)
            names[n++] = o->name;
    return setting_unknown(name, names, n);
}

int option_lookup(const struct setting **out, const char *name)
{
    *out = option_find(name);
    return *out != NULL ? 0 : say_unknown(name, false);
}

int option_settable(const struct setting **out, const char *name)
{
    *out = option_find(name);
    if (*out == NULL)
        return say_unknown(name, true);
    if ((*out)->call_only)
        return err_set(ERR_UNSUPPORTED, "%s is for one command, not kept as a setting",
                       (*out)->name);
    return 0;
}

/* A text that answers go by, a chain or stop strings say, as far as it can be told without
 * a model. */
static int check_text(const struct setting *o, const char *text)
{
    struct settings probe = {0};
    generate_config_init(&probe.generate);
    sampler_config_init(&probe.sampler);
    *(const char **)((char *)&probe + o->offset) = text;
    int rc = generate_config_check(&probe.generate, &probe.sampler);
    return rc == 0 ? sampler_config_check(&probe.sampler) : rc;
}

int option_parse(const struct setting *o, struct settings *s, const char *text)
{
    if (o->type == SETTING_SHORTHAND) {
        bool on;
        int failed = option_switch(o, text, &on);
        return failed != 0 || !on ? failed
                                  : setting_parse(option_find(o->choices[0]), s, o->choices[1]);
    }
    int rc = o->type == SETTING_STRING && option_per_line(o) ? check_text(o, text) : 0;
    return rc == 0 ? setting_parse(o, s, text) : rc;
}

int option_switch(const struct setting *o, const char *text, bool *on)
{
    static const struct setting a_switch = {.name = "", .type = SETTING_BOOL};
    int rc = setting_parse(&a_switch, on, text);
    return rc == 0 ? 0
                   : err_set(ERR_RANGE, "%s is %s, must be on or off", o->name, file_quote(text));
}

static size_t n_options(void)
{
    size_t n = 0;
    while (option_at((int)n) != NULL)
        n++;
    return n;
}

void settings_release(struct settings *s)
{
    settings_free_texts(option_at(0), n_options(), s);
}

int settings_copy(struct settings *dst, const struct settings *src)
{
    *dst = *src;
    return settings_own_texts(option_at(0), n_options(), dst, src);
}
