#ifndef PRATTLE_REPL_COMMANDS_COMMAND_H
#define PRATTLE_REPL_COMMANDS_COMMAND_H
/*
 * Commands. One row of the table (table.c) serves the prompt (":tokens My name"),
 * the shell ("prattle tokens My name"), completion, :help, --help and COMMANDS.md. The table
 * stands above the commands, some of which list it: main says which it is.
 */
#include <stdbool.h>

struct repl;

/* One use of a command. */
struct call {
    const char *name;
    const char *text; /* all behind the name as typed; in the shell the words joined by spaces */
    char **words;     /* [n], quotes and options taken out */
    int n;
    bool shell;
};

enum command_flags {
    IN_REPL = 1,
    IN_SHELL = 2,
    NEEDS_MODEL = 4,     /* loads the model of the settings in the shell */
    NEEDS_TOKENIZER = 8, /* and it has one */
    TAKES_TEXT = 16,     /* text is taken as it is: no quotes, no options in it */
    TAKES_COMMAND = 64,  /* behind its own words is another command, with that one's options */
    ANSWERS = 512,       /* it answers prompts: settings of an answer mean something to it */
    BY_RANKS = 128,      /* the processes of a launcher do it together; others rank 0 does */
    LISTS = 256, /* a list is what it prints: at the prompt it stops where the screen is full */
    MINOR = 32   /* of the first page of help it has only the name */
};

struct command {
    const char *name;
    const char *also;         /* other names at the prompt, "q|exit"; NULL: none */
    const char *group;        /* heading in help; a group's rows stand together */
    const char *arguments;    /* "IN OUT", "FILE [OUT]" */
    int min_words, max_words; /* not looked at with TAKES_TEXT; max -1: any */
    unsigned flags;
    /* "path", "cached" (models of the Hugging Face cache), "random" (random:gpt2 and the like),
     * "setting", "group" (of settings),
     * "value" (of the setting before), "command", "preset", "run_setting" (KEY= of a run), "word"
     * (of words below), or the words possible; "then" parts those of the first argument from those
     * of the rest, "; WORD" those behind that word from others; NULL: nothing
     */
    const char *completes;
    const char *(*words)(int i); /* the i-th word of a table that it works by, NULL past the last */
    const char *options;         /* those it takes of the ones for one command: "force compat" */
    /* Settings of the session that few commands read, or of answers where it does not answer,
     * which it reads: "raw jsonl" */
    const char *settings;
    const char *summary;   /* what it does in at most 45 characters */
    const char *help;      /* the same in sentences; commands between ` and ` */
    const char *forms;     /* lines "ARGUMENTS\tWHAT THESE DO"; NULL: it has only one form */
    const char *examples;  /* lines without the colon; NULL: none */
    const char *topics;    /* lines "TOPIC\tWHAT THERE IS TO READ", of help; NULL: none */
    const char *related;   /* names of commands; NULL: none */
    void (*explain)(void); /* what :help shows of it besides; NULL: nothing */
    /* 0, or a code with its sentence, which the caller shows. */
    int (*run)(struct repl *r, const struct call *c);
};

/* The rows to work by, borrowed; the last has no name. */
void commands_use(const struct command *rows);
/* Row i, NULL at the end. */
const struct command *command_at(int i);
const struct command *command_find(const char *name);
/* By that or another name, as the prompt takes it. */
const struct command *command_called(const char *name);
/* Whether the command takes this option of the ones for one command. */
bool command_takes(const struct command *c, const char *option);
/* The nearest name of a command usable there, NULL when none is near. */
const char *command_nearest(const char *name, bool shell);

/* ERR_RANGE: "usage: :NAME " and the arguments, as printf has them, which it takes. */
int command_usage(const struct call *c, const char *arguments, ...)
    __attribute__((format(printf, 2, 3)));
/* Refuses an option for one command that `allowed` does not name. */
int command_check_options(const struct repl *r, const char *name, const char *allowed);
/* The next word of *text, cut off in place; NULL: there is none. "..." and '...' keep spaces, \
 * takes the next character as it is outside of '...'. *text is behind the word then. */
int command_take_word(char **text, char **word);
/* A line behind its colon: look up, split into words, take options, run. */
int command_run_line(struct repl *r, const char *line);
/* Words of the shell; words[0] is the command's name. Options are taken already. */
int command_run_words(struct repl *r, char **words, int n);

#endif
