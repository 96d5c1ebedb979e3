#include "sampling/text/listener.h"

#include "sampling/text/prompt.h"

#include <stdio.h>

int listener_add_text(const struct listener *l, struct answer *a, int number, const char *bytes,
                      size_t n)
{
    if (n == 0)
        return 0;
    if (l->callbacks.text != NULL)
        l->callbacks.text(l->callbacks.user, number, bytes, n);
    return buf_add(&a->text, bytes, n);
}

void listener_report(const struct listener *l, const char *sentence)
{
    if (l->callbacks.status != NULL)
        l->callbacks.status(l->callbacks.user, sentence);
}

void listener_report_slide(struct listener *l)
{
    char sentence[128];
    int n_ctx = l->model->config.n_ctx;
    if (l->slide_reported)
        return;
    snprintf(sentence, sizeof sentence, "context full: continuing from the newest %d of %d tokens",
             prompt_slide_length(n_ctx), n_ctx);
    listener_report(l, sentence);
    l->slide_reported = true;
}
