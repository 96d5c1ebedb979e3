#ifndef PRATTLE_WEIGHTS_HF_POST_PROCESSOR_H
#define PRATTLE_WEIGHTS_HF_POST_PROCESSOR_H
/* post_processor of tokenizer.json: the tokens that are put around a text. */
#include "model/base/progress.h"
#include "weights/hf/vocab_draft.h"

/* Set d->begin to the token that a TemplateProcessing puts before a text. What else it, or another
 * post_processor, adds to a text is left out with a note. root is the file's object. */
void post_processor_read(struct vocab_draft *d, const json_t *root, const struct progress *p);

#endif
