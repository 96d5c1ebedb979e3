#include "repl/commands/plain_words.h"

#include <string.h>

static const char *const words[][2] = {
    {"help", "help"},  {"/help", "help"}, {"?", "help"},     {"/?", "help"},  {"exit", "quit"},
    {"/exit", "quit"}, {"quit", "quit"},  {"/quit", "quit"}, {"bye", "quit"}, {"/bye", "quit"},
};

const char *plain_command(const char *line)
{
    size_t from = strspn(line, " \t\n"), n = strcspn(line + from, " \t\n");
    if (line[from + n + strspn(line + from + n, " \t\n")] != '\0')
        return NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i][0]) == n && strncmp(words[i][0], line + from, n) == 0)
            return words[i][1];
    return NULL;
}

const char *plain_prompt(const char *line)
{
    return plain_command(line + 2) != NULL ? line + 2 : line + 1;
}
