#include "weights/hf/hf_defaults.h"

#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "weights/hf/generation_config.h"

enum { MAX_DEFAULTS = 16 << 20 };
static const char GENERATION[] = "generation_config.json";

/* Keep generation_config.json as it is, unless it is none. */
static int keep_generation_config(struct source *s, const struct buf *text)
{
    json_t *o = NULL;
    int rc = json_read_any_numbers(&o, buf_text(text), text->n);
    const bool is_object = rc == 0 && json_is_object(o);
    json_decref(o);
    if (rc == ERR_NOMEM)
        return rc;
    return is_object ? kept_files_add(&s->kept, GENERATION, text->data, text->n) : 0;
}

/* The text of generation_config.json; what cannot be read is left out with a note. */
static int read_generation_config(struct buf *text, bool *found, struct source *s,
                                  const char *folder, const struct file_set *open,
                                  const struct progress *p)
{
    int rc = file_set_read(text, found, open, folder, GENERATION, MAX_DEFAULTS);
    if (rc == 0 && *found)
        rc = keep_generation_config(s, text);
    if (rc == 0 || rc == ERR_NOMEM || rc == ERR_INTERRUPTED)
        return rc;
    progress_note(p, "%s is left out: %s", GENERATION, err_text());
    *found = false;
    return 0;
}

/* Our own file excludes the others. Hugging Face's files, if wrong, are left out with a note. */
int hf_defaults_read(struct source *s, const char *folder, const struct file_set *open,
                     const struct buf *config, const struct progress *p)
{
    struct buf text = {0}, ours = {0};
    bool found, generation = false;
    s->defaults_file = "prattle.yaml";
    int rc = file_set_read(&ours, &found, open, folder, s->defaults_file, MAX_DEFAULTS);
    if (rc == 0)
        rc = read_generation_config(&text, &generation, s, folder, open, p);
    if (rc == 0 && config->n > 0)
        rc = kept_files_add(&s->kept, "config.json", config->data, config->n);
    if (rc == 0 && !found && generation) {
        found = true;
        s->defaults_file = GENERATION;
        rc = generation_config_parse(&ours, buf_text(&text), text.n, &s->config, p);
        if (rc != 0 && rc != ERR_NOMEM && rc != ERR_INTERRUPTED) {
            progress_note(p, "%s is left out: %s", GENERATION, err_text());
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
