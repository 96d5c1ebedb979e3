#ifndef PRATTLE_TRAIN_EVAL_QUESTION_H
#define PRATTLE_TRAIN_EVAL_QUESTION_H
/*
 * A question with several endings, of which one is right: a line of HellaSwag (Zellers et
 * al. 2019), or of any file that has a context, its endings and the number of the right one.
 */
#include "model/base/buf.h"

#include <stdbool.h>

struct question {
    struct buf context;  /* without the spaces at its end */
    struct buf between;  /* those spaces and one more, which precede an ending */
    struct buf *endings; /* [n_endings]; owned */
    int n_endings, answer;
    bool hellaswag; /* it has HellaSwag's fields, and its text was prepared */
};

/*
 * Of a line of JSON: a context ("ctx", "ctx_a" with "ctx_b", "context" or "prompt"), two or more
 * endings ("endings" or "choices"), and the right one ("label", "answer" or "gold": its number
 * from 0, also as a text, or the ending itself).
 *
 * prepare  lines with an activity_label and ctx_a get lm-eval's text: "LABEL: CTX_A Ctx_b",
 *          " [title]" becomes ". ", what stands in brackets goes, two spaces become one
 * returns  0; ERR_FORMAT or ERR_RANGE say what is missing or wrong, q is then empty
 */
int question_read(struct question *q, const char *line, size_t n, bool prepare);
void question_release(struct question *q);

#endif
