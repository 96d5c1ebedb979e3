#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/words.h"
#include "repl/repl.h"

#include <string.h>

enum { MAX_NAMES = 64, BOTH = IN_REPL | IN_SHELL };

/* clang-format off */
static const struct command table[] = {
{.name = "load", .arguments = "[PATH]", .max_words = 1, .flags = IN_REPL, .completes = "path bundled", .run = cmd_load,
 .help = "load a model: a Hugging Face folder, a .gguf file, bundled, random:gpt2; without PATH the setting's"},
{.name = "model", .arguments = "", .flags = BOTH | NEEDS_MODEL, .run = cmd_model,
 .help = "show the model's shape, where it came from and what it takes"},
{.name = "save", .arguments = "DIR|FILE.gguf", .min_words = 1, .max_words = 1, .flags = IN_REPL | NEEDS_MODEL, .completes = "path",
 .options = "force compat", .run = cmd_save,
 .help = "write the model as a Hugging Face folder or as GGUF, in its own precision unless --dtype"},
{.name = "convert", .arguments = "IN OUT", .min_words = 2, .max_words = 2, .flags = BOTH, .completes = "path",
 .options = "force compat", .run = cmd_convert,
 .help = "read one model file or folder, write another; tensors bit for bit unless --dtype"},
{.name = "set", .arguments = "[NAME [VALUE]]", .flags = IN_REPL | TAKES_TEXT, .completes = "setting", .run = cmd_set,
 .help = "show all settings or one of them, or change it"},
{.name = "reset", .arguments = "[text]", .max_words = 1, .flags = IN_REPL, .completes = "text", .run = cmd_reset,
 .help = "take back what :set changed; text: forget the text in progress"},
{.name = "regen", .arguments = "", .flags = IN_REPL | NEEDS_MODEL, .run = cmd_regen,
 .help = "answer the last prompt once more, with the next draw"},
{.name = "undo", .arguments = "", .flags = IN_REPL | NEEDS_MODEL, .run = cmd_undo,
 .help = "take back the last prompt and its answer"},
{.name = "continue", .arguments = "", .flags = IN_REPL | NEEDS_MODEL, .run = cmd_continue,
 .help = "go on with the text"},
{.name = "why", .arguments = "", .flags = IN_REPL | NEEDS_MODEL, .run = cmd_why,
 .help = "explain the last answer: each token, how likely it was, its rank, the alternatives"},
{.name = "tokens", .arguments = "[TEXT]", .flags = BOTH | TAKES_TEXT, .run = cmd_tokens,
 .help = "show the pieces and ids of TEXT, or of the text so far; in the shell the ids, of standard input without TEXT"},
{.name = "logits", .arguments = "[TEXT]", .flags = IN_SHELL | NEEDS_MODEL | TAKES_TEXT,
 .options = "ids all out force", .run = cmd_logits,
 .help = "what the model expects next: the likeliest tokens, and all logits as .npy"},
{.name = "generate", .arguments = "[TEXT]", .flags = IN_SHELL | NEEDS_MODEL | TAKES_TEXT,
 .options = "ids output", .run = cmd_generate,
 .help = "answer a text or ids once, as text or ids"},
{.name = "session", .arguments = "save|load FILE", .min_words = 2, .max_words = 2, .flags = IN_REPL | NEEDS_MODEL, .completes = "save load then path",
 .options = "force", .run = cmd_session,
 .help = "keep text, settings and cache in a file, or go on from one"},
{.name = "batch", .arguments = "FILE [OUT]", .min_words = 1, .max_words = 2, .flags = BOTH | NEEDS_MODEL, .completes = "path",
 .options = "force", .run = cmd_batch,
 .help = "answer each line of FILE, a line each, as piped prompts are"},
{.name = "tokenizer", .arguments = "train TEXT OUT", .min_words = 3, .max_words = 3, .flags = BOTH, .completes = "train then path",
 .options = "vocab_size min_frequency force", .run = cmd_tokenizer,
 .help = "learn a byte-level BPE from a text file or a folder of them, into the folder OUT"},
{.name = "train", .arguments = "CONFIG [KEY=VALUE ...]|show|status [FOLDER]|resume [FOLDER]", .min_words = 1, .max_words = -1, .flags = BOTH,
 .completes = "show status resume preset path then run_setting path ; show preset path run_setting ; status path", .options = "plan", .run = cmd_train,
 .help = "train the model in memory by a preset or file; Ctrl-C pauses, resume goes on, there or from a run's folder; status tells of it, or of what another process has open"},
{.name = "lora", .arguments = "[load DIR|save DIR|on|off|merge|drop]", .max_words = 2, .flags = IN_REPL | NEEDS_MODEL,
 .completes = "load save on off merge drop then path", .options = "force", .run = cmd_lora,
 .help = "a LoRA adapter beside the model, in PEFT's files: show, read or write it, switch it on and off, make it part of the weights, take it away"},
{.name = "plot", .arguments = "[CURVE ...] [over=AXIS] [FILE.svg|FILE.png] [FOLDER]", .max_words = -1, .flags = BOTH,
 .completes = "loss validation_loss learning_rate grad_norm accuracy validation_accuracy tokens_per_s samples_per_s skipped loss_scale over=tokens over=hours over=machine_hours over=epoch path", .options = "force", .run = cmd_plot,
 .help = "curves of the run, or of another's folder: loss and validation_loss, or any figure of its metrics.jsonl; a file through gnuplot"},
{.name = "data", .arguments = "info PATH", .min_words = 2, .max_words = 2, .flags = BOTH, .completes = "info then path", .run = cmd_data,
 .help = "what training would read from a text, a folder, .jsonl or .bin: documents, tokens, ids, how it begins"},
{.name = "eval", .arguments = "WHAT [FILE]", .min_words = 1, .max_words = 3, .flags = BOTH, .completes = "wikitext lambada ptb text choice kl history path then path",
 .options = "limit strict like other_dtype json format all", .run = cmd_eval,
 .help = "measure the model: wikitext, lambada, ptb, text, choice, kl MODEL, or a file of yours; history: what came out so far"},
{.name = "bench", .arguments = "[NAME|FILE ...]", .max_words = -1, .flags = BOTH, .options = "format",
 .completes = "limits decode prefill score batch loop stream sampling tokenizer start train", .run = cmd_bench,
 .help = "measure this machine and model, each figure beside its limit; train=4x256: training on so many windows of such a length; FILE is text for the tokenizer's"},
{.name = "devices", .arguments = "", .flags = BOTH, .run = cmd_devices,
 .help = "show what runs where: threads, instruction set, memory by part"},
{.name = "history", .arguments = "[N]", .max_words = 1, .flags = IN_REPL, .run = cmd_history,
 .help = "show the last N lines typed, 20 without N"},
{.name = "help", .arguments = "[NAME]", .max_words = 1, .flags = BOTH, .completes = "command setting systems presets training",
 .options = "format", .run = cmd_help,
 .help = "list the commands, or explain a command or setting; systems: what other programs' options are here; presets, training: runs"},
{.name = "quit", .arguments = "", .flags = IN_REPL, .run = cmd_quit,
 .help = "leave"},
};
/* clang-format on */

const struct command *command_at(int i)
{
    return i >= 0 && i < (int)(sizeof table / sizeof table[0]) ? &table[i] : NULL;
}

const struct command *command_find(const char *name)
{
    const struct command *c;
    for (int i = 0; (c = command_at(i)) != NULL && strcmp(c->name, name) != 0; i++)
        ;
    return c;
}

const char *command_nearest(const char *name, bool shell)
{
    const char *names[MAX_NAMES];
    size_t n = 0;
    const struct command *c;
    for (int i = 0; (c = command_at(i)) != NULL && n < MAX_NAMES; i++)
        if (c->flags & (shell ? IN_SHELL : IN_REPL))
            names[n++] = c->name;
    return words_nearest(name, names, n);
}

static int say_unknown(const char *name)
{
    const char *near = command_nearest(name, false);
    char *shown = file_visible(name);
    if (near != NULL)
        err_set(ERR_MISSING, "there is no command :%s; did you mean :%s?", shown, near);
    else
        err_set(ERR_MISSING,
                "there is no command :%s; :help lists them, :: begins a text with :", shown);
    mem_free(shown);
    return ERR_MISSING;
}

static bool named_in(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; p != NULL && *p != '\0'; p += strcspn(p, " "), p += *p == ' ')
        if (strcspn(p, " ") == n && strncmp(p, name, n) == 0)
            return true;
    return false;
}

int command_check_options(const struct repl *r, const char *name, const char *allowed)
{
    const struct setting *o;
    for (int i = 0; (o = option_at(i)) != NULL; i++)
        if (o->call_only && options_origin(&r->options, o) != ORIGIN_BUILT_IN &&
            !named_in(allowed, o->name))
            return err_set(ERR_UNSUPPORTED, "%s does not take --%s", name, o->name);
    return 0;
}

static int usage(const struct command *c, bool shell)
{
    return err_set(ERR_RANGE, "usage: %s%s%s%s", shell ? "prattle " : ":", c->name,
                   *c->arguments ? " " : "", c->arguments);
}

static int run(struct repl *r, const struct command *c, const struct call *call)
{
    const char *name = call->name;
    bool fits = (c->flags & TAKES_TEXT) ||
                (call->n >= c->min_words && (c->max_words < 0 || call->n <= c->max_words));
    int rc = command_check_options(r, name, c->options);
    if (rc == 0 && !fits)
        rc = usage(c, call->shell);
    if (rc == 0 && (c->flags & NEEDS_MODEL))
        rc = repl_need_model(r);
    return rc == 0 ? c->run(r, call) : rc;
}

/*
 * Cut text into words in place: blanks separate, "..." and '...' keep them, \ takes the
 * next character as it is outside of '...'. Returns how many, -1 after an error.
 */
static int split(char *text, char **words, int max)
{
    int n = 0;
    for (char *p = text;;) {
        p += strspn(p, " \t\n");
        if (*p == '\0')
            return n;
        if (n == max)
            return err_set(ERR_RANGE, "more than %d words in one command", max), -1;
        char *to = words[n++] = p, quote = '\0';
        for (; *p != '\0' && (quote != '\0' || strchr(" \t\n", *p) == NULL); p++) {
            if (*p == quote && quote != '\0')
                quote = '\0';
            else if (quote == '\0' && (*p == '"' || *p == '\''))
                quote = *p;
            else if (*p == '\\' && quote != '\'' && p[1] != '\0')
                *to++ = *++p;
            else
                *to++ = *p;
        }
        if (quote != '\0')
            return err_set(ERR_FORMAT, "a quote (%c) is not closed", quote), -1;
        bool last = *p == '\0';
        *to = '\0';
        if (last)
            return n;
        p++;
    }
}

int command_run_line(struct repl *r, const char *line)
{
    char *words[MAX_NAMES];
    size_t name_bytes = strcspn(line, " \t\n");
    char *name = mem_sprintf("%.*s", (int)name_bytes, line), *copy = mem_strdup(line + name_bytes);
    const struct command *c = name == NULL ? NULL : command_find(name);
    int rc = name == NULL || copy == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && c == NULL)
        rc = say_unknown(name);
    else if (rc == 0 && !(c->flags & IN_REPL))
        rc = err_set(ERR_UNSUPPORTED, "%s is for the shell: prattle %s %s", name, name,
                     c->arguments);
    if (rc == 0) {
        const char *text = line + name_bytes;
        struct call call = {.name = name, .text = text + (*text != '\0'), .words = words};
        if (!(c->flags & TAKES_TEXT)) {
            call.n = split(copy, words, MAX_NAMES);
            rc = call.n < 0 ? err_last() : options_take(&r->options, ORIGIN_CALL, words, &call.n);
        }
        if (rc == 0)
            rc = run(r, c, &call);
        options_clear(&r->options, ORIGIN_CALL);
    }
    mem_free(name);
    mem_free(copy);
    return rc;
}

int command_run_words(struct repl *r, char **words, int n)
{
    const struct command *c = command_find(words[0]);
    struct buf text = {0};
    int rc = 0;
    for (int i = 1; i < n && rc == 0; i++) {
        rc = i > 1 ? buf_char(&text, ' ') : 0;
        if (rc == 0)
            rc = buf_str(&text, words[i]);
    }
    struct call call = {words[0], buf_text(&text), words + 1, n - 1, true};
    if (rc == 0)
        rc = run(r, c, &call);
    buf_release(&text);
    return rc;
}
