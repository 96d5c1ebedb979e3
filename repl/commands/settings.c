/* :set :reset */
#include "repl/commands/commands.h"

#include "repl/commands/help_lists.h"
#include "repl/commands/settings_list.h"
#include "repl/commands/typed_name.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/words.h"
#include "repl/session/repl.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "sampling/search/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_GROUPS = 32, GROUP_WORD = 32 };

/* "built in; 4 of generation_config.json is left out" */
static int left_out_text(struct buf *out, const struct options *o, const struct setting *row)
{
    const struct settings_store *s = &o->store;
    const char *below = settings_store_source(s, ORIGIN_LEFT_OUT, row);
    const int from =
        settings_store_text(s, ORIGIN_MODEL, row) != NULL ? ORIGIN_MODEL : ORIGIN_USER_FILE;
    const char *source = settings_store_source(s, from, row);
    char shown[80];
    return buf_printf(out, "%s; %s of %s is left out",
                      below == NULL ? origin_name(ORIGIN_BUILT_IN) : below,
                      file_show(shown, sizeof shown, settings_store_text(s, from, row)),
                      source == NULL ? "a file" : source);
}

/* ":set, over 40 of settings.yaml line 3": who gave a value, and what of the user's it hides. */
static int origin_text(struct buf *out, const struct options *o, const struct setting *row)
{
    const enum origin origin = settings_store_origin(&o->store, row);
    const char *source = settings_store_source(&o->store, (int)ORIGIN_USER_FILE, row);
    const char *hidden = settings_store_text(&o->store, (int)ORIGIN_USER_FILE, row);
    char shown[80];
    if (origin == ORIGIN_LEFT_OUT)
        return left_out_text(out, o, row);
    if (source == NULL)
        return buf_str(out, origin_name(origin));
    if (origin == ORIGIN_USER_FILE)
        return buf_str(out, source);
    return buf_printf(out, "%s, over %s of %s", origin_name(origin),
                      file_show(shown, sizeof shown, hidden), source);
}

static bool setting_is_text(const struct setting *o)
{
    return o->type == SETTING_STRING || o->type == SETTING_PATH;
}

static void show_setting(const struct repl *r, const struct setting *o)
{
    struct buf value = {0}, given = {0};
    const bool text = setting_is_text(o);
    settings_list_value(&value, &r->options, o);
    origin_text(&given, &r->options, o);
    if (!text && buf_str(&given, "; ") == 0)
        setting_range(o, &given);
    const int columns = term_columns(buf_text(&value), value.n) + (int)strlen(o->name) + 5 +
                        term_columns(buf_text(&given), given.n);
    if (columns < term_width(stdout))
        printf("%s %s  %s(%s)%s\n", o->name, buf_text(&value), term_dim(stdout), buf_text(&given),
               term_plain(stdout));
    else
        wrap_say(stdout, "", "%s %s  (%s)", o->name, buf_text(&value), buf_text(&given));
    wrap_say(stdout, term_dim(stdout), "%s: %s", o->name, o->help);
    buf_release(&value);
    buf_release(&given);
}

/* Texts of settings that name tokens, as every prompt will have them. */
static int check_with_model(const struct repl *r)
{
    const struct settings *s = &r->options.settings;
    const struct model *m = r->model;
    struct stop_tokens stop;
    struct sampler *sampler = NULL;
    int rc = generate_stop_tokens(&stop, &s->generate, m);
    if (rc == 0)
        rc = sampler_new(&sampler, &s->sampler, m->config.n_vocab, m->config.n_ctx, m->tokenizer,
                         &stop);
    sampler_free(sampler);
    return rc == 0 ? 0 : options_blame(&r->options, NULL);
}

static void switch_screen(const struct repl *r)
{
    term_set_color(r->options.settings.talk.color);
    wrap_switch(r->options.settings.talk.wrap);
}

/* What is worth knowing at once about a change. */
static int apply_change(struct repl *r, const struct setting *o)
{
    if (o->holds_from == HOLDS_FROM_TEAM)
        return repl_device(r);
    if (o->holds_from == HOLDS_FROM_SCREEN)
        switch_screen(r);
    else if (r->model != NULL && o->type == SETTING_STRING && o->per_line)
        return check_with_model(r);
    else if (o->holds_from == HOLDS_FROM_START)
        return err_set(ERR_UNSUPPORTED,
                       "%s is what the program starts with; `:lora load DIR` loads one now",
                       o->name);
    else if (r->model != NULL && o->holds_from == HOLDS_FROM_LOAD)
        wrap_say(stdout, term_dim(stdout), "%s takes effect at the next :load", o->name);
    return 0;
}

/* A change that waits until a search is off. */
static void say_unused(const struct repl *r, const struct setting *o)
{
    const struct generate_config *g = &r->options.settings.generate;
    const bool beams = g->num_beams > 1;
    if (search_wanted(g) && strcmp(o->group, "Sampling") == 0 && o != OPTION(sampler.chain) &&
        (beams || o != OPTION(sampler.top_k)))
        wrap_say(stdout, term_dim(stdout), "%s is not used: %s search draws nothing", o->name,
                 beams ? "beam" : "contrastive");
}

static int change_setting(struct repl *r, const struct setting *o, const char *text)
{
    struct buf before = {0};
    bool had = settings_store_origin(&r->options.store, o) == ORIGIN_SET;
    int rc = setting_format(o, &r->options.settings, &before);
    if (rc == 0 && (rc = options_set(&r->options, o, ORIGIN_SET, text)) == 0 &&
        (rc = apply_change(r, o)) != 0) {
        /* Refused by what it is for: as it was. */
        options_set(&r->options, o, ORIGIN_SET, had ? buf_text(&before) : NULL);
    }
    buf_release(&before);
    if (rc == 0 && (rc = options_say_left_out(&r->options, progress_warn)) == 0)
        say_unused(r, o);
    return rc;
}

/* The group of settings whose name is nearest; NULL: none is near. */
static const char *nearest_group(char out[GROUP_WORD], const char *name)
{
    char words[MOST_GROUPS][GROUP_WORD];
    const char *names[MOST_GROUPS], *group;
    size_t n = 0;
    for (; n < MOST_GROUPS && (group = help_group_at((int)n)) != NULL; n++) {
        snprintf(words[n], GROUP_WORD, "%s", group);
        names[n] = words[n];
    }
    const char *near = words_nearest(name, names, n);
    snprintf(out, GROUP_WORD, "%s", near == NULL ? "" : near);
    return near == NULL ? NULL : out;
}

/* ERR_MISSING, as set: a name that is none of the program's may be one of a run's. */
static int refuse_name(const struct repl *r, const char *name)
{
    const struct setting *row;
    char *why = mem_strdup(err_text()), group[GROUP_WORD];
    int rc = ERR_MISSING;
    if (why == NULL)
        return ERR_NOMEM;
    const bool unlike = strstr(why, "did you mean") == NULL;
    const bool unknown = settings_table_lookup(&run_table, &row, name, false) != 0;
    if (unknown && unlike && nearest_group(group, name) != NULL)
        err_set(rc, "%s; did you mean the group %s?", why, group);
    else if (unknown)
        typed_name_explain(err_set(rc, "%s", why), "settings");
    else if (r->run != NULL && run_status(r->run) == RUN_FINISHED &&
             strstr(run_extension(r->run), row->name) == NULL)
        err_set(rc, "%s is a training setting: `:train resume %s %s=VALUE` resumes the run with it",
                row->name, run_extension(r->run), row->name);
    else if (r->run != NULL)
        err_set(rc, "%s is a training setting: `:train %s=VALUE` resumes the run with it",
                row->name, row->name);
    else
        err_set(rc,
                "%s is a training setting: `:train finetune data=FILE %s=VALUE` begins a run "
                "with it",
                row->name, row->name);
    mem_free(why);
    return rc;
}

/* Where the next NAME=VALUE of `NAME=VALUE NAME=VALUE` begins: a name after a space outside of
 * quotes, behind the value of a text a known one. The end of text if there is none. */
static const char *next_assignment(const struct setting *o, const char *text)
{
    char name[GROUP_WORD], quote = '\0';
    for (const char *p = text; *p != '\0'; p++) {
        if (quote != '\0' || *p == '"' || *p == '\'') {
            quote = quote == '\0' ? *p : *p == quote ? '\0' : quote;
            continue;
        }
        const size_t n = strcspn(p + 1, " \t\n=");
        if (strchr(" \t\n", *p) == NULL || n == 0 || n >= sizeof name || p[1 + n] != '=')
            continue;
        snprintf(name, sizeof name, "%.*s", (int)n, p + 1);
        if (!setting_is_text(o) || settings_table_find(&options_table, name) != NULL)
            return p + 1;
    }
    return text + strlen(text);
}

/* "slide ignore_eos on": a value, and what was meant for another setting. */
static bool names_another(const char *value)
{
    char name[GROUP_WORD];
    for (const char *p = strchr(value, ' '); p != NULL; p = strchr(p + 1, ' ')) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p + 1, " ="), p + 1);
        if (settings_table_find(&options_table, name) != NULL)
            return true;
    }
    return false;
}

/* Where the quoted part that begins at p ends; p itself where nothing closes it, as in "don't". */
static const char *skip_quoted(const char *p)
{
    const char *at = p + 1;
    while (*at != '\0' && *at != *p)
        at += *at == '\\' && *p == '"' && at[1] != '\0' ? 2 : 1;
    return *at == *p ? at : p;
}

/* Whether text [n] goes on behind quotes that close, without a comma: of a list, and of any text
 * with what is another setting. */
static bool goes_on_behind_quotes(const struct setting *o, const char *text, size_t n)
{
    for (const char *p = text; p < text + n && (*p == '"' || *p == '\'');) {
        const char *end = skip_quoted(p), *rest = end + 1 + strspn(end + 1, " \t\n");
        if (end == p || rest >= text + n)
            return false;
        if (*rest != ',' || !o->texts)
            return o->texts || names_another(end);
        p = rest + 1 + strspn(rest + 1, " \t\n");
    }
    return false;
}

/* text [n] as the setting takes it: without quotes around all of it, or around words of a list. */
static int take_value(char **out, const struct setting *o, const char *text, size_t n)
{
    *out = NULL;
    int rc = o->texts ? words_unquote(out, text, n) : 0;
    if (rc != 0)
        return err_wrap("%s", o->name);
    if (*out != NULL)
        return 0;
    if (goes_on_behind_quotes(o, text, n))
        return err_set(ERR_RANGE,
                       "%s: its text ends at the quotes, and more follows; several settings at "
                       "once: `:set NAME=VALUE NAME=VALUE`",
                       o->name);
    const bool quoted = n >= 2 && (*text == '"' || *text == '\'') && text[n - 1] == *text;
    if (quoted && (!o->texts || skip_quoted(text) == text + n - 1))
        text++, n -= 2;
    *out = n == 0 && o->type == SETTING_SHORTHAND ? mem_strdup("on")
                                                  : mem_sprintf("%.*s", (int)n, text);
    return *out == NULL ? ERR_NOMEM : 0;
}

/* Whether nothing behind the = of a setting is its value. */
static bool takes_nothing(const struct setting *o)
{
    return o->type == SETTING_SHORTHAND || setting_is_text(o);
}

/* text [n] is what follows a setting's name, or its =: nothing shows it, if that is no value. */
static int set_or_show(struct repl *r, const struct setting *o, bool assigned, const char *text,
                       size_t n)
{
    char *value;
    while (n > 0 && strchr(" \t\n", text[n - 1]) != NULL)
        n--;
    if (n == 0 && o->type != SETTING_SHORTHAND && !(assigned && setting_is_text(o))) {
        show_setting(r, o);
        return 0;
    }
    int rc = take_value(&value, o, text, n);
    if (rc != 0)
        return rc;
    rc = change_setting(r, o, value);
    char *why = rc == ERR_RANGE && names_another(value) ? mem_strdup(err_text()) : NULL;
    if (why != NULL)
        err_set(rc, "%s; several settings at once: `:set NAME=VALUE NAME=VALUE`", why);
    mem_free(why);
    mem_free(value);
    return rc;
}

/* The setting that [n] at name call; NULL after an error, or after its group was listed. */
static const struct setting *find_called(struct repl *r, const char *name, size_t n, bool alone,
                                         int *rc)
{
    const struct setting *o = NULL;
    char *word = mem_sprintf("%.*s", (int)n, name);
    *rc = word == NULL ? ERR_NOMEM : 0;
    if (word == NULL || (alone && settings_table_find(&options_table, word) == NULL &&
                         settings_list_show(&r->options, word))) {
        mem_free(word);
        return NULL;
    }
    *rc = settings_table_lookup(&options_table, &o, word, true);
    if (*rc == ERR_MISSING)
        *rc = refuse_name(r, word);
    mem_free(word);
    return *rc == 0 ? o : NULL;
}

/* What was set in fact. A letter is short, and in JSON another's: n there is the number of answers;
 * and greedy is a value of another setting. */
static void say_meant(const struct repl *r, const struct setting *o)
{
    struct buf value = {0};
    if (o->type == SETTING_SHORTHAND)
        o = settings_table_find(&options_table, o->shorthand_for);
    if (settings_list_value(&value, &r->options, o) == 0)
        wrap_say(stdout, term_dim(stdout), "%s %s", o->name, buf_text(&value));
    buf_release(&value);
}

/* The length of text without a comment: from a # on that follows a space and stands in no quotes.
 */
static size_t comment_start(const char *text)
{
    char before = ' ';
    const char *p = text;
    for (; *p != '\0'; before = *p++) {
        const bool begins = strchr(" \t\n", before) != NULL;
        if (*p == '#' && begins)
            break;
        if ((*p == '"' || *p == '\'') && (begins || before == '=' || before == ','))
            p = skip_quoted(p);
    }
    return (size_t)(p - text);
}

/* An error of the setting behind others, which are named: they hold. */
static int say_set_before(int rc, const struct buf *set)
{
    char *why = set->n > 0 ? mem_strdup(err_text()) : NULL;
    if (why != NULL)
        err_set(rc, "%s; set before it: %s", why, buf_text(set));
    mem_free(why);
    return rc;
}

/* text: without a comment; set: the names of those that were set. */
static int set_or_show_each(struct repl *r, const char *text, struct buf *set)
{
    text += strspn(text, " \t\n");
    int rc = 0;
    if (*text == '\0')
        settings_list_show(&r->options, NULL);
    while (*text != '\0' && rc == 0) {
        const size_t n = strcspn(text, " \t\n=");
        const bool assigned = text[n] == '=';
        const char *value = text + n + strspn(text + n, " \t\n");
        if (n == 0)
            return err_set(ERR_RANGE, "a setting's name is before its =: `:set NAME=VALUE`");
        const struct setting *o = find_called(r, text, n, *value == '\0', &rc);
        if (o == NULL)
            return rc;
        const bool equals = *value == '=';
        if (equals)
            value += 1 + strspn(value + 1, " \t\n");
        const char *end = assigned ? next_assignment(o, text + n + 1) : value + strlen(value);
        rc = set_or_show(r, o, equals, value, (size_t)(end - value));
        if (rc == 0 && ((*value != '\0' && n == 1) || o->type == SETTING_SHORTHAND))
            say_meant(r, o);
        if (rc == 0 && (end > value || (equals && takes_nothing(o))))
            rc = buf_printf(set, "%s%s", set->n > 0 ? ", " : "", o->name);
        text = end;
    }
    return rc;
}

static int set_or_show_all(struct repl *r, const char *text)
{
    struct buf set = {0};
    int rc = set_or_show_each(r, text, &set);
    if (rc != 0)
        rc = say_set_before(rc, &set);
    buf_release(&set);
    return rc;
}

int cmd_set(struct repl *r, const struct call *c)
{
    char *text = mem_sprintf("%.*s", (int)comment_start(c->text), c->text);
    const int rc = text == NULL ? ERR_NOMEM : set_or_show_all(r, text);
    mem_free(text);
    return rc;
}

static bool is_of_group(const struct setting *o, const char *group)
{
    return o->group != NULL && strcasecmp(o->group, group) == 0;
}

static bool group_is_there(const char *name)
{
    const struct setting *o;
    for (int i = 0; (o = settings_table_at(&options_table, i)) != NULL; i++)
        if (is_of_group(o, name))
            return true;
    return false;
}

/* Undo all that :set changed, of a group or (NULL) of all, and say what that is. The model stays
 * that which is loaded. */
static int reset_settings(struct repl *r, const char *group)
{
    struct buf names = {0}, later = {0};
    const struct setting *o;
    int rc = 0;
    for (int i = 0; (o = settings_table_at(&options_table, i)) != NULL && rc == 0; i++) {
        if (o == OPTION(device.model) || (group != NULL && !is_of_group(o, group)) ||
            settings_store_text(&r->options.store, ORIGIN_SET, o) == NULL)
            continue;
        rc = options_set(&r->options, o, ORIGIN_SET, NULL);
        if (rc == 0)
            rc = buf_printf(&names, "%s%s", names.n > 0 ? ", " : "", o->name);
        if (rc == 0 && r->model != NULL && o->holds_from == HOLDS_FROM_LOAD)
            rc = buf_printf(&later, "%s%s", later.n > 0 ? ", " : "", o->name);
    }
    switch_screen(r);
    if (rc == 0 && names.n == 0)
        wrap_say(stdout, term_dim(stdout), "[:set has changed nothing%s%s]",
                 group == NULL ? "" : " of the group ", group == NULL ? "" : group);
    else if (rc == 0)
        wrap_say(stdout, term_dim(stdout), "[reset: %s%s%s]", buf_text(&names),
                 later.n > 0 ? "; at the next :load: " : "", buf_text(&later));
    buf_release(&names);
    buf_release(&later);
    return rc;
}

/* Undo what :set did to one. */
static int reset_setting(struct repl *r, const char *name)
{
    int rc;
    const struct setting *o = find_called(r, name, strlen(name), false, &rc);
    if (o == NULL)
        return rc;
    const struct setting *meant =
        o->type == SETTING_SHORTHAND ? settings_table_find(&options_table, o->shorthand_for) : o;
    if (o == OPTION(device.model))
        return err_set(ERR_RANGE, "model stays as it is; `:load PATH` loads another");
    if ((rc = options_set(&r->options, o, ORIGIN_SET, NULL)) == 0)
        rc = apply_change(r, o);
    if (rc == 0)
        show_setting(r, meant);
    return rc;
}

int cmd_reset(struct repl *r, const struct call *c)
{
    if (c->n == 0)
        return reset_settings(r, NULL);
    if (strcasecmp(c->words[0], "text") != 0) /* of which there is a group too */
        return group_is_there(c->words[0]) ? reset_settings(r, c->words[0])
                                           : reset_setting(r, c->words[0]);
    repl_forget(r);
    wrap_say(stdout, term_dim(stdout), "[new text]");
    return 0;
}
