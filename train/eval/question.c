#include "train/eval/question.h"

#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "train/eval/spaces.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

void question_release(struct question *q)
{
    buf_release(&q->context);
    buf_release(&q->between);
    for (int i = 0; i < q->n_endings; i++)
        buf_release(&q->endings[i]);
    mem_free(q->endings);
    *q = (struct question){0};
}

/* ---- lm-eval's text ---- */

static size_t replace_text(char *text, size_t n, const char *what, const char *with)
{
    size_t n_what = strlen(what), n_with = strlen(with), to = 0;
    for (size_t at = 0; at < n;) {
        if (n - at >= n_what && memcmp(text + at, what, n_what) == 0) {
            memcpy(text + to, with, n_with);
            to += n_with;
            at += n_what;
        } else {
            text[to++] = text[at++];
        }
    }
    return to;
}

/* "[...]" within a line goes. */
static size_t drop_brackets(char *text, size_t n)
{
    size_t to = 0;
    for (size_t at = 0; at < n;) {
        size_t end = at;
        if (text[at] == '[')
            while (end < n && text[end] != ']' && text[end] != '\n')
                end++;
        if (end > at && end < n && text[end] == ']') {
            at = end + 1;
            continue;
        }
        do /* what no bracket closes stays up to there, and is not searched again */
            text[to++] = text[at++];
        while (at < end);
    }
    return to;
}

static void prepare_text(struct buf *b)
{
    if (b->n == 0)
        return;
    struct span s = span_strip((struct span){b->data, b->n});
    memmove(b->data, s.text, s.n);
    size_t n = replace_text(b->data, s.n, " [title]", ". ");
    n = drop_brackets(b->data, n);
    b->n = replace_text(b->data, n, "  ", " ");
    b->data[b->n] = '\0';
}

/* Python's capitalize(): the first letter large, all others small. */
static int add_capitalized(struct buf *out, const char *text)
{
    size_t n = strlen(text);
    int rc = 0;
    for (size_t at = 0; at < n && rc == 0;) {
        utf8proc_int32_t c;
        utf8proc_uint8_t bytes[4];
        utf8proc_ssize_t step =
            utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(n - at), &c);
        if (step <= 0) /* jansson gives valid UTF-8 only */
            return buf_str(out, text + at);
        c = at == 0 ? utf8proc_totitle(c) : utf8proc_tolower(c);
        rc = buf_add(out, bytes, (size_t)utf8proc_encode_char(c, bytes));
        at += (size_t)step;
    }
    return rc;
}

/* ---- a line ---- */

/* The text of the first of these keys that the line has; NULL: of none. */
static int take_first_text(const json_t *o, const char *const *keys, const char **out)
{
    int rc = 0;
    for (*out = NULL; *keys != NULL && *out == NULL && rc == 0; keys++)
        rc = json_take_text(o, *keys, out);
    return rc;
}

static int read_context(struct question *q, const json_t *o, bool prepare)
{
    static const char *const names[] = {"ctx", "context", "prompt", NULL};
    const char *label = NULL, *a = NULL, *b = "", *text = NULL;
    int rc = json_take_text(o, "activity_label", &label);
    if (rc != 0 || (rc = json_take_text(o, "ctx_a", &a)) != 0 ||
        (rc = json_take_text(o, "ctx_b", &b)) != 0 || (rc = take_first_text(o, names, &text)) != 0)
        return rc;
    q->hellaswag = prepare && label != NULL && a != NULL;
    if (q->hellaswag) {
        if ((rc = buf_printf(&q->context, "%s: %s ", label, a)) == 0)
            rc = add_capitalized(&q->context, b);
        prepare_text(&q->context);
        return rc;
    }
    if (text != NULL)
        return buf_str(&q->context, text);
    if (a != NULL)
        return buf_printf(&q->context, "%s%s%s", a, *b == '\0' ? "" : " ", b);
    return err_set(ERR_FORMAT,
                   "there is no context, expected ctx, ctx_a with ctx_b, context or prompt");
}

static int split_context(struct question *q)
{
    size_t n = q->context.n;
    for (size_t k; (k = space_before(q->context.data, n)) > 0;)
        n -= k;
    int rc = q->context.n > n ? buf_add(&q->between, q->context.data + n, q->context.n - n) : 0;
    if (q->context.n > n)
        q->context.data[q->context.n = n] = '\0';
    return rc == 0 ? buf_char(&q->between, ' ') : rc;
}

static int read_endings(struct question *q, const json_t *o)
{
    const json_t *list = json_object_get(o, "endings");
    if (list == NULL)
        list = json_object_get(o, "choices");
    if (list == NULL)
        return err_set(ERR_FORMAT, "there are no endings, expected endings or choices");
    size_t n = json_array_size(list); /* 0 where it is no list */
    if (n < 2 || n > 1000)
        return err_set(ERR_RANGE, "the endings must be a list of 2 to 1000 texts");
    if ((q->endings = mem_array(n, sizeof *q->endings)) == NULL)
        return ERR_NOMEM;
    for (; q->n_endings < (int)n; q->n_endings++) {
        const json_t *text = json_array_get(list, (size_t)q->n_endings);
        struct buf *b = &q->endings[q->n_endings];
        if (!json_is_string(text))
            return err_set(ERR_FORMAT, "ending %d is not a string", q->n_endings);
        int rc = buf_str(b, json_string_value(text));
        if (rc != 0)
            return rc;
        if (q->hellaswag)
            prepare_text(b);
    }
    return 0;
}

/* The text of an ending, or its number as a text. "3" may be both, of two endings: refused. */
static int answer_of_text(json_int_t *answer, const struct question *q, const json_t *endings,
                          const json_t *v)
{
    const char *text = json_string_value(v);
    const bool is_number = text[strspn(text, "0123456789")] == '\0' && strlen(text) <= 4;
    const long number = is_number ? strtol(text, NULL, 10) : -1;
    int said = -1;
    for (int i = q->n_endings - 1; i >= 0; i--)
        if (json_equal(json_array_get(endings, (size_t)i), v))
            said = i;
    if (said >= 0 && is_number && number < q->n_endings && number != said)
        return err_set(ERR_FORMAT,
                       "the right ending is \"%s\", which is the text of ending %d and may be the "
                       "number of another; as a number it is %s, without quotes",
                       text, said, text);
    *answer = said >= 0 ? said : number;
    return 0;
}

static int read_answer(struct question *q, const json_t *o)
{
    static const char *const keys[] = {"label", "answer", "gold", NULL};
    const json_t *v = NULL, *list = json_object_get(o, "endings");
    char shown[80];
    for (int i = 0; keys[i] != NULL && v == NULL; i++)
        v = json_object_get(o, keys[i]);
    if (v == NULL || (json_is_string(v) && json_string_length(v) == 0))
        return err_set(ERR_FORMAT,
                       "it does not say which ending is right, expected label, answer or gold");
    json_int_t answer = json_is_integer(v) ? json_integer_value(v) : -1;
    if (list == NULL)
        list = json_object_get(o, "choices");
    int rc = json_is_string(v) ? answer_of_text(&answer, q, list, v) : 0;
    if (rc != 0)
        return rc;
    if (answer < 0 || answer >= q->n_endings)
        return err_set(ERR_RANGE, "the right ending is %s, must be 0 to %d",
                       json_shown(shown, sizeof shown, v), q->n_endings - 1);
    q->answer = (int)answer;
    return 0;
}

int question_read(struct question *q, const char *line, size_t n, bool prepare)
{
    json_t *o = NULL;
    *q = (struct question){0};
    int rc = json_read_plain_line(&o, line, n);
    if (rc == 0 && !json_is_object(o))
        rc = err_set(ERR_FORMAT, "expected a JSON object");
    if (rc == 0 && (rc = read_context(q, o, prepare)) == 0 && (rc = split_context(q)) == 0 &&
        (rc = read_endings(q, o)) == 0)
        rc = read_answer(q, o);
    if (rc != 0)
        question_release(q);
    json_decref(o);
    return rc;
}
