#include "repl/commands/shell_words.h"

#include "model/base/err.h"
#include "model/base/file.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* instead, at_prompt: NULL where nothing does it. model: the next word, a model's name, follows. */
static const struct shell_word {
    const char *word, *instead, *at_prompt;
    bool model, prompt;
} shell_words[] = {
    {"run", "prattle", "load MODEL", true, true},
    {"chat", "prattle", "load MODEL", true, true},
    {"pull", "prattle hub get", "hub get MODEL", true, false},
    {"download", "prattle hub get", "hub get MODEL", true, false},
    {"rm", "prattle hub remove", "hub remove MODEL", true, false},
    {"list", "prattle hub", "hub", false, false},
    {"ls", "prattle hub", "hub", false, false},
    {"models", "prattle hub", "hub", false, false},
    {"quantize", "prattle convert MODEL FILE.gguf --dtype q8", "convert MODEL FILE.gguf --dtype q8",
     false, false},
    {"tokenize", "prattle tokens", "tokens", false, false},
    {"detokenize", "prattle tokens --ids 1,2,3", NULL, false, false},
    {"complete", "prattle generate", NULL, false, false},
    {"serve", NULL, NULL, false, false},
    {"server", NULL, NULL, false, false},
};

static const struct shell_word *find_shell_word(const char *word)
{
    for (size_t i = 0; i < sizeof shell_words / sizeof *shell_words; i++)
        if (strcmp(shell_words[i].word, word) == 0)
            return &shell_words[i];
    return NULL;
}

bool shell_word_is(const char *word)
{
    return find_shell_word(word) != NULL;
}

const char *shell_word_at_prompt(const char *word)
{
    const struct shell_word *w = find_shell_word(word);
    return w == NULL ? NULL : w->at_prompt;
}

int shell_word_refuse(char *const *words, int n)
{
    const struct shell_word *w = find_shell_word(words[0]);
    char shown[256];
    if (w->instead == NULL)
        return err_set(ERR_MISSING,
                       "prattle has no server; `prattle --jsonl` reads prompts as JSON "
                       "lines from a pipe and answers them");
    const char *model = n > 1 ? file_word(shown, sizeof shown, words[1]) : "MODEL";
    return err_set(ERR_MISSING, "there is no command %s; did you mean `%s%s%s%s`?", w->word,
                   w->instead, w->model ? " " : "", w->model ? model : "",
                   w->prompt && n > 2 ? " -p PROMPT" : "");
}
