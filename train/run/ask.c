#include "train/run/ask.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/defaults.h"
#include "train/data/pairs.h"
#include "train/run/inside.h"

int run_ask(const struct run *r, char **defaults, const char **file, bool *said, bool *changed)
{
    const struct data_lines *l = &r->config.data.lines;
    struct pairs pairs;
    struct buf template = {0};
    *said = *changed = false;
    int rc = pairs_init(&pairs, l->prompt_template, l->completion_template);
    if (rc != 0)
        return rc;
    if ((rc = pairs_ask(&pairs, &template)) == 0 && template.n > 0) {
        rc = defaults_set_template(defaults, file, buf_text(&template), changed);
        *said = rc == 0;
    }
    pairs_release(&pairs);
    buf_release(&template);
    if (rc != ERR_FORMAT)
        return rc;
    progress_note(r->events.progress, "the template of the prompts is not stored: %s", err_text());
    return 0;
}
