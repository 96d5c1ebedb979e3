#include "weights/hf/generation_config.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/json.h"
#include "model/forward.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 60 };

/* What is called the same here; true: only where do_sample is, and then what transformers has where
 * the file has none, if that is not what prattle has. */
static const struct {
    const char *name;
    bool drawn;
    const char *otherwise;
} settings[] = {
    {"temperature", true, "1"},
    {"top_k", true, "50"},
    {"top_p", true, "1"},
    {"min_p", true, NULL},
    {"typical_p", true, NULL},
    {"repetition_penalty", false, NULL},
    {"no_repeat_ngram_size", false, NULL},
    {"max_new_tokens", false, NULL},
    {"min_new_tokens", false, NULL},
    {"num_beams", false, NULL},
    {"length_penalty", false, NULL},
    {"early_stopping", false, NULL},
    {"num_return_sequences", false, NULL},
};

/* What else changes transformers' texts, and the number that does not. */
static const struct {
    const char *name;
    double idle;
} others[] = {
    {"begin_suppress_tokens", 0},
    {"constraints", 0},
    {"diversity_penalty", 0},
    {"dola_layers", -1},
    {"encoder_repetition_penalty", 1},
    {"epsilon_cutoff", 0},
    {"eta_cutoff", 0},
    {"exponential_decay_length_penalty", 0},
    {"force_words_ids", 0},
    {"forced_bos_token_id", -1},
    {"forced_eos_token_id", -1},
    {"guidance_scale", 1},
    {"max_length", 20},
    {"max_time", -1},
    {"min_length", 0},
    {"num_beam_groups", 1},
    {"sequence_bias", 0},
    {"token_healing", 0},
    {"watermarking_config", -1},
};

static const char *value_shown(char *out, size_t n, const json_t *value)
{
    return json_is_huge_number(value) ? file_show(out, n, json_string_value(value))
                                      : json_shown(out, n, value);
}

static void note_left_out(const char *file, const char *name, const json_t *value,
                          const struct progress *p)
{
    char shown[SHOWN];
    progress_note(p, "%s: %s is %s, left out", file, name, value_shown(shown, sizeof shown, value));
}

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
    note_left_out("generation_config.json", name, value, p);
    return 0;
}

/* Whether do_sample is true: only true is, and what is no boolean is as if it were not there. */
static bool is_drawn(const json_t *o, const struct progress *p)
{
    const json_t *value = json_object_get(o, "do_sample");
    if (value != NULL && !json_is_null(value) && !json_is_boolean(value))
        note_left_out("generation_config.json", "do_sample", value, p);
    return json_is_true(value);
}

/* A number of the file, or what transformers has where there is none. */
static double number_or(const json_t *o, const char *name, double otherwise)
{
    const json_t *value = json_object_get(o, name);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

/* Whether top_k, of the file or 50, makes no candidates for contrastive search; then why. */
static bool refuses_candidates(char *why, size_t n, const json_t *top_k)
{
    char shown[SHOWN];
    const double k = json_is_number(top_k) ? json_number_value(top_k) : 50;
    const bool few = k<2, many = k> FORWARD_MAX_ROWS || json_is_huge_number(top_k);
    if (!few && !many && k == floor(k))
        return false;
    const int used = snprintf(why, n, "top_k is %s", value_shown(shown, sizeof shown, top_k));
    if (many && used > 0 && (size_t)used < n)
        snprintf(why + used, n - (size_t)used, ", more than %d", FORWARD_MAX_ROWS);
    return true;
}

/*
 * Contrastive search, which transformers does only where nothing else is asked for: one beam, no
 * sampling, more than one candidate. top_k then counts, its default 50 too.
 */
static int add_contrastive(struct buf *out, const json_t *o, bool drawn, const struct progress *p)
{
    const double alpha = number_or(o, "penalty_alpha", 0), beams = number_or(o, "num_beams", 1);
    const json_t *top_k = json_object_get(o, "top_k");
    char why[128] = "";
    if (alpha <= 0)
        return add_setting(out, "penalty_alpha", json_object_get(o, "penalty_alpha"), p);
    if (beams > 1)
        snprintf(why, sizeof why, "num_beams is %g", beams);
    else if (drawn)
        snprintf(why, sizeof why, "do_sample is true");
    if (why[0] != '\0' || refuses_candidates(why, sizeof why, top_k)) {
        progress_note(p,
                      "generation_config.json: %s, so there is no contrastive search: "
                      "penalty_alpha is left out",
                      why);
        return 0;
    }
    if (top_k != NULL && !json_is_null(top_k) && !json_is_number(top_k))
        note_left_out("generation_config.json", "top_k", top_k, p);
    int rc = add_setting(out, "penalty_alpha", json_object_get(o, "penalty_alpha"), p);
    if (rc == 0 && alpha <= 1)
        rc = buf_printf(out, "top_k: %.17g\n", number_or(o, "top_k", 50));
    return rc;
}

/* One id, or a list of them: each ends a text, -1 is none; as many as there is room for. */
static int add_stop_tokens(struct buf *out, const json_t *value, const struct config *c,
                           const char *file, const struct progress *p)
{
    bool list = json_is_array(value);
    size_t n = list ? json_array_size(value) : value != NULL && !json_is_null(value);
    struct buf ids = {0};
    int rc = 0, n_ids = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        const json_t *one = list ? json_array_get(value, i) : value;
        json_int_t id = json_integer_value(one);
        if (json_is_integer(one) && (id == TOKEN_NONE || (n == 1 && id == c->eos_token_id)))
            continue;
        if (json_is_integer(one) && id >= 0 && id < c->n_vocab && n_ids++ < CONFIG_STOP_TOKENS)
            rc = buf_printf(&ids, "%s%d", ids.n > 0 ? "," : "", (int)id);
        else
            note_left_out(file, "eos_token_id", one, p);
    }
    if (rc == 0 && ids.n > 0)
        rc = buf_printf(out, "stop_token: \"%s\"\n", ids.data);
    buf_release(&ids);
    return rc;
}

/* Append the ids of a member, [3, 4], or where they are words, [[3], [4]], to a list of biases. A
 * word of several tokens is banned by none of these. */
static int add_banned(struct buf *bias, const json_t *o, const char *name, bool words,
                      const struct config *c, const struct progress *p)
{
    const json_t *ids = json_object_get(o, name), *one;
    int rc = 0;
    size_t i;
    if (ids != NULL && !json_is_null(ids) && !json_is_array(ids))
        note_left_out("generation_config.json", name, ids, p);
    json_array_foreach(ids, i, one)
    {
        const json_t *value = !words                      ? one
                              : json_array_size(one) == 1 ? json_array_get(one, 0)
                                                          : NULL;
        const json_int_t id = json_integer_value(value);
        if (words && json_is_integer(value) && id == c->eos_token_id && id >= 0)
            continue; /* which transformers does not ban */
        if (!json_is_integer(value) || id < 0 || id >= c->n_vocab)
            note_left_out("generation_config.json", name, one, p);
        else if ((rc = buf_printf(bias, "%s%d:-inf", bias->n > 0 ? "," : "", (int)id)) != 0)
            break;
    }
    return rc;
}

/* Append a text as a word of a list (words.h), for a place between single quotes. */
static int add_word(struct buf *out, const char *text)
{
    int rc = out->n > 0 ? buf_char(out, ',') : 0;
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0' && rc == 0; c++)
        rc = *c < 0x20 || *c == 0x7f || strchr(",\\'\"", *c) != NULL
                 ? buf_printf(out, "\\x%02x", *c)
                 : buf_char(out, (char)*c);
    return rc;
}

/* One text that ends an answer, or a list of them. */
static int add_stop_strings(struct buf *out, const json_t *value, const struct progress *p)
{
    const bool list = json_is_array(value);
    const size_t n = list ? json_array_size(value) : value != NULL && !json_is_null(value);
    struct buf words = {0};
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        const json_t *one = list ? json_array_get(value, i) : value;
        if (json_string_length(one) == 0 || json_is_huge_number(one))
            note_left_out("generation_config.json", "stop_strings", one, p);
        else
            rc = add_word(&words, json_string_value(one));
    }
    if (rc == 0 && words.n > 0)
        rc = buf_printf(out, "stop: '%s'\n", words.data);
    buf_release(&words);
    return rc;
}

/* Tokens that are never drawn. */
static int add_suppressed(struct buf *out, const json_t *o, const struct config *c,
                          const struct progress *p)
{
    struct buf bias = {0};
    int rc = add_banned(&bias, o, "suppress_tokens", false, c, p);
    if (rc == 0)
        rc = add_banned(&bias, o, "bad_words_ids", true, c, p);
    if (rc == 0 && bias.n > 0)
        rc = buf_printf(out, "logit_bias: \"%s\"\n", bias.data);
    buf_release(&bias);
    return rc;
}

/* Where what is asked for is not to be had, that is told. */
static void note_others(const json_t *o, const struct progress *p)
{
    const bool limited = json_is_number(json_object_get(o, "max_new_tokens"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const json_t *value = json_object_get(o, others[i].name);
        /* Beside max_new_tokens, max_length says nothing. */
        const bool idle = (limited && strcmp(others[i].name, "max_length") == 0) || value == NULL ||
                          json_is_null(value) || json_is_false(value) ||
                          (json_is_array(value) && json_array_size(value) == 0) ||
                          (json_is_number(value) && json_number_value(value) == others[i].idle);
        if (!idle)
            note_left_out("generation_config.json", others[i].name, value, p);
    }
}

int generation_config_parse(struct buf *out, const char *text, size_t n, const struct config *c,
                            const struct progress *p)
{
    json_t *o = NULL;
    struct buf lines = {0};
    int rc = json_read_any_numbers(&o, text, n);
    if (rc == 0 && !json_is_object(o))
        rc = err_set(ERR_FORMAT, "the file is not an object of settings");
    const bool drawn = rc == 0 && is_drawn(o, p);
    for (size_t i = 0; i < sizeof settings / sizeof *settings && rc == 0; i++) {
        const json_t *value = json_object_get(o, settings[i].name);
        if (drawn && settings[i].otherwise != NULL && (value == NULL || json_is_null(value)))
            rc = buf_printf(&lines, "%s: %s\n", settings[i].name, settings[i].otherwise);
        else if (drawn || !settings[i].drawn)
            rc = add_setting(&lines, settings[i].name, value, p);
    }
    if (rc == 0)
        rc = add_contrastive(&lines, o, drawn, p);
    if (rc == 0)
        rc = add_stop_tokens(&lines, json_object_get(o, "eos_token_id"), c,
                             "generation_config.json", p);
    if (rc == 0)
        rc = add_suppressed(&lines, o, c, p);
    if (rc == 0)
        rc = add_stop_strings(&lines, json_object_get(o, "stop_strings"), p);
    if (rc == 0)
        note_others(o, p);
    if (rc == 0)
        rc = buf_add(out, lines.data, lines.n);
    buf_release(&lines);
    json_decref(o);
    return rc;
}

int generation_config_stop_tokens(struct buf *out, const char *text, size_t n,
                                  const struct config *c, const struct progress *p)
{
    json_t *o = NULL;
    int rc = json_read_text(&o, text, n);
    const json_t *ids = json_object_get(o, "eos_token_id");
    if (rc == 0 && json_is_array(ids))
        rc = add_stop_tokens(out, ids, c, "config.json", p);
    json_decref(o);
    return rc;
}
