#ifndef PRATTLE_REPL_SESSION_REPL_H
#define PRATTLE_REPL_SESSION_REPL_H
/*
 * The program's state: what a prompt or a command finds and leaves.
 */
#include "kvcache/sequence.h"
#include "model/adapter.h"
#include "repl/session/turn.h"
#include "repl/settings/options.h"
#include "train/run/run.h"
#include "weights/panel_stream.h"

/* The commands that discard something. */
enum discarder {
    DISCARD_NONE,
    DISCARD_QUIT,
    DISCARD_LOAD,
    DISCARD_TRAIN,
    DISCARD_RESUME,
    DISCARD_LORA_LOAD,
    DISCARD_LORA_MERGE,
    DISCARD_LORA_DROP,
    DISCARD_RESULTS,
    DISCARD_BENCHMARKS
};

/* What a message named as unsaved (unsaved.h). */
struct named_loss {
    enum discarder by;
    unsigned what; /* of enum unsaved */
};

struct repl {
    struct options options;
    struct model *model;          /* NULL: none loaded */
    struct engine engine;         /* ready when engine.model is set */
    struct model *drafter;        /* of the setting speculate; NULL: none is loaded */
    char *drafter_path;           /* as it was set */
    struct engine drafter_engine; /* ready when its model is set */
    struct sequence sequence;     /* the text in progress; its ids stay when the engine goes */
    bool held_space;              /* a space followed it, which joins the next word */
    struct run *run;              /* training of this model, in memory; NULL: none */
    bool profiled;                /* a command of the shell, with profile's --force */
    const char *trace;            /* file that profile writes of the command; NULL: no command is
                                     profiled, or the processes that it has launched write it */
    char *last_run;               /* folder of the last one put away; NULL: none was */
    bool last_unfinished;         /* that was of other processes, and paused or was lost */
    bool last_paused;             /* that was of other processes, and paused */
    int64_t told_step;            /* of that run, of which was said last that it is saved */
    struct turn *turns;           /* [n_turns], the newest last */
    int n_turns;
    int threads; /* of the team as it was made, and its pinning */
    bool pin;
    struct named_loss named, naming; /* what the line before named as not saved; and this one */
    bool reported_full;              /* that the context ended an answer */
    bool told_plain;                 /* that help, alone, is :help */
    bool told_stop;                  /* that Ctrl-C has stopped what this line asks for */
    bool quit;                       /* :quit was said */
    bool interactive;                /* reading from a terminal */
};

int repl_init(struct repl *r);
void repl_release(struct repl *r);

/* Free the run in memory, if any, and remember where it is. */
void repl_drop_run(struct repl *r);
/* Of other processes, which have left it in the folder. */
void repl_note_run(struct repl *r, const char *folder, bool paused);
/* The folder of the session's last run, or of that in RUNS_FOLDER which was written to last, in
 * fresh memory; saved: one that has a checkpoint to go on from. ERR_MISSING: there is none. */
int repl_latest_run(const struct repl *r, bool saved, char **out);
/* Load path in place of the model there is, and drop a run that trains that one; on
 * failure both stay. seed: for random: models. */
int repl_load(struct repl *r, const char *path, uint64_t seed);
/* As the settings say. */
/* What models may take of memory, by the settings in force. */
struct load_memory repl_load_memory(const struct repl *r);
struct panel_cache repl_panel_cache(const struct repl *r);
/* repl_load in two steps, for files that are open and stay open: read a model, which the caller
 * frees; and replace the model in memory by it, which cannot fail. */
int repl_read_files(struct repl *r, struct model **out, struct model_files *f);
/* Read the settings that come with the model again. */
void repl_read_model_settings(struct repl *r);
void repl_take_model(struct repl *r, struct model *fresh);
/* The precision that weights have in memory by a choice of dtype; ERR_UNSUPPORTED: it is for files
 * only. */
int repl_memory_dtype(enum dtype *out, enum precision_choice choice);
/* The precision that keys and values of m have by the settings. */
enum dtype repl_cache_dtype(const struct settings *s, const struct model *m);
/* Make an engine whose keys and values are as the settings say (engine_init_as). */
int repl_engine(struct engine *e, struct model *m, int max_seqs, const struct settings *s);
/* Load the settings' model if none is loaded. ERR_MISSING: there is none to load. */
int repl_need_model(struct repl *r);
/* Whether the user or a settings file names the model; else it is the one that ships. */
bool repl_names_model(const struct repl *r);
/* Whether there is a model to load: a name other than "", or the one that ships. */
bool repl_finds_model(const struct repl *r);
/* Set up the thread team and kernels of the settings; frees an engine made for others. */
int repl_device(struct repl *r);
/* Have threads, kernels and an engine for max_seqs texts as the settings say; keeps the text in
 * progress. */
int repl_ready(struct repl *r, int max_seqs);
/* Forget the text in progress and all turns. */
void repl_forget(struct repl *r);
/* Forget the turns only: the text in progress was replaced. */
void repl_forget_turns(struct repl *r);
/* Append a turn that continues the text in progress (more) or replaces it; drops the oldest if
 * there are many. NULL: no memory. */
struct turn *repl_push_turn(struct repl *r, bool more);
void repl_pop_turn(struct repl *r);

/* Show the message of an error; nothing for ERR_INTERRUPTED, of which the user knows. */
void repl_complain(int rc);
/* "[stopped; what]" in the place of the terminal's ^C; what: "" where there is no more to say, or
 * " before ..." where the sentence goes on. */
void repl_say_stopped(struct repl *r, const char *what);
/* Where no line says how an answer ended, that the context did; once, however many it ends. */
void repl_report_full(struct repl *r, const struct generate_config *g, const struct answer *answers,
                      int n);

#endif
