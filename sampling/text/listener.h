#ifndef PRATTLE_SAMPLING_TEXT_LISTENER_H
#define PRATTLE_SAMPLING_TEXT_LISTENER_H
/*
 * The caller's callbacks while answers are generated, by the slots or by a search: text as soon as
 * it can be shown, and status sentences. What concerns a whole run is reported once.
 */
#include "sampling/text/request.h"

struct listener {
    struct generate_callbacks callbacks;
    const struct model *model; /* borrowed */
    bool slide_reported;
};

/* Append n bytes to the text of answer number `number`, and give them to the caller. ERR_NOMEM. */
int listener_add_text(const struct listener *l, struct answer *a, int number, const char *bytes,
                      size_t n);
void listener_report(const struct listener *l, const char *sentence);
/* Report that a context was full and its newest half is continued: once per run. */
void listener_report_slide(struct listener *l);

#endif
