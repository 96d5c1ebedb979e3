/*
 * A word is taken apart from its end, PATH[:WEIGHT][:FROM..UNTIL], since a path may have colons: a
 * last part with ".." is a range, the part before it a weight if it is a number. What is no number
 * belongs to the path, and so does all of a word that names a file.
 */
#include "train/data/mixture.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/words.h"
#include "train/data/fraction.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 64 };
enum { KEY_PATH, KEY_WEIGHT, KEY_FROM, KEY_UNTIL };
const char *const mixture_keys[] = {"path", "weight", "from", "until", NULL};

/* ---- numbers ---- */

/* All n bytes are a number, NaN and infinity among them. */
static bool read_number(double *out, const char *text, size_t n)
{
    char copy[NUMBER_BYTES], *end;
    if (n == 0 || n >= sizeof copy || strchr(" \t\n", text[0]) != NULL)
        return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    *out = strtod(copy, &end);
    return *end == '\0';
}

/* What a number has to be, NULL: it is. */
static const char *weight_range(double weight)
{
    return weight >= 0 && weight <= 1e9 ? NULL : "0 to 1000000000";
}

static const char *moment_range(double said)
{
    return said >= 0 && (said <= 1 || (said <= 1e9 && said == floor(said)))
               ? NULL
               : "0 to 1 (a fraction of the run) or a whole step above 1";
}

int mixture_check_value(int k, const char *value)
{
    double x;
    if (k == KEY_PATH)
        return *value != '\0' ? 0 : err_set(ERR_RANGE, "path is empty");
    const char *range = !read_number(&x, value, strlen(value)) ? "a number"
                        : k == KEY_WEIGHT                      ? weight_range(x)
                                                               : moment_range(x);
    return range == NULL ? 0
                         : err_set(ERR_RANGE, "%s must be %s, not %s", mixture_keys[k], range,
                                   file_quote(value));
}

int64_t mixture_step(double said, int64_t n_steps)
{
    if (said > 1e9)
        return INT64_MAX;
    return said <= 1 ? fraction_of(said, n_steps) : (int64_t)said;
}

/* ---- words ---- */

/* What a word says besides its path. */
struct suffixes {
    size_t n_path;
    double weight, from, until;
    bool given, weighted; /* anything; a weight */
};

/* "FROM..UNTIL" of n bytes. */
static bool read_range(struct suffixes *s, const char *text, size_t n)
{
    const char *dots = memmem(text, n, "..", 2);
    if (dots == NULL)
        return false;
    size_t left = (size_t)(dots - text), right = n - left - 2;
    return (left == 0 || read_number(&s->from, text, left)) &&
           (right == 0 || read_number(&s->until, dots + 2, right));
}

/* Where the part behind the last colon of the first n bytes begins; 0: there is none. */
static size_t last_suffix(const char *word, size_t n)
{
    while (n > 0 && word[n - 1] != ':')
        n--;
    return n > 1 ? n : 0;
}

static struct suffixes split_word(const char *word, size_t n)
{
    const struct suffixes none = {.n_path = n, .until = INFINITY};
    struct suffixes s = none;
    size_t at = last_suffix(word, n);
    if (at > 0 && read_range(&s, word + at, n - at)) {
        s.given = true;
        s.n_path = at - 1;
        at = last_suffix(word, s.n_path);
    } else {
        s = none;
    }
    /* Nothing before a range is a weight that is not given: so a path may end in a number. */
    s.weighted = at > 0 && read_number(&s.weight, word + at, s.n_path - at);
    if (s.weighted || (s.given && at > 0 && at == s.n_path))
        s.n_path = at - 1;
    s.given |= s.weighted;
    return s;
}

static bool path_exists(const char *word)
{
    char *path = file_expand(word);
    bool there = path != NULL && file_exists(path);
    mem_free(path);
    return there;
}

/* With a slash behind a folder or without. */
static bool same_path(const char *a, const char *b)
{
    size_t n_a = strlen(a), n_b = strlen(b);
    while (n_a > 1 && a[n_a - 1] == '/')
        n_a--;
    while (n_b > 1 && b[n_b - 1] == '/')
        n_b--;
    return n_a == n_b && memcmp(a, b, n_a) == 0;
}

/* ---- entries ---- */

static int check_number(const char *word, int k, double x, const char *range)
{
    char text[32];
    if (range == NULL)
        return 0;
    snprintf(text, sizeof text, isnan(x) ? "NaN" : "%g", x);
    return err_set(ERR_RANGE, "%s: %s must be %s, not %s", file_quote(word), mixture_keys[k], range,
                   text);
}

static int check_suffixes(const struct suffixes *s, const char *word)
{
    int rc = s->weighted ? check_number(word, KEY_WEIGHT, s->weight, weight_range(s->weight)) : 0;
    if (rc == 0)
        rc = check_number(word, KEY_FROM, s->from, moment_range(s->from));
    if (rc == 0 && s->until != INFINITY)
        rc = check_number(word, KEY_UNTIL, s->until, moment_range(s->until));
    if (rc == 0 && (s->until <= 1) == (s->from <= 1) && s->from >= s->until)
        rc = err_set(ERR_RANGE, "%s: until must be greater than from (%g), not %g",
                     file_quote(word), s->from, s->until);
    return rc;
}

static int parse_entry(struct mixture *m, const char *word, size_t n, bool *given)
{
    struct mixture_entry *e = &m->list[m->n];
    struct suffixes s = {.n_path = n, .until = INFINITY};
    const bool exists = path_exists(word);
    for (; *word == ' ' && !exists; word++) /* behind the comma, as people write lists */
        s.n_path = --n;
    if (!exists && !path_exists(word))
        s = split_word(word, n);
    int rc = check_suffixes(&s, word);
    if (rc != 0)
        return rc;
    *e = (struct mixture_entry){.weight = s.weighted ? s.weight : NAN,
                                .from = s.from,
                                .until = s.until,
                                .source = m->n_sources};
    if ((e->path = mem_sprintf("%.*s", (int)s.n_path, word)) == NULL)
        return ERR_NOMEM;
    for (size_t i = m->n; i-- > 0;)
        if (same_path(m->list[i].path, e->path))
            e->source = m->list[i].source;
    m->n_sources += e->source == m->n_sources;
    m->n++;
    *given |= s.given;
    return 0;
}

/* A weight beside none could be anything. */
static int check_weights(const struct mixture *m)
{
    const struct mixture_entry *with = NULL, *without = NULL;
    for (size_t i = m->n; i-- > 0;)
        *(isnan(m->list[i].weight) ? &without : &with) = &m->list[i];
    if (with != NULL && without != NULL)
        return err_set(ERR_RANGE,
                       "%s has a weight and %s has none: give a weight to each source or to none",
                       file_quote(with->path), file_quote(without->path));
    if (m->n_sources > MIXTURE_MAX)
        return err_set(ERR_RANGE, "%d sources, expected at most %d; a folder counts as one",
                       m->n_sources, MIXTURE_MAX);
    return 0;
}

int mixture_parse(struct mixture *out, const char *text)
{
    struct words words;
    bool given = false;
    *out = (struct mixture){0};
    if (words_parse(&words, text) != 0)
        return err_last() == ERR_NOMEM ? ERR_NOMEM : 0;
    int rc = (out->list = mem_array(words.n, sizeof *out->list)) == NULL ? ERR_NOMEM : 0;
    for (size_t i = 0; i < words.n && rc == 0; i++)
        rc = parse_entry(out, words.list[i].bytes, words.list[i].n, &given);
    words_release(&words);
    if (rc == 0 && given)
        rc = check_weights(out);
    if (rc != 0 || !given)
        mixture_release(out);
    return rc;
}

void mixture_release(struct mixture *m)
{
    for (size_t i = 0; i < m->n; i++)
        mem_free(m->list[i].path);
    mem_free(m->list);
    *m = (struct mixture){0};
}

const char *mixture_path(const struct mixture *m, int source)
{
    size_t i = 0;
    while (m->list[i].source != source)
        i++;
    return m->list[i].path;
}

bool mixture_same_weights(const struct mixture *a, const struct mixture *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; i < a->n && same; i++) {
        const struct mixture_entry *x = &a->list[i], *y = &b->list[i];
        same = x->source == y->source && x->from == y->from && x->until == y->until &&
               (x->weight == y->weight || (isnan(x->weight) && isnan(y->weight)));
    }
    return same;
}

int mixture_write_entry(struct buf *out, const char *const *values)
{
    const char *path = values[KEY_PATH], *weight = values[KEY_WEIGHT];
    const char *from = values[KEY_FROM], *until = values[KEY_UNTIL];
    if (path == NULL)
        return err_set(ERR_RANGE, "path is missing");
    const struct suffixes own = split_word(path, strlen(path));
    const bool range = from != NULL || until != NULL || own.given;
    int rc = buf_str(out, path);
    if (rc == 0 && weight != NULL)
        rc = buf_printf(out, ":%s", weight);
    else if (rc == 0 && own.given)
        rc = buf_char(out, ':');
    if (rc == 0 && range)
        rc = buf_printf(out, ":%s..%s", from != NULL ? from : "", until != NULL ? until : "");
    return rc;
}
