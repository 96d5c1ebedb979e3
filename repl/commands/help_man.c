#include "repl/commands/help_man.h"

#include "repl/commands/command.h"
#include "repl/commands/help_text.h"
#include "repl/settings/options.h"

#include <limits.h>
#include <string.h>

static const char HEAD[] =
    ".TH PRATTLE 1 \"\" prattle \"User Commands\"\n"
    ".ad l\n.nh\n"
    ".SH NAME\n"
    "prattle \\- GPT\\-2 on the CPU: generate, explain, train, evaluate\n"
    ".SH SYNOPSIS\n"
    ".B prattle\n.RI [ MODEL ]\n.RI [ OPTION \" ...]\\&\"\n.br\n"
    ".B prattle\n.RI [ MODEL ]\n.RI [ OPTION \" ...]\\&\"\n.B \\-p\n.I TEXT\n.br\n"
    ".B prattle\n.RI [ MODEL ]\n.RI [ OPTION \" ...]\\&\"\n<\n.I PROMPTS\n.br\n"
    ".B prattle\n.I COMMAND\n.RI [ ARGUMENT \" ...]\\&\"\n.RI [ OPTION \" ...]\\&\"\n"
    ".SH DESCRIPTION\n"
    "Without a command prattle opens a prompt, where the model continues what is typed. A line "
    "that\n"
    "begins with a colon is a command, as in\n.BR \":load gpt2\" ;\n"
    "two colons begin a prompt with a colon. With\n.B \\-p\nit answers one prompt and exits; from "
    "a\n"
    "pipe it answers each line.\n"
    ".PP\n"
    ".I MODEL\nis a Hugging Face folder, a .safetensors, .bin or .gguf file, a PEFT adapter,\n"
    ".B bundled\n(the model that ships, also used when no model is given), the name of a model of "
    "the "
    "Hugging Face Hub, as\n"
    ".BR gpt2 ,\nor\n"
    ".B random:gpt2\n(random weights of that shape).\n";

static const char TAIL[] =
    ".SH FILES\n"
    ".TP\n.I $XDG_CONFIG_HOME/prattle/settings.yaml\nSettings, one \"name: value\" per line.\n"
    ".TP\n.IR MODEL /prattle.yaml\nSettings that come with a model.\n"
    ".TP\n.IR MODEL /generation_config.json\nThe same, as transformers writes them.\n"
    ".TP\n.I $XDG_STATE_HOME/prattle/history\nLines typed at the prompt.\n"
    ".TP\n.I $XDG_STATE_HOME/prattle/evaluations.jsonl\nResults for\n.BR \"eval history\" .\n"
    ".TP\n.I $XDG_DATA_HOME/prattle\nFiles of evaluations.\n"
    ".TP\n.I $XDG_CACHE_HOME/prattle/data\nEncoded training texts.\n"
    ".TP\n.I $XDG_CACHE_HOME/prattle/panels\nPrepared weights of Hugging Face models.\n"
    ".TP\n.IR runs/ LABEL\nCheckpoints and metrics of a training run.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.BR XDG_CONFIG_HOME \", \" XDG_STATE_HOME \", \" XDG_DATA_HOME \", \" XDG_CACHE_HOME\n"
    "Folders of the files above; without them ~/.config, ~/.local/state, ~/.local/share and "
    "~/.cache.\n"
    ".TP\n.B NO_COLOR\nIf set, no colors unless the setting color is on.\n"
    ".TP\n.BR HF_HOME \", \" HF_HUB_CACHE\nFolder of the Hugging Face cache; unset: "
    "~/.cache/huggingface.\n"
    ".TP\n.BR HF_TOKEN \", \" HF_ENDPOINT \", \" HF_HUB_OFFLINE\n"
    "Token, address and use of the Hugging Face Hub, as for Python; so are the proxies "
    "(https_proxy, no_proxy).\n"
    ".TP\n.B PRATTLE_KERNELS\nInstruction set when the setting kernels is auto.\n"
    ".TP\n.B TERM\nIf dumb or unset, no escape sequences.\n"
    ".TP\n.B INPUTRC\nKey bindings, see\n.BR readline (3).\n"
    ".TP\n.BR LC_ALL \", \" LC_CTYPE \", \" LANG\nCharacter encoding of the terminal; UTF\\-8 if "
    "none "
    "is set.\n"
    ".TP\n.B TMPDIR\nFolder for temporary files of\n.BR bench ;\nunset: /var/tmp or /tmp.\n"
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nSuccess.\n"
    ".TP\n.B 1\nAn error, which standard error explains.\n"
    ".TP\n.B 130\nInterrupted by Ctrl\\-C.\n"
    ".TP\n.BI 128+ N\nEnded by signal\n.IR N .\n"
    ".SH EXAMPLES\n"
    ".nf\n"
    "prattle ./gpt2\n"
    "prattle ./gpt2 \\-p \"My name is\" \\-\\-temperature 0.7\n"
    "printf \\(aqMy name is\\enThe sea\\en\\(aq | prattle ./gpt2\n"
    "prattle train finetune data=my.txt steps=200\n"
    "prattle eval my.txt \\-\\-model ./gpt2\n"
    "prattle convert ./gpt2 gpt2.gguf\n"
    ".fi\n"
    ".SH SEE ALSO\n"
    ".BR gnuplot (1),\n.BR readline (3)\n"
    ".PP\n"
    "GPT\\-2's files: https://huggingface.co/openai\\-community/gpt2\n";

/* Text as troff prints it, and nothing of it a request; what stands between ` and ` in bold, and a
 * list without spaces may be broken behind its commas. */
static int add_escaped(struct buf *out, const char *text)
{
    bool bold = false, begins = true;
    int rc = 0;
    for (const char *p = text; *p != '\0' && rc == 0; begins = *p++ == '\n') {
        if (begins && (*p == '.' || *p == '\''))
            rc = buf_str(out, "\\&");
        if (rc != 0)
            break;
        if (*p == '\\')
            rc = buf_str(out, "\\e");
        else if (*p == '-')
            rc = buf_str(out, "\\-");
        else if (*p == '^' || *p == '~')
            rc = buf_str(out, *p == '^' ? "\\(ha" : "\\(ti");
        else if (*p == '`')
            rc = buf_str(out, (bold = !bold) ? "\\fB" : "\\fR");
        else if (*p == ',' && p[1] != ' ' && p[1] != '\n' && p[1] != '\0')
            rc = buf_str(out, ",\\:");
        else
            rc = buf_char(out, *p);
    }
    return rc;
}

static int add_font(struct buf *out, const char *font, const char *text)
{
    int rc = buf_str(out, font);
    if (rc == 0)
        rc = add_escaped(out, text);
    return rc == 0 ? buf_str(out, "\\fR") : rc;
}

static int add_heading(struct buf *out, const char **last, const char *heading)
{
    if (strcmp(*last, heading) == 0)
        return 0;
    *last = heading;
    return buf_printf(out, ".SS %s\n", heading);
}

/* Lines "NAME\tTEXT" as a list within an entry. */
static int add_forms(struct buf *out, const char *lines)
{
    int rc = lines == NULL ? 0 : buf_str(out, ".RS\n");
    for (const char *p = lines; p != NULL && *p != '\0' && rc == 0; p += *p == '\n') {
        struct buf name = {0}, text = {0};
        size_t n = strcspn(p, "\t"), m = strcspn(p + n + 1, "\n");
        rc = buf_add(&name, p, n);
        if (rc == 0)
            rc = buf_add(&text, p + n + 1, m);
        if (rc == 0)
            rc = buf_str(out, ".TP\n");
        if (rc == 0)
            rc = add_font(out, "\\fB", buf_text(&name));
        if (rc == 0)
            rc = buf_char(out, '\n');
        if (rc == 0)
            rc = add_escaped(out, buf_text(&text));
        if (rc == 0)
            rc = buf_char(out, '\n');
        buf_release(&name);
        buf_release(&text);
        p += n + 1 + m;
    }
    return rc != 0 || lines == NULL ? rc : buf_str(out, ".RE\n");
}

static int add_command(struct buf *out, const struct command *c)
{
    int rc = buf_str(out, ".TP\n\\fB");
    if (rc == 0)
        rc = buf_printf(out, "%s%s\\fR", c->flags & IN_REPL ? ":" : "", c->name);
    if (rc == 0 && *c->arguments != '\0')
        rc = buf_char(out, ' ');
    if (rc == 0 && *c->arguments != '\0')
        rc = add_font(out, "\\fI", c->arguments);
    if (rc == 0)
        rc = buf_char(out, '\n');
    if (rc == 0)
        rc = add_escaped(out, c->help);
    return rc == 0 ? buf_char(out, '\n') : rc;
}

static int add_commands(struct buf *out)
{
    const struct command *c;
    const char *group = "";
    int rc = buf_str(out, ".SH COMMANDS\nThose with a colon work at the prompt. These work in the "
                          "shell, without the colon:\n");
    bool first = true;
    for (int i = 0; rc == 0 && (c = command_at(i)) != NULL; i++) {
        if (!(c->flags & IN_SHELL))
            continue;
        rc = buf_printf(out, "%s\\fB%s\\fR", first ? "" : ",\n", c->name);
        first = false;
    }
    if (rc == 0)
        rc = buf_str(out, ".\n\\fBprattle help\\fR \\fICOMMAND\\fR shows the options and examples "
                          "of one.\n");
    for (int i = 0; rc == 0 && (c = command_at(i)) != NULL; i++) {
        rc = add_heading(out, &group, c->group);
        if (rc == 0)
            rc = add_command(out, c);
        if (rc == 0)
            rc = add_forms(out, c->forms);
    }
    return rc;
}

/* "-k, --top-k N" */
static int add_option_name(struct buf *out, const struct setting *o)
{
    char dashed[64];
    struct buf takes = {0};
    option_dashed(dashed, sizeof dashed, o->name);
    int rc = o->letter == 0 ? 0 : buf_printf(out, "\\fB\\-%c\\fR, ", o->letter);
    if (rc == 0)
        rc = add_font(out, "\\fB", dashed);
    if (rc == 0)
        rc = help_option_takes(&takes, o, INT_MAX);
    if (rc == 0 && takes.n > 0)
        rc = buf_char(out, ' ');
    if (rc == 0 && takes.n > 0)
        rc = add_font(out, "\\fI", buf_text(&takes));
    buf_release(&takes);
    return rc;
}

/* What it does, what it may be, and what is built in. */
static int describe_option(struct buf *out, const struct setting *o,
                           const struct settings *built_in)
{
    struct buf text = {0}, value = {0};
    int rc = buf_printf(&text, "%s.%s%s%s", o->help, o->more != NULL ? " " : "",
                        o->more != NULL ? o->more : "", o->more != NULL ? "." : "");
    if (rc == 0 && o->type != SETTING_STRING && o->type != SETTING_PATH &&
        o->type != SETTING_SHORTHAND && o->type != SETTING_CHOICE &&
        (rc = buf_str(&text, " Values: ")) == 0 && (rc = setting_range(o, &text)) == 0)
        rc = buf_char(&text, '.');
    if (rc == 0 && !o->call_only && (rc = setting_format(o, built_in, &value)) == 0 && value.n > 0)
        rc = buf_printf(&text, " Built in: %s.", buf_text(&value));
    if (rc == 0)
        rc = add_escaped(out, buf_text(&text));
    buf_release(&text);
    buf_release(&value);
    return rc == 0 ? buf_char(out, '\n') : rc;
}

static int add_options(struct buf *out)
{
    struct options fresh;
    const struct setting *o;
    const char *group = "";
    int rc = options_init(&fresh);
    if (rc != 0)
        return rc;
    rc = buf_str(out,
                 ".SH OPTIONS\nDashes and underscores are the same, \\-\\-no\\-\\fINAME\\fR "
                 "switches off. At the prompt \\fB:set\\fR changes all but the command options.\n"
                 "\\fBprattle help training\\fR lists the settings of a training run, which are "
                 "given as \\fIKEY\\fR=\\fIVALUE\\fR.\n");
    for (int i = 0; rc == 0 && (o = settings_table_at(&options_table, i)) != NULL; i++) {
        rc = add_heading(out, &group, o->group);
        if (rc == 0)
            rc = buf_str(out, ".TP\n");
        if (rc == 0)
            rc = add_option_name(out, o);
        if (rc == 0)
            rc = buf_char(out, '\n');
        if (rc == 0)
            rc = describe_option(out, o, &fresh.settings);
    }
    options_release(&fresh);
    return rc;
}

int help_man_page(struct buf *out)
{
    int rc = buf_str(out, HEAD);
    if (rc == 0)
        rc = add_commands(out);
    if (rc == 0)
        rc = add_options(out);
    return rc == 0 ? buf_str(out, TAIL) : rc;
}
