#ifndef PRATTLE_SAMPLING_TEXT_LISTENER_H
#define PRATTLE_SAMPLING_TEXT_LISTENER_H
/*
 * What the caller hears while a run's answers are made, by whatever makes them: text as it can be
 * shown, and sentences. What holds for all of a run is said once.
 */
#include "sampling/text/request.h"

struct listener {
    struct generate_callbacks callbacks;
    const struct model *model; /* borrowed */
    bool slide_reported;
};

/* n bytes to the caller, and behind the text of the answer, which has this number. */
int listener_add_text(const struct listener *l, struct answer *a, int number, const char *bytes,
                      size_t n);
void listener_report(const struct listener *l, const char *sentence);
/* That the context was full, before or within an answer, and its newest half goes on: said once,
 * however many do. */
void listener_report_slide(struct listener *l);

#endif
