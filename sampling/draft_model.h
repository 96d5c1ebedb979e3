#ifndef PRATTLE_SAMPLING_DRAFT_MODEL_H
#define PRATTLE_SAMPLING_DRAFT_MODEL_H
/*
 * Drafts by a smaller model with the same tokenizer (Leviathan et al., 2023): its most likely next
 * tokens, one pass of it each. It reads a text when it first drafts for it, and later what is new.
 */
#include "sampling/draft.h"

/* Draft by the engine's drafter from now on, d being as draft_begin left it. ERR_NOMEM. */
int draft_model_begin(struct draft *d, const struct engine *e);
/* draft_begin for an answer of the engine's model, as the setting says (speculate_of). A drafter
 * that is not there, since a model's own settings named it, drafts nothing: then it is auto. */
int draft_begin_as_set(struct draft **d, const struct engine *e, const char *setting);
/*
 * Decide how many tokens to draft behind the text [n], as of draft_propose; the text stays where it
 * is until they are made. Called once for each pass of the text, by one thread.
 */
int draft_model_plan(struct draft *d, token_id *text, size_t n, int most, int texts, int rows);
/* Make the drafts that list [n] plans: d->n_made of each are written behind its text. Called by
 * every thread of a running job; ends with a barrier. */
void draft_model_run(struct engine *drafter, struct draft *const *list, int n, int thread,
                     int n_threads);

#endif
