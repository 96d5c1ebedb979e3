#include "weights/hf/hf_defaults.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "weights/hf/generation_config.h"

enum { MAX_DEFAULTS = 16 << 20 };

/* Our own file excludes the others. Hugging Face's files, if wrong, are left out with a note. */
int hf_defaults_read(struct source *s, const char *folder, const struct file_set *open,
                     const struct buf *config, const struct progress *p)
{
    struct buf text = {0}, ours = {0};
    bool found;
    s->defaults_file = "prattle.yaml";
    int rc = file_set_read(&ours, &found, open, folder, s->defaults_file, MAX_DEFAULTS);
    if (rc == 0 && !found) {
        s->defaults_file = "generation_config.json";
        rc = file_set_read(&text, &found, open, folder, s->defaults_file, MAX_DEFAULTS);
        if (rc == 0 && found)
            rc = generation_config_parse(&ours, buf_text(&text), text.n, &s->config, p);
        if (rc != 0 && rc != ERR_NOMEM && rc != ERR_INTERRUPTED) {
            progress_note(p, "generation_config.json is left out: %s", err_text());
            rc = 0;
        }
    }
    if (rc == 0 && !found) {
        s->defaults_file = "config.json";
        if (config->n > 0)
            rc = generation_config_stop_tokens(&ours, config->data, config->n, &s->config, p);
    }
    if (rc == 0 && ours.n > 0 && (s->defaults = mem_strdup(buf_text(&ours))) == NULL)
        rc = ERR_NOMEM;
    buf_release(&text);
    buf_release(&ours);
    return rc;
}
