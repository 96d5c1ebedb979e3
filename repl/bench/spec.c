#include "repl/bench/spec.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/words.h"
#include "model/base/yaml_tree.h"
#include "repl/bench/expression.h"
#include "repl/bench/spec_variants.h"
#include "repl/bench/spec_words.h"
#include "repl/bench/stats.h"

#include <stdio.h>
#include <string.h>

static const char *const reductions[] = {"mean", "final", "min", "max", "median", "value", NULL};

/* ---- single values ---- */

static int take_text(const char **out, const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    if (value == NULL)
        return 0;
    *out = json_string_value(value);
    return *out != NULL ? 0 : err_set(ERR_FORMAT, "%s: expected a text", key);
}

static int take_count(int *out, const json_t *o, const char *key, int least, int most)
{
    const char *text = NULL;
    char more;
    int value;
    int rc = take_text(&text, o, key);
    if (rc != 0 || text == NULL)
        return rc;
    if (strlen(text) > 9 || sscanf(text, "%d%c", &value, &more) != 1 || value < least ||
        value > most)
        return err_set(ERR_RANGE, "%s must be a whole number, %d to %d, not %s", key, least, most,
                       file_quote(text));
    *out = value;
    return 0;
}

/* Names are shown, in pictures too: printable ASCII. */
static int check_plain_name(const char *name)
{
    const size_t n = strlen(name);
    for (size_t i = 0; i < n; i++)
        if (name[i] < ' ' || name[i] > '~')
            return err_set(ERR_FORMAT, "a name has characters other than printable ASCII");
    return n > 0 && n <= 64 ? 0 : err_set(ERR_FORMAT, "a name has 1 to 64 characters, not %zu", n);
}

/* Only these keys, NULL-terminated. */
static int check_keys(const json_t *o, const char *what, const char *const *keys)
{
    const char *name;
    json_t *value;
    size_t n = 0;
    while (keys[n] != NULL)
        n++;
    if (!json_is_object(o))
        return err_set(ERR_FORMAT, "%s: expected a mapping", what);
    json_object_foreach((json_t *)(uintptr_t)o, name, value)
    {
        size_t i = 0;
        while (i < n && strcmp(keys[i], name) != 0)
            i++;
        const char *near = i == n ? words_nearest(name, keys, n) : NULL;
        if (i == n)
            return err_set(ERR_FORMAT, "%s: there is no %s%s%s%s", what, file_quote(name),
                           near == NULL ? "" : "; did you mean ", near == NULL ? "" : near,
                           near == NULL ? "" : "?");
    }
    return 0;
}

/* ---- figures ---- */

static int find_figure(const struct spec_entry *e, const char *name, size_t n)
{
    for (int i = 0; i < e->n_figures; i++)
        if (strlen(e->figures[i].name) == n && strncmp(e->figures[i].name, name, n) == 0)
            return i;
    return -1;
}

static int new_figure(struct spec_figure **f, struct spec_entry *e, const char *name)
{
    if (e->n_figures == SPEC_FIGURES)
        return err_set(ERR_RANGE, "more than %d figures", SPEC_FIGURES);
    if (find_figure(e, name, strlen(name)) >= 0)
        return err_set(ERR_FORMAT, "the figure %s is given twice", file_quote(name));
    const int rc = check_plain_name(name);
    if (rc != 0)
        return rc;
    *f = &e->figures[e->n_figures++];
    **f = (struct spec_figure){.name = name, .unit = "", .shown = true};
    return 0;
}

static int take_read_figure(struct spec_entry *e, const char *name, const json_t *o)
{
    static const char *const keys[] = {"regexp", "skip", "reduction_type", NULL};
    struct spec_figure *f = NULL;
    const char *regexp = NULL, *reduction = NULL;
    int rc = check_keys(o, name, keys), k = 0;
    if (rc == 0)
        rc = new_figure(&f, e, name);
    if (rc == 0)
        rc = take_text(&regexp, o, "regexp");
    if (rc == 0)
        rc = take_text(&reduction, o, "reduction_type");
    if (rc == 0)
        rc = take_count(&f->skip, o, "skip", 0, 1000000);
    if (rc == 0 && regexp == NULL)
        rc = err_set(ERR_FORMAT, "%s has no regexp", file_quote(name));
    while (rc == 0 && reduction != NULL && reductions[k] != NULL &&
           strcmp(reductions[k], reduction) != 0)
        k++;
    if (rc == 0 && reduction != NULL && reductions[k] == NULL)
        rc = err_set(ERR_RANGE,
                     "reduction_type must be mean, final, min, max, median or value, not %s",
                     file_quote(reduction));
    if (rc == 0) {
        f->reduction = (enum spec_reduction)k;
        rc = pattern_compile(&f->pattern, regexp);
    }
    return rc == 0 ? 0 : err_wrap("data: %s", file_quote(name));
}

/* While a specification is read every figure before this one is 1: only names and grammar count. */
static int check_name(void *user, const char *name, size_t n, double *out)
{
    const struct spec_entry *e = user;
    char key[64];
    *out = 1;
    snprintf(key, sizeof key, "%.*s", n < sizeof key ? (int)n : (int)sizeof key - 1, name);
    if (find_figure(e, name, n) >= 0 ||
        json_object_get(json_array_get(e->variants, 0), key) != NULL)
        return 0;
    return err_set(ERR_MISSING, "there is no figure or parameter %s", file_quote(key));
}

static int take_derived_figure(struct spec_entry *e, const char *name, const json_t *o)
{
    static const char *const keys[] = {"expr", "reduction_type", "skip", NULL};
    const struct expression_names names = {check_name, e};
    const char *expression = NULL;
    struct spec_figure *f = NULL;
    double value;
    int rc = check_keys(o, name, keys);
    if (rc == 0)
        rc = take_text(&expression, o, "expr");
    if (rc == 0 && expression == NULL)
        rc = err_set(ERR_FORMAT, "%s has no expr", file_quote(name));
    /* A result such as 1 / (1 - 1) says nothing about the real figures. */
    if (rc == 0 && (rc = expression_value(&value, expression, &names)) == ERR_RANGE)
        rc = 0;
    if (rc == 0)
        rc = new_figure(&f, e, name);
    if (rc == 0)
        f->expression = expression;
    return rc == 0 ? 0 : err_wrap("derived: %s", file_quote(name));
}

static int take_figures(struct spec_entry *e, const json_t *o)
{
    json_t *data = json_object_get(o, "data"), *derived = json_object_get(o, "derived"), *value;
    const char *name;
    int rc = 0;
    if (!json_is_object(data) || json_object_size(data) == 0)
        return err_set(ERR_FORMAT, "data: expected a mapping of figures to what is read for them");
    if (derived != NULL && !json_is_object(derived))
        return err_set(ERR_FORMAT, "derived: expected a mapping of figures to expressions");
    json_object_foreach(data, name, value)
    {
        if (rc == 0)
            rc = take_read_figure(e, name, value);
    }
    json_object_foreach(derived, name, value)
    {
        if (rc == 0)
            rc = take_derived_figure(e, name, value);
    }
    return rc;
}

static int take_output(struct spec_entry *e, const json_t *list)
{
    if (list == NULL)
        return 0;
    if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > SPEC_FIGURES)
        return err_set(ERR_FORMAT, "output: expected a list of [unit, figure]");
    for (int i = 0; i < e->n_figures; i++)
        e->figures[i].shown = false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *pair = json_array_get(list, i);
        const char *unit = json_string_value(json_array_get(pair, 0)),
                   *name = json_string_value(json_array_get(pair, 1));
        if (unit == NULL || name == NULL || json_array_size(pair) != 2)
            return err_set(ERR_FORMAT, "output: expected a list of [unit, figure]");
        const int k = find_figure(e, name, strlen(name));
        if (k < 0)
            return err_set(ERR_MISSING, "output: there is no figure %s", file_quote(name));
        e->figures[k].unit = unit;
        e->figures[k].shown = true;
    }
    return 0;
}

static double reduce_numbers(const struct spec_figure *f, const double *v, size_t n)
{
    struct stats s;
    if (f->reduction == REDUCE_FINAL)
        return v[n - 1];
    if (f->reduction == REDUCE_VALUE)
        return v[0];
    if (stats_of(&s, v, (int)n) != 0)
        return v[0] - v[0];
    return f->reduction == REDUCE_MIN      ? s.low
           : f->reduction == REDUCE_MAX    ? s.high
           : f->reduction == REDUCE_MEDIAN ? s.median
                                           : s.mean;
}

/* ---- entries ---- */

static int read_entry(struct spec_entry *e, const json_t *o)
{
    static const char *const keys[] = {"description", "cmd",    "parameters", "data",
                                       "derived",     "output", "repeats",    "warmup",
                                       "plot",        "env",    NULL};
    char **argv = NULL;
    int rc = check_plain_name(e->name);
    if (rc == 0)
        rc = check_keys(o, "the benchmark", keys);
    if (rc == 0 && json_object_get(o, "env") != NULL)
        rc = err_set(ERR_UNSUPPORTED, "env is not taken: the options of cmd say everything");
    if (rc == 0)
        rc = take_text(&e->description, o, "description");
    if (rc == 0)
        rc = take_text(&e->command, o, "cmd");
    if (rc == 0)
        rc = take_text(&e->plot, o, "plot");
    if (rc == 0)
        rc = take_count(&e->repeats, o, "repeats", 1, SPEC_REPEATS);
    if (rc == 0)
        rc = take_count(&e->warmup, o, "warmup", 0, SPEC_REPEATS);
    if (rc == 0)
        rc = spec_variants(&e->variants, json_object_get(o, "parameters"));
    if (rc == 0 && e->plot != NULL &&
        json_object_get(json_array_get(e->variants, 0), e->plot) == NULL)
        rc = err_set(ERR_MISSING, "plot: there is no parameter %s", file_quote(e->plot));
    if (rc == 0)
        rc = take_figures(e, o);
    if (rc == 0)
        rc = take_output(e, json_object_get(o, "output"));
    for (size_t i = 0; rc == 0 && i < json_array_size(e->variants); i++) {
        rc = spec_words(&argv, e->command, json_array_get(e->variants, i), "bundled");
        spec_free_words(argv);
        argv = NULL;
    }
    return rc;
}

int spec_read(struct spec *s, const char *label, const char *text, size_t n)
{
    const char *name;
    json_t *o;
    *s = (struct spec){0};
    int rc = yaml_read_tree(&s->tree, label, text, n);
    if (rc == 0 && !json_is_object(s->tree))
        rc = err_set(ERR_FORMAT, "%s: expected names of benchmarks", label);
    if (rc == 0 &&
        (s->entries = mem_array(json_object_size(s->tree) + 1, sizeof *s->entries)) == NULL)
        rc = ERR_NOMEM;
    json_object_foreach(s->tree, name, o)
    {
        if (rc != 0)
            break;
        if (json_is_object(o) && json_object_get(o, "cmd") == NULL)
            continue; /* what others merge */
        s->entries[s->n] = (struct spec_entry){.name = name, .description = "", .repeats = 5};
        if ((rc = read_entry(&s->entries[s->n++], o)) != 0)
            rc = err_wrap("%s: %s", label, file_quote(name));
    }
    if (rc == 0 && s->n == 0)
        rc = err_set(ERR_FORMAT, "%s has no benchmark, which is a name with cmd and data", label);
    if (rc != 0)
        spec_release(s);
    return rc;
}

void spec_release(struct spec *s)
{
    for (int i = 0; i < s->n; i++) {
        for (int k = 0; k < s->entries[i].n_figures; k++)
            pattern_release(&s->entries[i].figures[k].pattern);
        json_decref(s->entries[i].variants);
    }
    mem_free(s->entries);
    json_decref(s->tree);
    *s = (struct spec){0};
}

const struct spec_entry *spec_find(const struct spec *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->entries[i].name, name) == 0)
            return &s->entries[i];
    return NULL;
}

/* ---- what was printed ---- */

struct known_values {
    const struct spec_entry *e;
    const json_t *variant;
    const double *values; /* of the figures before the one in question */
    int n;
};

static int known_value(void *user, const char *name, size_t n, double *out)
{
    const struct known_values *k = user;
    const int i = find_figure(k->e, name, n);
    char key[64], more;
    if (i >= 0 && i < k->n) {
        *out = k->values[i];
        return 0;
    }
    snprintf(key, sizeof key, "%.*s", n < sizeof key ? (int)n : (int)sizeof key - 1, name);
    const char *text = json_string_value(json_object_get(k->variant, key));
    if (text != NULL && sscanf(text, "%lf%c", out, &more) == 1)
        return 0;
    return err_set(ERR_RANGE, "%s is not a number", file_quote(text == NULL ? key : text));
}

static int read_figure(double *out, const struct spec_figure *f, const char *text, size_t n)
{
    struct numbers found = {0};
    int rc = pattern_find(&f->pattern, &found, text, n);
    if (rc == 0 && found.n <= (size_t)f->skip)
        rc = found.n == 0
                 ? err_set(ERR_FORMAT, "no number in the output matches its regexp")
                 : err_set(ERR_FORMAT, "%zu number%s in the output, of which skip leaves out %d",
                           found.n, found.n == 1 ? "" : "s", f->skip);
    if (rc == 0)
        *out = reduce_numbers(f, found.list + f->skip, found.n - (size_t)f->skip);
    numbers_release(&found);
    return rc;
}

int spec_figures(double *values, const struct spec_entry *e, const json_t *variant,
                 const char *text, size_t n)
{
    for (int i = 0; i < e->n_figures; i++) {
        const struct spec_figure *f = &e->figures[i];
        struct known_values known = {e, variant, values, i};
        const struct expression_names names = {known_value, &known};
        const int rc = f->expression != NULL ? expression_value(&values[i], f->expression, &names)
                                             : read_figure(&values[i], f, text, n);
        if (rc != 0)
            return err_wrap("%s", file_quote(f->name));
    }
    return 0;
}
