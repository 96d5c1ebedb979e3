#ifndef PRATTLE_REPL_SESSION_ANSWER_H
#define PRATTLE_REPL_SESSION_ANSWER_H
/*
 * From a prompt to the terminal: generate an answer, show it while it comes, and report its
 * figures. What a stop string hid is cut off the text in progress.
 */
#include "repl/session/repl.h"

/* Answer a prompt of n bytes; begins a new text unless `keep` is on. */
int answer_prompt(struct repl *r, const char *text, size_t n);
/* Continue the text without a new prompt. */
int answer_continue(struct repl *r);
/* Answer the last prompt again, with the next random draw. */
int answer_regenerate(struct repl *r);
/* Answer a prompt given as ids. */
int answer_ids(struct repl *r, const struct ids *ids);

/* ERR_RANGE: raw and jsonl at once. */
int answer_check_form(const struct batch_settings *b);
/* That samples could not be saved, before there are any. */
int answer_check_samples(const struct settings *s);
/* Append to the file of save_samples, if one is set; draw: which the first answer is. */
int answer_save_sample(const struct settings *s, const char *prompt, size_t n_prompt, int64_t draw,
                       const struct answer *answers, int n_answers);
#endif
