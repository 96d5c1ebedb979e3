#include "repl/commands/plain_words.h"

#include "repl/commands/command.h"
#include "repl/commands/other_words.h"

#include <stdio.h>
#include <string.h>

static const char *const words[][2] = {
    {"help", "help"},  {"/help", "help"}, {"?", "help"},     {"/?", "help"},  {"exit", "quit"},
    {"/exit", "quit"}, {"quit", "quit"},  {"/quit", "quit"}, {"bye", "quit"}, {"/bye", "quit"},
};

static const char *command_of(const char *word)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], word) == 0)
            return words[i][1];
    return NULL;
}

bool plain_command(char out[PLAIN_COMMAND_BYTES], const char *line)
{
    char word[2][PLAIN_COMMAND_BYTES / 2], more;
    const int n = sscanf(line, " %31s %31s %c", word[0], word[1], &more);
    const char *command = n < 1 || n > 2 ? NULL : command_of(word[0]);
    if (command == NULL || (n == 2 && (strcmp(command, "help") != 0 ||
                                       command_called(word[1] + (word[1][0] == ':')) == NULL)))
        return false;
    snprintf(out, PLAIN_COMMAND_BYTES, "%s%s%s", command, n == 2 ? " " : "", n == 2 ? word[1] : "");
    return true;
}

const char *plain_colon(const char *line)
{
    char name[PLAIN_COMMAND_BYTES];
    const char *colon = line + strspn(line, " \t");
    if (colon[0] != ':' || colon[1] == ':')
        return NULL;
    return colon == line || (sscanf(colon + 1, "%63s", name) == 1 && command_called(name) != NULL)
               ? colon + 1
               : NULL;
}

const char *plain_slash(const char *line)
{
    char name[PLAIN_COMMAND_BYTES];
    if (line[0] != '/' || strchr(" \t\n", line[1]) != NULL || sscanf(line + 1, "%63s", name) != 1)
        return NULL;
    const struct command *c = command_called(name);
    return (c != NULL && (c->flags & IN_REPL)) || other_word_command(name) != NULL ? line + 1
                                                                                   : NULL;
}

const char *plain_prompt(const char *line)
{
    char command[PLAIN_COMMAND_BYTES];
    return plain_command(command, line + 2) || plain_slash(line + 2) != NULL ? line + 2 : line + 1;
}
