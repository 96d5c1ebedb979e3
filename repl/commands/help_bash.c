/*
 * A function that needs nothing but bash 4, and the program itself for the names of downloaded
 * models: it joins again what bash breaks at = and :, finds the command, and offers words and files
 * by the columns `completes`, `options` and `words` of the tables, as Tab does at the prompt
 * (complete.c).
 */
#include "repl/commands/help_bash.h"

#include "repl/commands/command.h"
#include "repl/commands/help_text.h"
#include "repl/settings/options.h"
#include "train/config/presets.h"
#include "train/config/run_config.h"
#include "train/data/published.h"

#include <stdio.h>
#include <string.h>

static const char HEAD[] = "# bash completion for prattle; made by: prattle help --format bash\n"
                           "\n"
                           "# What an option or a run's setting may be: words, files.\n";

static const char BODY[] =
    "\n"
    "# The models of the Hugging Face cache, in place of the word @cached.\n"
    "_prattle_cached()\n"
    "{\n"
    "    local name rest\n"
    "    words=${words/@cached/}\n"
    "    while IFS=, read -r name rest; do\n"
    "        [[ $name == name || $name == */*/* ]] || words+=\" $name\"\n"
    "    done < <(\"${COMP_WORDS[0]:-prattle}\" hub --format csv 2>/dev/null)\n"
    "}\n"
    "\n"
    "# Words and files that begin with $1.\n"
    "_prattle_offer()\n"
    "{\n"
    "    local part=$1 line\n"
    "    COMPREPLY=()\n"
    "    [[ $words == *@cached* ]] && _prattle_cached\n"
    "    while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -W \"$words\" -- "
    "\"$part\")\n"
    "    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=:] ]] && compopt -o nospace "
    "2>/dev/null\n"
    "    if [[ -n $files ]]; then\n"
    "        [[ ${#COMPREPLY[@]} -eq 0 ]] && compopt -o filenames 2>/dev/null\n"
    "        while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -f -- "
    "\"$part\")\n"
    "    fi\n"
    "    # Bash replaces what stands behind the last :, where it breaks words there.\n"
    "    if [[ $part == *:* && $COMP_WORDBREAKS == *:* ]]; then\n"
    "        line=${part%\"${part##*:}\"}\n"
    "        COMPREPLY=(\"${COMPREPLY[@]#\"$line\"}\")\n"
    "    fi\n"
    "    return 0\n"
    "}\n"
    "\n"
    "# What may stand behind KEY= in an argument: $1 COMMAND:FIRST_ARGUMENT, $2 KEY.\n"
    "_prattle_keyed()\n"
    "{\n"
    "    local word all=\n"
    "    _prattle_arguments \"$1\"\n"
    "    for word in $words; do\n"
    "        [[ $word == \"$2=\"* ]] && all+=\" ${word#*=}\"\n"
    "    done\n"
    "    words=$all files=\n"
    "}\n"
    "\n"
    "_prattle()\n"
    "{\n"
    "    local -a typed=()\n"
    "    local i word words= files= open= command= first= cur\n"
    "    # Bash breaks words at = and :, here a=b and random:gpt2 are one.\n"
    "    for ((i = 1; i <= COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ $word == [=:]* && ${#typed[@]} -gt 0 ]] || [[ -n $open && -n $word ]]; then\n"
    "            typed[${#typed[@]} - 1]+=$word\n"
    "        elif [[ -z $open ]]; then\n"
    "            typed+=(\"$word\")\n"
    "        fi\n"
    "        [[ $word == [=:] ]] && open=1 || open=\n"
    "    done\n"
    "    cur=${typed[${#typed[@]} - 1]}\n"
    "    # The command, and its first argument: options and their values are not arguments.\n"
    "    for ((i = 0; i < ${#typed[@]} - 1; i++)); do\n"
    "        word=${typed[i]}\n"
    "        if [[ $word == -* ]]; then\n"
    "            _prattle_values \"$word\"\n"
    "            [[ $word != *=* && -n $words$files && $words != 'on off' ]] && ((i++))\n"
    "        elif [[ -z $command ]]; then\n"
    "            command=$word\n"
    "        elif [[ -z $first ]]; then\n"
    "            first=$word\n"
    "        fi\n"
    "    done\n"
    "    words= files=\n"
    "    if [[ $cur == random:* ]]; then\n"
    "        words='random:gpt2 random:gpt2-medium random:gpt2-large random:gpt2-xl'\n"
    "        _prattle_offer \"$cur\"\n"
    "        return\n"
    "    fi\n"
    "    if [[ $cur == *=* ]]; then\n"
    "        _prattle_values \"${cur%%=*}\" \"$command\"\n"
    "        [[ -n $words$files || -z $command ]] || _prattle_keyed \"$command:$first\" "
    "\"${cur%%=*}\"\n"
    "        [[ $COMP_WORDBREAKS == *=* ]] && cur=${cur#*=}\n"
    "        _prattle_offer \"$cur\"\n"
    "        return\n"
    "    fi\n"
    "    if [[ ${#typed[@]} -gt 1 && ${typed[${#typed[@]} - 2]} == -* ]]; then\n"
    "        _prattle_values \"${typed[${#typed[@]} - 2]}\"\n"
    "        if [[ -n $words$files && ${typed[${#typed[@]} - 2]} != *=* && $words != 'on off' ]]; "
    "then\n"
    "            _prattle_offer \"$cur\"\n"
    "            return\n"
    "        fi\n"
    "        words= files=\n"
    "    fi\n"
    "    if [[ $cur == -* ]]; then\n"
    "        _prattle_options \"$command\"\n"
    "    elif [[ -z $command ]]; then\n"
    "        _prattle_first\n"
    "    else\n"
    "        _prattle_arguments \"$command:$first\"\n"
    "    fi\n"
    "    _prattle_offer \"$cur\"\n"
    "}\n"
    "complete -F _prattle prattle\n";

/* Names from the tables, as words for compgen -W: each is followed by a space. */
static int add_choices(struct buf *out, const struct setting *o)
{
    int rc = 0;
    if (o->type == SETTING_BOOL)
        rc = buf_str(out, "on off ");
    for (int i = 0; rc == 0 && o->type == SETTING_CHOICE && o->choices[i] != NULL; i++)
        rc = buf_printf(out, "%.*s ", (int)strcspn(o->choices[i], "|"), o->choices[i]);
    for (int i = 0; rc == 0 && o->words != NULL && o->words(i) != NULL; i++)
        rc = buf_printf(out, "%s ", o->words(i));
    return rc;
}

/* "    --top-k | --top_k | -k) words='...' files=1 ;;" with PATTERN given. */
static int add_value_case(struct buf *out, const char *pattern, const struct setting *o)
{
    struct buf words = {0};
    const bool files = o->type == SETTING_PATH || o->paths;
    int rc = add_choices(&words, o);
    if (rc == 0 && (o == OPTION(device.model) || o == RUN_ROW(model.init)))
        rc = buf_str(&words, "bundled random: @cached ");
    /* A text with nothing to offer is still a value: a word that no file begins with. */
    const bool takes = o->type != SETTING_BOOL && o->type != SETTING_SHORTHAND;
    if (rc == 0 && (words.n > 0 || takes))
        rc = buf_printf(out, "    %s) words='%.*s' files=%s ;;\n", pattern,
                        words.n > 0 ? (int)words.n - 1 : 1, words.n > 0 ? buf_text(&words) : " ",
                        files ? "1" : "");
    buf_release(&words);
    return rc;
}

static int add_option_values(struct buf *out)
{
    const struct setting *o;
    int rc = 0;
    for (int i = 0; rc == 0 && (o = settings_table_at(&options_table, i)) != NULL; i++) {
        char dashed[64], pattern[160];
        option_dashed(dashed, sizeof dashed, o->name);
        int n = snprintf(pattern, sizeof pattern, "%s | --%s", dashed, o->name);
        if (o->letter != 0)
            snprintf(pattern + n, sizeof pattern - (size_t)n, " | -%c", o->letter);
        rc = add_value_case(out, pattern, o);
    }
    return rc;
}

static int add_run_values(struct buf *out)
{
    const struct setting *row;
    int rc = 0;
    for (int i = 0; rc == 0 && (row = settings_table_at(&run_table, i)) != NULL; i++) {
        char pattern[160];
        snprintf(pattern, sizeof pattern, "%s | %s.%s", row->name, row->group, row->name);
        rc = add_value_case(out, pattern, row);
    }
    return rc;
}

static int add_values(struct buf *out)
{
    int rc = buf_str(out, "_prattle_values()\n{\n    words= files=\n    case $1 in\n");
    if (rc == 0)
        rc = add_option_values(out);
    if (rc == 0)
        rc = buf_str(out, "    esac\n    [[ ${2-} == train ]] || return 0\n    case $1 in\n");
    if (rc == 0)
        rc = add_run_values(out);
    return rc == 0 ? buf_str(out, "    esac\n    return 0\n}\n") : rc;
}

static int add_dashed(struct buf *out, const char *name)
{
    char dashed[64];
    option_dashed(dashed, sizeof dashed, name);
    return buf_printf(out, "%s ", dashed);
}

/* Of a setting that is on from the beginning, what turns it off. */
static int add_off(struct buf *out, const struct setting *o)
{
    char dashed[64];
    struct settings built_in;
    settings_init(&built_in); /* borrows its texts */
    if (o->type != SETTING_BOOL || !*(const bool *)((const char *)&built_in + o->offset))
        return 0;
    option_dashed(dashed, sizeof dashed, o->name);
    return buf_printf(out, "--no%s ", dashed + 1);
}

/* Of every command all settings, and its own options. */
static int add_options(struct buf *out)
{
    const struct setting *o;
    const struct command *c;
    int rc = buf_str(out, "\n_prattle_options()\n{\n    words='");
    for (int i = 0; rc == 0 && (o = settings_table_at(&options_table, i)) != NULL; i++) {
        if (o->call_only && o != OPTION(call.help))
            continue;
        rc = add_dashed(out, o->name);
        if (rc == 0)
            rc = add_off(out, o);
    }
    if (rc == 0)
        rc = buf_str(out, "'\n    case $1 in\n");
    for (int i = 0; rc == 0 && (c = command_at(i)) != NULL; i++) {
        if (!(c->flags & IN_SHELL) || c->options == NULL)
            continue;
        rc = buf_printf(out, "    %s) words+='", c->name);
        for (const char *p = c->options; rc == 0 && *p != '\0'; p += *p == ' ') {
            char name[32];
            int n = (int)strcspn(p, " ");
            snprintf(name, sizeof name, "%.*s", n, p);
            rc = add_dashed(out, name);
            p += n;
        }
        if (rc == 0)
            rc = buf_str(out, "' ;;\n");
    }
    return rc == 0 ? buf_str(out, "    '') words+='--prompt --version' ;;\n    esac\n}\n") : rc;
}

static int add_commands(struct buf *out, unsigned where)
{
    const struct command *c;
    int rc = 0;
    for (int i = 0; rc == 0 && (c = command_at(i)) != NULL; i++)
        if (c->flags & where)
            rc = buf_printf(out, "%s ", c->name);
    return rc;
}

/* What a word of the column `completes` stands for; *files where it is files. */
static int add_kind(struct buf *out, const struct command *c, const char *kind, bool *files)
{
    const struct setting *o;
    int rc = 0;
    if (strcmp(kind, "path") == 0)
        *files = true;
    else if (strcmp(kind, "command") == 0)
        rc = add_commands(out, IN_REPL | IN_SHELL);
    else if (strcmp(kind, "preset") == 0)
        for (const struct run_preset *p = run_presets; rc == 0 && p->name != NULL; p++)
            rc = buf_printf(out, "%s ", p->name);
    else if (strcmp(kind, "setting") == 0)
        for (int i = 0; rc == 0 && (o = settings_table_at(&options_table, i)) != NULL; i++)
            rc = buf_printf(out, "%s ", o->name);
    else if (strcmp(kind, "run_setting") == 0)
        for (int i = 0; rc == 0 && (o = settings_table_at(&run_table, i)) != NULL; i++)
            rc = buf_printf(out, "%s= ", o->name);
    else if (strcmp(kind, "word") == 0)
        for (int i = 0; rc == 0 && c->words(i) != NULL; i++)
            rc = buf_printf(out, "%s ", c->words(i));
    else if (strcmp(kind, "published") == 0)
        for (int i = 0; rc == 0 && published_at(i) != NULL; i++)
            rc = buf_printf(out, "%s ", published_at(i)->name);
    else if (strcmp(kind, "random") == 0)
        rc = buf_str(out, "random: ");
    else
        rc = buf_printf(out, strcmp(kind, "cached") == 0 ? "@%s " : "%s ", kind);
    return rc;
}

/* "train:status) words='' files=1 ;;" of the kinds up to "then", ";" or the end, which p is left
 * at. */
static int add_arguments_case(struct buf *out, const struct command *c, const char *pattern,
                              const char **p)
{
    struct buf words = {0};
    bool files = false;
    int rc = 0;
    while (**p != '\0' && rc == 0) {
        char kind[32];
        int n = (int)strcspn(*p, " ");
        snprintf(kind, sizeof kind, "%.*s", n, *p);
        if (strcmp(kind, "then") == 0 || strcmp(kind, ";") == 0)
            break;
        rc = add_kind(&words, c, kind, &files);
        *p += n + ((*p)[n] == ' ');
    }
    if (rc == 0)
        rc = buf_printf(out, "    %s) words='%s' files=%s ;;\n", pattern, buf_text(&words),
                        files ? "1" : "");
    buf_release(&words);
    return rc;
}

/* The first argument, those behind a certain first one, and those behind any. */
static int add_command_arguments(struct buf *out, const struct command *c)
{
    char pattern[80];
    const char *first = c->completes, *rest = strstr(first, " then "), *p;
    snprintf(pattern, sizeof pattern, "%s:", c->name);
    int rc = add_arguments_case(out, c, pattern, &first);
    p = rest == NULL ? c->completes : rest + strlen(" then ");
    for (const char *at = strstr(p, " ; "); rc == 0 && at != NULL; at = strstr(at, " ; ")) {
        at += strlen(" ; ");
        int n = (int)strcspn(at, " ");
        snprintf(pattern, sizeof pattern, "%s:%.*s", c->name, n, at);
        at += n + 1;
        rc = add_arguments_case(out, c, pattern, &at);
        if (at > p && at[-1] == ' ')
            at--;
    }
    snprintf(pattern, sizeof pattern, "%s:*", c->name);
    return rc == 0 ? add_arguments_case(out, c, pattern, &p) : rc;
}

static int add_arguments(struct buf *out)
{
    const struct command *c;
    int rc = buf_str(out, "\n# COMMAND:FIRST_ARGUMENT\n_prattle_arguments()\n{\n    case $1 in\n");
    for (int i = 0; rc == 0 && (c = command_at(i)) != NULL; i++)
        if ((c->flags & IN_SHELL) && c->completes != NULL)
            rc = add_command_arguments(out, c);
    return rc == 0 ? buf_str(out, "    esac\n}\n") : rc;
}

static int add_first(struct buf *out)
{
    int rc = buf_str(out, "\n# A command, or a model.\n_prattle_first()\n{\n    words='");
    if (rc == 0)
        rc = add_commands(out, IN_SHELL);
    return rc == 0 ? buf_str(out, "bundled random: @cached' files=1\n}\n") : rc;
}

int help_bash_completion(struct buf *out)
{
    int rc = buf_str(out, HEAD);
    if (rc == 0)
        rc = add_values(out);
    if (rc == 0)
        rc = add_options(out);
    if (rc == 0)
        rc = add_arguments(out);
    if (rc == 0)
        rc = add_first(out);
    return rc == 0 ? buf_str(out, BODY) : rc;
}
