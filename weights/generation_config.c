#include "weights/generation_config.h"

#include "model/base/err.h"
#include "model/base/json.h"

#include <string.h>

enum { SHOWN = 60 };

/* What is called the same here; true: only where do_sample is. */
static const struct {
    const char *name;
    bool drawn;
} settings[] = {
    {"temperature", true},
    {"top_k", true},
    {"top_p", true},
    {"min_p", true},
    {"typical_p", true},
    {"repetition_penalty", false},
    {"no_repeat_ngram_size", false},
    {"max_new_tokens", false},
    {"min_new_tokens", false},
    {"num_beams", false},
    {"length_penalty", false},
    {"early_stopping", false},
    {"penalty_alpha", false},
};

static int add_setting(struct buf *out, const char *name, const json_t *value,
                       const struct progress *p)
{
    char shown[SHOWN];
    const char *text = json_string_value(value);
    if (value == NULL || json_is_null(value))
        return 0;
    if (json_is_number(value) || json_is_boolean(value))
        return buf_printf(out, "%s: %s\n", name, json_shown(shown, sizeof shown, value));
    if (text != NULL && strcmp(text, "never") == 0)
        return buf_printf(out, "%s: never\n", name);
    progress_note(p, "generation_config.json: %s is %s, left out", name,
                  json_shown(shown, sizeof shown, value));
    return 0;
}

static int add_stop_token(struct buf *out, const json_t *value, const struct config *c,
                          const struct progress *p)
{
    char shown[SHOWN];
    if (json_array_size(value) > 1)
        progress_note(p, "generation_config.json names %zu end tokens: the first one counts",
                      json_array_size(value));
    if (json_is_array(value))
        value = json_array_get(value, 0);
    if (value == NULL || json_is_null(value))
        return 0;
    json_int_t id = json_integer_value(value);
    if (json_is_integer(value) && id == c->eos_token_id)
        return 0;
    if (json_is_integer(value) && id >= 0 && id < c->n_vocab)
        return buf_printf(out, "stop_token: %d\n", (int)id);
    progress_note(p, "generation_config.json: eos_token_id is %s, left out",
                  json_shown(shown, sizeof shown, value));
    return 0;
}

int generation_config_parse(struct buf *out, const char *text, size_t n, const struct config *c,
                            const struct progress *p)
{
    json_t *o = NULL;
    struct buf lines = {0};
    int rc = json_read_text(&o, text, n);
    if (rc == 0 && !json_is_object(o))
        rc = err_set(ERR_FORMAT, "the file is no object of settings");
    bool drawn = rc == 0 && json_is_true(json_object_get(o, "do_sample"));
    for (size_t i = 0; i < sizeof settings / sizeof *settings && rc == 0; i++)
        if (drawn || !settings[i].drawn)
            rc = add_setting(&lines, settings[i].name, json_object_get(o, settings[i].name), p);
    if (rc == 0)
        rc = add_stop_token(&lines, json_object_get(o, "eos_token_id"), c, p);
    if (rc == 0)
        rc = buf_add(out, lines.data, lines.n);
    buf_release(&lines);
    json_decref(o);
    return rc;
}
