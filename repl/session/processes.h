#ifndef PRATTLE_REPL_SESSION_PROCESSES_H
#define PRATTLE_REPL_SESSION_PROCESSES_H
/*
 * This process as a rank of several (train/parallel/world.h): where its lines go, what stops it,
 * and to whom it says how it ended.
 */
#include <stdbool.h>
#include <stdint.h>

struct repl;

/* The environment of ranks that prattle itself has launched (launcher.h): columns of the terminals
 * that their standard output and error come to, 0 where it is none, and its path where all ranks
 * are on its host, "80 80 /dev/pts/3"; and "prompt" or "shell". */
#define PROCESSES_TERMINALS "PRATTLE_TERMINALS"
#define PROCESSES_FOR "PRATTLE_LAUNCHED_FOR"
/* Begins what such a rank 0 says of its end, which is its last output. */
enum { PROCESSES_END = '\x1e' };
/* Its sentence, where it has shown that the run paused, or has no step to show. */
#define PROCESSES_PAUSED "paused"
/* Begins a line on standard error of a rank that prattle has launched, of another that is lost:
 * "RANK N HOST REASON" (parallel/loss.h); of rank 0, what comes of it: "saved STEP", -1: nothing;
 * of one that a signal has told to end: "asked RANK HOST REASON"; and of each as it starts: "here
 * RANK HOST", "met RANK HOST" and "apart RANK HOST" (parallel/start.h). */
enum { PROCESSES_LOST = '\x1d' };

/* As world_open. What ranks print is plain, unless whoever launched them has said where it goes: a
 * launcher may give them a pseudo-terminal even where its own output is a file. */
int processes_open(void);
/* As world_agree, by all ranks once each has read its options: each has the same to do, in words.
 * ERR_MISMATCH; ERR_UNSUPPORTED: train by processes that a launcher without MPI has started. */
int processes_agree(int rc, const char *task);
/* By all, before they do something together, with what it is beside the options: whether each was
 * given the same of all options that results depend on; and once each has its model, whether it is
 * the same. ERR_MISMATCH. */
int processes_check_options(const struct repl *r, const char *what);
int processes_check_model(const struct repl *r);
/* By all ranks when nothing of theirs is left, with what each ends with, and the sentence it said
 * of it: an error that the others do not know of becomes that of all, and is said. */
int processes_end(int rc, const char *said);
/* Whether prattle has launched this rank, and at a prompt. */
bool processes_launched(void);
bool processes_for_prompt(void);
/* Where it has, tell it what main ends with. */
void processes_tell_end(int rc);
/* That this rank ends since it was sent signal sig, 0: it was not. */
void processes_tell_asked(int sig);
/* The step that was saved when another rank was lost; -1: none could be. */
void processes_tell_saved(int64_t step);

#endif
