#include "repl/commands/other_words.h"

#include "repl/commands/shell_words.h"
#include "train/config/run_config.h"
#include "train/eval/eval.h"

#include <stdio.h>
#include <string.h>

enum { COMMAND_BYTES = 80 };

static const char *const others[][2] = {
    {"clear", "reset text"},
    {"new", "reset text"},
    {"retry", "regen"},
    {"open", "load"},
    {"show", "model"},
    {"info", "model"},
    {"params", "set"},
    {"settings", "set"},
    {"options", "set"},
    {"config", "train show"},
    {"status", "train status"},
    {"resume", "train resume"},
    {"finetune", "train finetune data=FILE"},
    {"fine-tune", "train finetune data=FILE"},
    {"perplexity", "eval wikitext"},
    {"memory", "devices"},
};

const char *other_word_command(const char *word)
{
    static char command[COMMAND_BYTES];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i][0], word) == 0)
            return others[i][1];
    const char *at_prompt = shell_word_at_prompt(word);
    if (at_prompt != NULL)
        return at_prompt;
    const struct eval *e = eval_find(word);
    if (e != NULL)
        snprintf(command, sizeof command, "eval %s", e->name);
    else if (run_config_is_preset(word))
        snprintf(command, sizeof command, "train %s", word);
    return e != NULL || run_config_is_preset(word) ? command : NULL;
}
