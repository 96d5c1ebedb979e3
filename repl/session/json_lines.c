#include "repl/session/json_lines.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "model/base/rng.h"
#include "model/base/words.h"
#include "repl/session/foreign_settings.h"
#include "sampling/search/search.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

void json_prompt_release(struct json_prompt *p)
{
    mem_free(p->text);
    mem_free(p->id);
    ids_release(&p->ids);
    settings_release(&p->settings);
    *p = (struct json_prompt){0};
}

struct json_asked json_prompt_asked(const struct json_prompt *p)
{
    return (struct json_asked){p->text, p->n, p->id, p->no_logprobs};
}

/* Kept as JSON, so that a text stays a text and 7 a 7. */
static int take_name(struct json_prompt *p, const json_t *object)
{
    const json_t *id = json_object_get(object, "id");
    struct buf text = {0};
    if (id == NULL)
        return 0;
    int rc = json_print(&text, id, JSON_ENCODE_ANY | JSON_COMPACT);
    if (rc == 0 && (p->id = mem_strdup(buf_text(&text))) == NULL)
        rc = ERR_NOMEM;
    buf_release(&text);
    return rc;
}

static int take_ids(struct ids *out, const json_t *list)
{
    if (!json_is_array(list))
        return err_set(ERR_FORMAT, "ids must be a list of token IDs");
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v)
    {
        json_int_t id = json_integer_value(v);
        if (!json_is_integer(v) || id < 0 || id > INT32_MAX)
            return err_set(ERR_RANGE, "ids[%zu] is not a token ID", i);
        int rc = ids_add(out, &(token_id){(token_id)id}, 1);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* 5.0 as 5, for settings that are whole numbers; the rest with all the digits that matter: a seed
 * has more than 9. */
static int put_real(struct buf *out, const json_t *value)
{
    const double x = json_real_value(value);
    return x == floor(x) && fabs(x) < 0x1p53 ? buf_printf(out, "%.0f", x + 0.0)
                                             : json_print(out, value, JSON_ENCODE_ANY);
}

static int put_scalar(struct buf *out, const json_t *value)
{
    if (json_is_string(value) && memchr(json_string_value(value), 0, json_string_length(value)))
        return err_set(ERR_FORMAT, "must be a text without NUL");
    if (json_is_string(value))
        return buf_str(out, json_string_value(value));
    if (json_is_boolean(value))
        return buf_str(out, json_is_true(value) ? "on" : "off");
    if (json_is_integer(value))
        return buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (json_is_real(value))
        return put_real(out, value);
    return err_set(ERR_FORMAT, "must be a text, a number, true or false");
}

/* With a backslash before each of `special`. */
static int put_escaped(struct buf *out, const json_t *value, const char *special)
{
    struct buf word = {0};
    int rc = put_scalar(&word, value);
    for (size_t i = 0; i < word.n && rc == 0; i++) {
        if (word.data[i] != '\0' && strchr(special, word.data[i]) != NULL)
            rc = buf_char(out, '\\');
        if (rc == 0)
            rc = buf_char(out, word.data[i]);
    }
    buf_release(&word);
    return rc;
}

/* One of a list, with what would end or change it there escaped. */
static int put_word(struct buf *out, const json_t *value)
{
    return put_escaped(out, value, ",\\");
}

/* A name of an object, which would be several where it has what divides them. */
static int put_key(struct buf *out, const char *key)
{
    if (strpbrk(key, ",:") != NULL)
        return err_set(ERR_FORMAT, "must not have %s as a name", file_quote(key));
    return buf_printf(out, "%s%s:", out->n > 0 ? "," : "", key);
}

/* A value as it would be typed: ["a", "b"] is a,b. */
static int put_value(struct buf *out, json_t *value)
{
    size_t i;
    json_t *v;
    int rc = 0;
    if (json_is_array(value)) {
        json_array_foreach(value, i, v)
        {
            if ((i > 0 && (rc = buf_char(out, ',')) != 0) || (rc = put_word(out, v)) != 0)
                return rc;
        }
        return 0;
    }
    return put_scalar(out, value);
}

/* One text, or a list of them, none empty. */
static bool are_texts(const json_t *value)
{
    bool are = json_is_string(value) || json_is_array(value);
    for (size_t i = 0; i < json_array_size(value); i++)
        are = are && json_string_length(json_array_get(value, i)) > 0;
    return are;
}

static bool is_number(const struct setting *row)
{
    return row->type == SETTING_INT || row->type == SETTING_INT64 || row->type == SETTING_UINT64 ||
           row->type == SETTING_FLOAT || row->type == SETTING_DOUBLE;
}

static int refuse_biases(void)
{
    return err_set(ERR_FORMAT, "must be an object, as {\"65\": -100}, or a list of pairs, as "
                               "[[65, -100], [66, false]]");
}

/* As in llama.cpp's server false bans the token. */
static int put_bias(struct buf *out, const json_t *value)
{
    return json_is_false(value) ? buf_str(out, "-inf") : put_scalar(out, value);
}

/* {"65": -100, "66": false} is 65:-100,66:-inf. */
static int put_biases(struct buf *out, json_t *object)
{
    const char *key;
    json_t *value;
    int rc = 0;
    json_object_foreach(object, key, value)
    {
        if (!json_is_number(value) && !json_is_string(value) && !json_is_false(value))
            return refuse_biases();
        if ((rc = put_key(out, key)) != 0 || (rc = put_bias(out, value)) != 0)
            return rc;
    }
    return 0;
}

/* As llama.cpp's server has it: [[65, -100], [66, false]] is 65:-100,66:-inf. */
static int put_pairs(struct buf *out, const json_t *list)
{
    size_t i;
    json_t *pair;
    int rc = 0;
    json_array_foreach(list, i, pair)
    {
        const json_t *id = json_array_get(pair, 0), *value = json_array_get(pair, 1);
        if (json_array_size(pair) != 2 || !json_is_integer(id) ||
            !(json_is_number(value) || json_is_false(value)))
            return refuse_biases();
        if ((rc = buf_printf(out, "%s%" JSON_INTEGER_FORMAT ":", i > 0 ? "," : "",
                             json_integer_value(id))) != 0 ||
            (rc = put_bias(out, value)) != 0)
            return rc;
    }
    return 0;
}

static int take_value(struct buf *text, const struct setting *row, json_t *value)
{
    if (row->texts && !are_texts(value))
        return err_set(ERR_FORMAT, "must be a text or a list of texts, none of them empty");
    if (row->pairs && json_is_array(value) && !json_is_string(json_array_get(value, 0)))
        return put_pairs(text, value);
    if (row->pairs && json_is_object(value))
        return put_biases(text, value);
    if ((row->type != SETTING_STRING && json_is_array(value)) ||
        (!row->json && json_is_object(value)))
        return err_set(ERR_FORMAT, "must be a text, a number, true or false");
    if (row->json && json_is_object(value))
        return json_print(text, value, 0);
    if ((is_number(row) || row->pairs) && json_is_boolean(value)) /* an error says what was given */
        return buf_str(text, json_is_true(value) ? "true" : "false");
    if (row->escapes)
        return put_escaped(text, value, "\\");
    return row->texts && json_is_string(value) ? put_word(text, value) : put_value(text, value);
}

/* A model that drafts is loaded for all lines, before the first one. */
static int check_drafter_word(const struct setting *row, const char *text)
{
    return row != OPTION(generate.speculate) || speculate_of(text) != SPECULATE_MODEL
               ? 0
               : err_set(ERR_UNSUPPORTED,
                         "speculate must be auto, off or lookup in a single line, not %s",
                         file_quote(text));
}

static int take_setting(struct options *o, const char *name, json_t *value)
{
    const struct setting *row;
    struct buf text = {0};
    int rc = settings_table_lookup(&options_table, &row, name, true);
    if (rc != 0)
        return rc;
    const bool shorthand = row->type == SETTING_SHORTHAND;
    const struct setting *meant =
        shorthand ? settings_table_find(&options_table, row->shorthand_for) : row;
    if (!meant->per_line)
        return err_set(ERR_UNSUPPORTED, "%s cannot be given for a single line", row->name);
    if (json_is_null(value)) /* as if it were not there */
        return 0;
    if ((!shorthand || json_is_true(value)) &&
        settings_store_origin(&o->store, meant) == ORIGIN_LINE)
        return err_set(ERR_FORMAT, "%s is in this line twice, by two names: give one of them",
                       meant->name);
    rc = take_value(&text, row, value);
    if (rc != 0)
        rc = err_set(rc, "%s %s", row->name, err_text());
    if (rc == 0)
        rc = check_drafter_word(row, buf_text(&text));
    if (rc == 0)
        rc = options_set(o, row, ORIGIN_LINE, buf_text(&text));
    buf_release(&text);
    return rc;
}

static bool is_draw_setting(const char *name)
{
    const struct setting *row = settings_table_find(&options_table, name);
    return row != NULL && row->draws;
}

/* Names of other programs, and what is said of them: what is nearly the same here is not taken for
 * it. */
static const char *foreign_name(const char *name)
{
    static const char TEXT[] = "its text is \"prompt\"", IDS[] = "its token IDs are \"ids\"";
    static const char *const all[][2] = {
        {"messages", TEXT},
        {"text", TEXT},
        {"input", TEXT},
        {"inputs", TEXT},
        {"completion", "jq -c 'del(.completion)' FILE makes prompts of training data"},
        {"prompt_ids", IDS},
        {"prompt_token_ids", IDS},
        {"input_ids", IDS},
        {"max_length", "it counts the prompt too elsewhere; max_new_tokens counts new tokens"},
        {"stop_token_ids", "stop_token has IDs that end an answer in place of the model's own"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(name, all[i][0]) == 0)
            return all[i][1];
    return NULL;
}

/* OpenAI's way to say that an answer has no grammar, also where the settings have one. */
static bool is_format_of_text(const char *name, const json_t *value)
{
    const char *type = json_string_value(json_object_get(value, "type"));
    return strcmp(name, "response_format") == 0 && type != NULL && strcmp(type, "text") == 0;
}

/* `n` and ollama's `format`; on a command line n is max_new_tokens, and format of a table. An error
 * names what was given, and a name like a member's leads to that. */
static int take_named(struct options *o, const char *name, json_t *value)
{
    static const char *const members[] = {"prompt", "ids", "id", "logprobs", "do_sample"};
    const char *full = strcmp(name, "n") == 0        ? "num_return_sequences"
                       : strcmp(name, "format") == 0 ? "grammar"
                                                     : name;
    json_t *meant = is_format_of_text(name, value) ? json_string("") : json_incref(value);
    int rc = meant == NULL ? ERR_NOMEM : take_setting(o, full, meant);
    json_decref(meant);
    if (rc == 0)
        return 0;
    const struct setting *row = settings_table_find(&options_table, full);
    const size_t n_full = row == NULL ? 0 : strlen(row->name);
    char *why = mem_strdup(err_text());
    if (why == NULL)
        return ERR_NOMEM;
    const char *near = words_nearest(name, members, sizeof members / sizeof *members);
    const char *foreign = rc == ERR_MISSING ? foreign_name(name) : NULL;
    const char *elsewhere = rc == ERR_MISSING ? foreign_setting_named(name) : NULL;
    if (foreign != NULL)
        err_set(rc, "a line has no %s; %s", name, foreign);
    else if (elsewhere != NULL)
        err_set(rc, "a line has no %s; %s", name, elsewhere);
    else if (n_full > 0 && strncmp(why, row->name, n_full) == 0 && why[n_full] == ' ')
        err_set(rc, "%s%s", name, why + n_full);
    else if (rc == ERR_MISSING && near != NULL && strstr(why, "did you mean") == NULL)
        err_set(rc, "%s; did you mean %s?", why, near);
    mem_free(why);
    return rc;
}

/* As transformers has it: false is the likeliest token each time, whatever the temperature. */
static int take_do_sample(struct options *o, const json_t *value)
{
    if (value == NULL || json_is_true(value) || json_is_null(value))
        return 0;
    return json_is_false(value) ? options_set(o, OPTION(sampler.temperature), ORIGIN_LINE, "0")
                                : err_set(ERR_FORMAT, "do_sample must be true or false");
}

/* As OpenAI's chat has it: false asks for none, true for what an answer has anyway. */
static int take_logprobs(struct json_prompt *p, struct options *o, const json_t *object)
{
    p->no_logprobs = json_is_false(json_object_get(object, "logprobs"));
    if (p->no_logprobs && json_integer_value(json_object_get(object, "top_logprobs")) > 0)
        return err_set(ERR_FORMAT, "top_logprobs is of no use where logprobs is false");
    return p->no_logprobs ? options_set(o, OPTION(batch.top_logprobs), ORIGIN_LINE, "0") : 0;
}

static int take_members(struct json_prompt *p, struct options *o, json_t *object)
{
    const char *name;
    json_t *value;
    int rc = 0;
    json_object_foreach(object, name, value)
    {
        if (json_is_null(value) && (strcmp(name, "prompt") == 0 || strcmp(name, "ids") == 0))
            continue; /* as if it were not there, like a setting */
        if (strcmp(name, "prompt") == 0) {
            if (!json_is_string(value))
                return err_set(ERR_FORMAT, json_is_integer(json_array_get(value, 0))
                                               ? "prompt must be one text; token IDs are \"ids\""
                                               : "prompt must be one text; a line has one prompt");
            p->n = json_string_length(value);
            if ((p->text = mem_alloc(p->n + 1)) == NULL)
                return ERR_NOMEM;
            memcpy(p->text, json_string_value(value), p->n);
        } else if (strcmp(name, "ids") == 0) {
            rc = take_ids(&p->ids, value);
        } else if (strcmp(name, "id") != 0 && strcmp(name, "do_sample") != 0 &&
                   (strcmp(name, "logprobs") != 0 || !json_is_boolean(value))) {
            rc = take_named(o, name, value);
            p->own_draw |= !json_is_null(value) && is_draw_setting(name);
        }
        if (rc != 0)
            return rc;
    }
    if ((rc = take_do_sample(o, json_object_get(object, "do_sample"))) != 0 ||
        (rc = take_logprobs(p, o, object)) != 0)
        return rc;
    if (p->text == NULL && p->ids.n == 0)
        return json_is_array(json_object_get(object, "ids"))
                   ? err_set(ERR_RANGE, "ids must not be empty")
                   : err_set(ERR_MISSING, "there is no \"prompt\" in this line");
    if (p->text != NULL && p->ids.n > 0)
        return err_set(ERR_FORMAT, "this line has a prompt and ids: give one of them");
    const char *template = o->settings.generate.template;
    if (p->text == NULL && template != NULL && *template != '\0' &&
        settings_store_origin(&o->store, OPTION(generate.template)) == ORIGIN_LINE)
        return err_set(ERR_FORMAT, "template is for a prompt, and this line has ids");
    return 0;
}

/* As they are with the line's. */
static int copy_settings(struct json_prompt *p, const struct options *o, uint64_t seed)
{
    struct sampler_config *c = &p->settings.sampler;
    const int rc = settings_copy(&p->settings, &o->settings);
    if (rc == 0 && c->seed == 0)
        c->seed = settings_store_origin(&o->store, OPTION(sampler.seed)) == ORIGIN_LINE
                      ? rng_fresh_seed()
                      : seed;
    return rc;
}

int json_line_prompt(struct json_prompt *out, const char *line, size_t n, struct options *base,
                     uint64_t seed, void (*tell)(const char *sentence))
{
    *out = (struct json_prompt){0};
    json_t *root = NULL;
    size_t blank = 0;
    while (blank < n && line[blank] != '\0' && strchr(" \t\r\n", line[blank]) != NULL)
        blank++;
    int rc = blank == n ? err_set(ERR_FORMAT, "the line is empty") : json_read_line(&root, line, n);
    if (rc == 0 && !json_is_object(root))
        rc = err_set(ERR_FORMAT, "expected an object, as {\"prompt\": \"My name is\"}");
    if (rc == 0)
        rc = take_name(out, root);
    if (rc == 0)
        rc = take_members(out, base, root);
    if (rc == 0)
        rc = options_check_answers(base, tell);
    if (rc == 0)
        rc = copy_settings(out, base, seed);
    options_clear(base, ORIGIN_LINE);
    json_decref(root);
    return rc;
}

static json_t *real_value(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *list_ids(const struct ids *from)
{
    json_t *list = json_array();
    for (size_t i = 0; i < from->n; i++)
        json_array_append_new(list, json_integer(from->data[i]));
    return list;
}

/* ---- log-probabilities ---- */

static json_t *token_value(const struct tokenizer *t, token_id id)
{
    size_t n;
    const char *bytes = tokenizer_bytes(t, id, &n);
    return json_of_text(bytes == NULL ? "" : bytes, n);
}

static void put_tokens(json_t *object, const char *name, const struct tokenizer *t,
                       const struct ids *ids)
{
    if (t == NULL)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < ids->n; i++)
        json_array_append_new(list, token_value(t, ids->data[i]));
    json_object_set_new(object, name, list);
}

static json_t *list_tokens(const struct token_score *best, int n, const struct tokenizer *t)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        json_t *one = json_object();
        json_object_set_new(one, "id", json_integer(best[i].id));
        if (t != NULL)
            json_object_set_new(one, "token", token_value(t, best[i].id));
        json_object_set_new(one, "logprob", json_of_float(best[i].logprob));
        json_array_append_new(list, one);
    }
    return list;
}

/* To a list that may begin with a null. */
static json_t *extend_token_list(json_t *list, const struct token_scores *s,
                                 const struct tokenizer *t)
{
    for (size_t i = 0; i < s->n; i++)
        json_array_append_new(list, list_tokens(s->best + i * (size_t)s->top, s->top, t));
    return list;
}

static json_t *list_floats(json_t *list, const float *x, size_t n)
{
    for (size_t i = 0; i < n && x != NULL; i++)
        json_array_append_new(list, json_of_float(x[i]));
    return list;
}

static json_t *list_with_null(void)
{
    json_t *list = json_array();
    json_array_append_new(list, json_null());
    return list;
}

static void put_prompt(json_t *object, const struct line_scores *l)
{
    const struct token_scores *s = &l->of_prompt;
    json_object_set_new(object, "prompt_ids", list_ids(&l->prompt));
    put_tokens(object, "prompt_tokens", l->tokenizer, &l->prompt);
    json_object_set_new(object, "prompt_logprobs", list_floats(list_with_null(), s->own, s->n));
    if (s->top > 0)
        json_object_set_new(object, "prompt_top_logprobs",
                            extend_token_list(list_with_null(), s, l->tokenizer));
}

/* Answer i of the line; draw -1: not drawn; searched: by beams, and so it has a score. */
static void put_answer(json_t *object, const struct answer *a, int64_t draw, bool searched,
                       const struct line_scores *l, int i)
{
    json_object_set_new(object, "text", json_of_text(buf_text(&a->text), a->text.n));
    json_object_set_new(object, "ids", list_ids(&a->ids));
    json_object_set_new(object, "logprobs", list_floats(json_array(), a->logprobs, a->ids.n));
    if (l != NULL && l->answers[i].top > 0) {
        put_tokens(object, "tokens", l->tokenizer, &a->ids);
        json_object_set_new(object, "top_logprobs",
                            extend_token_list(json_array(), &l->answers[i], l->tokenizer));
    }
    json_object_set_new(object, "finish_reason", json_string(finish_name(a->finish)));
    if (draw >= 0)
        json_object_set_new(object, "draw", json_integer(draw));
    if (searched)
        json_object_set_new(object, "score", real_value(a->score));
}

/* ---- lines ---- */

/* The line of an object that has members. An id has all of its digits. A seed, which NULL
 * leaves out, may have more than JSON's library reads: it is then a text, which is read. */
static int put_line(struct buf *out, const char *id, json_t *object, const uint64_t *seed)
{
    /* Out of memory, jansson leaves things out. */
    int rc = err_last() == ERR_NOMEM ? ERR_NOMEM
             : id == NULL            ? buf_char(out, '{')
                                     : buf_printf(out, "{\"id\":%s,", id);
    if (rc == 0) /* 9 digits give a float back exactly */
        rc = json_print(out, object, JSON_EMBED | JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(object);
    if (rc == 0 && seed != NULL)
        rc = buf_printf(out, *seed > INT64_MAX ? ",\"seed\":\"%" PRIu64 "\"" : ",\"seed\":%" PRIu64,
                        *seed);
    return rc == 0 ? buf_str(out, "}\n") : rc;
}

static json_t *asked_object(struct json_asked asked)
{
    err_clear();
    json_t *object = json_object();
    if (asked.text != NULL)
        json_object_set_new(object, "prompt", json_of_text(asked.text, asked.n));
    return object;
}

static json_t *list_answers(const struct answer *answers, int n, int64_t draw, bool searched,
                            const struct line_scores *l)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        json_t *one = json_object();
        put_answer(one, &answers[i], draw < 0 ? draw : draw + i, searched, l, i);
        json_array_append_new(list, one);
    }
    return list;
}

static void remove_logprobs(json_t *object)
{
    size_t i;
    json_t *one;
    json_object_del(object, "logprobs");
    json_object_del(object, "prompt_logprobs");
    json_array_foreach(json_object_get(object, "answers"), i, one) json_object_del(one, "logprobs");
}

bool json_is_drawn(const struct settings *s)
{
    return s->sampler.temperature > 0 && !search_wanted(&s->generate);
}

int json_line_answer(struct buf *out, struct json_asked asked, const struct settings *s,
                     int64_t draw, const struct answer *answers, int n_answers,
                     const struct line_scores *scores)
{
    json_t *object = asked_object(asked);
    const bool drawn = json_is_drawn(s), searched = s->generate.num_beams > 1;
    if (!drawn)
        draw = -1;
    if (scores != NULL && scores->echo)
        put_prompt(object, scores);
    if (n_answers == 1)
        put_answer(object, answers, draw, searched, scores, 0);
    else
        json_object_set_new(object, "answers",
                            list_answers(answers, n_answers, draw, searched, scores));
    if (asked.no_logprobs)
        remove_logprobs(object);
    else
        json_object_set_new(object, "logprobs_of", json_string("model"));
    return put_line(out, asked.id, object, drawn ? &s->sampler.seed : NULL);
}

int json_line_error(struct buf *out, struct json_asked asked, const char *sentence)
{
    char *copy = mem_strdup(sentence); /* which may be that of err_text */
    if (copy == NULL)
        return ERR_NOMEM;
    json_t *object = asked_object(asked);
    json_object_set_new(object, "error", json_of_text(copy, strlen(copy)));
    mem_free(copy);
    return put_line(out, asked.id, object, NULL);
}

int json_string_text(struct buf *out, const char *text)
{
    json_t *s = json_of_text(text, strlen(text));
    int rc = json_print(out, s, 0);
    json_decref(s);
    return rc;
}
