#ifndef PRATTLE_REPL_H
#define PRATTLE_REPL_H
/*
 * The program's state, and the loop that reads prompts and commands.
 */
#include "kvcache/session.h"
#include "repl/options.h"

/* One prompt and its answer, as :regen, :undo and :why need them. */
struct turn {
    struct ids before; /* the text before the prompt */
    struct ids start;  /* the text the answer began at */
    struct ids answer; /* what was drawn, without the stop token */
    bool held_blank;   /* the prompt ended in a blank that the answer begins with */
    char *prompt;      /* as typed; NULL for :continue */
    size_t prompt_bytes;
    struct settings settings; /* it was made with: seed and draw too */
};

struct repl {
    struct options options;
    struct model *model;  /* NULL: none loaded */
    struct engine engine; /* ready when engine.model is set */
    struct session session;
    struct ids text;    /* the text in progress; the session's, kept over a new engine */
    struct turn *turns; /* [n_turns], the newest last */
    int n_turns;
    bool quit, warned; /* :quit was said; unsaved weights were mentioned */
    bool interactive;  /* at a prompt on a terminal */
};

int repl_init(struct repl *r);
void repl_release(struct repl *r);

/* Load path in place of the model there is; on failure that one stays. */
int repl_load(struct repl *r, const char *path);
/* Load the settings' model if none is loaded. ERR_MISSING: there is none to load. */
int repl_need_model(struct repl *r);
/* Threads, kernels and an engine for max_seqs texts, as the settings have them now;
 * the text in progress stays. */
int repl_ready(struct repl *r, int max_seqs);
/* Forget the text in progress and all turns. */
void repl_forget(struct repl *r);

/* Read and answer until the end of input or :quit; the program's exit status. */
int repl_run(struct repl *r);

#endif
