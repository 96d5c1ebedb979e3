#include "weights/hf/hf_defaults.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/hf/generation_config.h"

enum { MAX_DEFAULTS = 16 << 20 };

/* The text of a small file of the folder; *found false where there is none. */
static int read_small(struct buf *out, bool *found, const char *folder, const char *name)
{
    char *path = file_join(folder, name);
    *found = path != NULL && file_exists(path);
    int rc = path == NULL ? ERR_NOMEM : !*found ? 0 : file_read_all(out, path, MAX_DEFAULTS);
    mem_free(path);
    return rc;
}

/* Our own file says all, or else Hugging Face's, which is no reason to refuse a model. */
int hf_defaults_read(struct source *s, const char *folder, const struct buf *config,
                     const struct progress *p)
{
    struct buf text = {0}, ours = {0};
    bool found;
    s->defaults_file = "prattle.yaml";
    int rc = read_small(&ours, &found, folder, s->defaults_file);
    if (rc == 0 && !found) {
        s->defaults_file = "generation_config.json";
        rc = read_small(&text, &found, folder, s->defaults_file);
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
