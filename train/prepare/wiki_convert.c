/*
 * Arguments: a value, or several with a word between them ("2|to|5"), the unit, values of smaller
 * units ("5|ft|10|in"), the units to convert to, and how to round. Rounding where nothing is said:
 * to the precision of the value, with at least two digits, three of feet and inches.
 */
#include "train/prepare/wiki_convert.h"

#include "train/prepare/wiki_units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 3, SMALLER = 2, TARGETS = 3, DIGITS = 40, SHOWN = 80 };

struct conversion {
    double value[VALUES];
    char shown[VALUES][SHOWN];
    const struct joint *between[VALUES]; /* shown before the value */
    int n_values, precision; /* decimals of the first value; below 0: zeros at its end */
    const struct wiki_unit *from, *to[TARGETS];
    double factor, to_factor[TARGETS];
    const struct wiki_unit *smaller[SMALLER]; /* of the value: 10 inches behind 5 feet */
    char smaller_shown[SMALLER][SHOWN];       /* value[0] and precision are in the last of them */
    int n_smaller;
    const struct wiki_unit *to_smaller[TARGETS]; /* what is left over in `to`; NULL: decimals */
    int n_to;
    int round, digits; /* decimals, significant digits; round ROUND_AUTO, digits 0: neither */
    bool names[2];     /* whole names, not symbols: of the value, of what it becomes */
    bool adjective, american, flip, only, or_;
};
enum { ROUND_AUTO = -1000 };

/* What stands between values; between those with symbols, and whether each has its own then. */
static const struct joint {
    const char *code, *shown, *symbol;
    bool each;
} joints[] = {
    {"to", " to ", " to ", false},    {"-", "–", "–", false},
    {"–", "–", "–", false},           {"to(-)", " to ", "–", false},
    {"and", " and ", " and ", false}, {"or", " or ", " or ", false},
    {"by", " by ", " by ", false},    {"x", " by ", " × ", true},
    {"xx", " × ", " × ", false},      {"×", " by ", " × ", true},
    {"*", " × ", " × ", false},       {"+/-", " ± ", " ± ", false},
    {"±", " ± ", " ± ", false},       {"to about", " to about ", " to about ", false},
    {"and(-)", " and ", "–", false},  {",", ", ", ", ", false},
    {"by(x)", " by ", " × ", false},
};

static const struct joint *find_joint(const char *word)
{
    for (size_t i = 0; i < sizeof joints / sizeof joints[0]; i++)
        if (strcmp(joints[i].code, word) == 0)
            return &joints[i];
    return NULL;
}

/* "1,234.5", "1/2", "2+1/2", "5e6", with a minus of any kind. */
static bool read_value(const char *text, double *value, char shown[SHOWN], int *precision)
{
    char clean[DIGITS];
    size_t n = 0;
    if (strncmp(text, "\xe2\x88\x92", 3) == 0 || strncmp(text, "–", 3) == 0) {
        clean[n++] = '-';
        text += 3;
    }
    for (; *text != '\0' && n + 1 < DIGITS; text++)
        if (*text != ',' && *text != ' ')
            clean[n++] = *text;
    clean[n] = '\0';
    char *end, *over;
    if (*text != '\0' || n == 0 || strspn(clean, "+-.0123456789eE/") != n)
        return false;
    *value = strtod(clean, &end);
    snprintf(shown, SHOWN, "%s", clean);
    const char *dot = strchr(clean, '.');
    *precision = 0;
    if (*end == '+' || *end == '/') {
        double whole = *end == '+' ? *value : 0;
        over = end;
        double part = *end == '+' ? strtod(end + 1, &over) : *value;
        double below =
            *over == '/' || *end == '/' ? strtod((*end == '/' ? end : over) + 1, &end) : 0;
        if (!(below > 0 && below < 1e9))
            return false;
        *value = whole + part / below;
        *precision = (int)fmax(1, log10(below));
        if (whole != 0)
            snprintf(shown, SHOWN, "%g %g⁄%g", whole, part, below);
        else
            snprintf(shown, SHOWN, "%g⁄%g", part, below);
    } else if (dot != NULL) {
        *precision = (int)strspn(dot + 1, "0123456789");
    } else {
        for (size_t k = strspn(clean, "-0123456789"); k > 1 && clean[k - 1] == '0'; k--)
            --*precision;
    }
    const char *e = strpbrk(clean, "eE");
    *precision -= e == NULL ? 0 : (int)fmax(-99, fmin(99, atof(e + 1)));
    return *end == '\0' && isfinite(*value) && fabs(*value) < 1e30;
}

/* "ftin": feet, and what is left over in inches. */
static bool add_split_target(struct conversion *v, const char *code, size_t n)
{
    static const struct {
        const char *code, *whole, *rest;
    } splits[] = {{"ftin", "ft", "in"},
                  {"ydft", "yd", "ft"},
                  {"miyd", "mi", "yd"},
                  {"stlb", "st", "lb"},
                  {"lboz", "lb", "oz"}};
    double factor;
    for (size_t i = 0; i < sizeof splits / sizeof *splits && v->n_to < TARGETS; i++) {
        const struct wiki_unit *whole = wiki_unit_find(splits[i].whole, 2, &factor);
        if (strlen(splits[i].code) != n || memcmp(splits[i].code, code, n) != 0 ||
            whole->kind != v->from->kind)
            continue;
        v->to_smaller[v->n_to] = wiki_unit_find(splits[i].rest, 2, &factor);
        v->to_factor[v->n_to] = 1;
        v->to[v->n_to++] = whole;
        return true;
    }
    return false;
}

/* One code, or several of one argument: "nmi km". */
static void add_targets(struct conversion *v, const char *codes)
{
    if (v->n_to == TARGETS || add_split_target(v, codes, strlen(codes)))
        return;
    const struct wiki_unit *whole = wiki_unit_find(codes, strlen(codes), &v->to_factor[v->n_to]);
    if (whole != NULL) {
        v->to[v->n_to++] = whole;
        return;
    }
    for (const char *at = codes; *at != '\0';) {
        const size_t n = strcspn(at, " +");
        const bool fits = n > 0 && v->n_to < TARGETS && !add_split_target(v, at, n);
        const struct wiki_unit *u = fits ? wiki_unit_find(at, n, &v->to_factor[v->n_to]) : NULL;
        if (u != NULL && u->kind == v->from->kind)
            v->to[v->n_to++] = u;
        at += n + (at[n] != '\0');
    }
}

static bool is_integer(const char *text)
{
    const char *digits = text + (*text == '-');
    return *digits != '\0' && digits[strspn(digits, "0123456789")] == '\0';
}

static void read_options(struct conversion *v, const struct wiki_call *c, bool abbreviated)
{
    const char *abbr = wiki_named(c, "abbr"), *adj = wiki_named(c, "adj"),
               *disp = wiki_named(c, "disp");
    v->adjective = strcmp(adj, "on") == 0;
    v->names[0] =
        !abbreviated && (*abbr == '\0' || strcmp(abbr, "off") == 0 || strcmp(abbr, "out") == 0);
    v->names[1] = strcmp(abbr, "off") == 0 || strcmp(abbr, "in") == 0 ||
                  (strcmp(disp, "or") == 0 && !abbreviated && *abbr == '\0');
    v->american = strcmp(wiki_named(c, "sp"), "us") == 0;
    v->flip = strcmp(disp, "flip") == 0 || strcmp(wiki_named(c, "order"), "flip") == 0;
    v->only = strncmp(disp, "out", 3) == 0 || strcmp(disp, "number") == 0;
    v->or_ = strcmp(disp, "or") == 0;
    v->digits = atoi(wiki_named(c, "sigfig"));
    v->digits = v->digits < 0 || v->digits > 15 ? 0 : v->digits;
}

static const struct wiki_unit *smallest_unit(const struct conversion *v)
{
    return v->n_smaller == 0 ? v->from : v->smaller[v->n_smaller - 1];
}

/* "10|in" behind "5|ft", from argument i on. Returns the argument behind them. */
static int read_smaller(struct conversion *v, const struct wiki_call *c, int i)
{
    double value, factor;
    int precision;
    for (; v->n_values == 1 && v->factor == 1 && v->n_smaller < SMALLER; i += 2) {
        const char *code = wiki_at(c, i + 1);
        const struct wiki_unit *u = wiki_unit_find(code, strlen(code), &factor),
                               *above = smallest_unit(v);
        char *shown = v->smaller_shown[v->n_smaller];
        if (u == NULL || factor != 1 || u->offset != 0 || u->kind != above->kind ||
            u->scale >= above->scale || !read_value(wiki_at(c, i), &value, shown, &precision))
            break;
        v->value[0] = v->value[0] * above->scale / u->scale + (v->value[0] < 0 ? -value : value);
        v->precision = precision < 0 ? 0 : precision;
        v->smaller[v->n_smaller++] = u;
    }
    return i;
}

static bool read_call(struct conversion *v, const struct wiki_call *c)
{
    int i = 0, ignored;
    *v = (struct conversion){.round = ROUND_AUTO};
    if (!read_value(wiki_at(c, i++), &v->value[0], v->shown[0], &v->precision))
        return false;
    v->n_values = 1;
    for (const struct joint *joint;
         v->n_values < VALUES && (joint = find_joint(wiki_at(c, i))) != NULL &&
         read_value(wiki_at(c, i + 1), &v->value[v->n_values], v->shown[v->n_values], &ignored);
         i += 2)
        v->between[v->n_values++] = joint;
    const char *code = wiki_at(c, i++);
    if ((v->from = wiki_unit_find(code, strlen(code), &v->factor)) == NULL)
        return false;
    for (i = read_smaller(v, c, i); i < c->n; i++) {
        const char *word = wiki_at(c, i);
        if (is_integer(word))
            v->round = atoi(word);
        else
            add_targets(v, word);
    }
    read_options(v, c, strcmp(c->name, "cvt") == 0);
    if (v->n_to == 0)
        add_targets(v, v->from->into);
    return true;
}

/* ---- showing ---- */

static double convert_value(const struct conversion *v, double value, int k)
{
    const struct wiki_unit *from = smallest_unit(v), *to = v->to[k];
    return ((value * v->factor - from->offset) * from->scale / to->scale + to->offset) /
           v->to_factor[k];
}

static int choose_decimals(const struct conversion *v, double value, double result)
{
    const double fudge = 1e-14;
    const double size = fabs(result);
    if (v->digits > 0)
        return size == 0 ? 0 : v->digits - 1 - (int)floor(log10(size) + fudge);
    if (v->round != ROUND_AUTO)
        return v->round;
    if (v->from->kind == 'T') {
        const double kelvin = fabs((value - v->from->offset) * v->from->scale);
        const int least = kelvin < 1e-8 ? 2 : 2 - (int)floor(log10(kelvin) + fudge);
        return v->precision > least ? v->precision : least;
    }
    if (size == 0 || value == 0)
        return 0;
    const bool inches = v->n_smaller > 0 && strcmp(smallest_unit(v)->symbol, "in") == 0;
    const int least = 1 + inches - (int)floor(log10(size) + fudge);
    const int wanted = (int)floor(v->precision + log10(fabs(value) / size) + log10(2));
    return wanted > least ? wanted : least;
}

static int add_result(struct buf *out, double result, int decimals)
{
    char text[400];
    if (!isfinite(result) || fabs(result) > 1e30)
        return 0;
    decimals = decimals > 12 ? 12 : decimals < -18 ? -18 : decimals;
    const double unit = pow(10, decimals < 0 ? -decimals : 0);
    double rounded = round(result / unit) * unit;
    snprintf(text, sizeof text, "%.*f", decimals > 0 ? decimals : 0,
             decimals < 0 ? rounded : result);
    if (strspn(text, "-0.") == strlen(text) && *text == '-')
        memmove(text, text + 1, strlen(text));
    return wiki_add_number(out, text);
}

/* "metre" becomes "meter". */
static int add_name(struct buf *out, const char *name, bool american, bool hyphen)
{
    int rc = 0;
    for (const char *p = name; *p != '\0' && rc == 0; p++) {
        if (american && (strncmp(p, "metre", 5) == 0 || strncmp(p, "litre", 5) == 0)) {
            rc = buf_add(out, p, 3);
            if (rc == 0)
                rc = buf_str(out, "er");
            p += 4;
        } else {
            rc = buf_char(out, hyphen && *p == ' ' ? '-' : *p);
        }
    }
    return rc;
}

static int add_unit(struct buf *out, const struct conversion *v, const struct wiki_unit *u,
                    double factor, bool whole, bool one)
{
    static const struct {
        double factor;
        const char *name;
    } powers[] = {{1e3, "thousand"}, {1e6, "million"}, {1e9, "billion"}};
    const bool tight = !whole && *u->symbol == '/';
    int rc = tight ? 0 : buf_char(out, v->adjective && whole ? '-' : ' ');
    for (size_t i = 0; i < 3 && rc == 0; i++)
        if (factor == powers[i].factor)
            rc = buf_printf(out, "%s%c", powers[i].name, v->adjective && whole ? '-' : ' ');
    if (rc != 0)
        return rc;
    return whole
               ? add_name(out, one || v->adjective ? u->name : u->plural, v->american, v->adjective)
               : buf_str(out, u->symbol);
}

static int add_joint(struct buf *out, const struct conversion *v, int i, bool whole)
{
    const struct joint *j = i == 0 ? NULL : v->between[i];
    return j == NULL ? 0 : buf_str(out, whole ? j->shown : j->symbol);
}

/* Whether each of several values has its unit: "3 m × 4 m". */
static bool has_unit(const struct conversion *v, int i, bool whole)
{
    return i == v->n_values - 1 || (!whole && v->between[i + 1]->each);
}

/* "1", "1⁄2", "−1", for the name of the unit behind it. */
static bool is_one(const char *shown, double value)
{
    return fabs(value) == 1 || (fabs(value) < 1 && strstr(shown, "⁄") != NULL);
}

/* "10 inches", behind the feet. */
static int add_smaller(struct buf *out, const struct conversion *v, bool whole)
{
    int rc = 0;
    for (int i = 0; i < v->n_smaller && rc == 0; i++) {
        const char *shown = v->smaller_shown[i];
        rc = buf_char(out, v->adjective && whole ? '-' : ' ');
        if (rc == 0)
            rc = wiki_add_number(out, shown);
        if (rc == 0)
            rc = add_unit(out, v, v->smaller[i], 1, whole, is_one(shown, atof(shown)));
    }
    return rc;
}

static int add_input(struct buf *out, const struct conversion *v, bool whole)
{
    int rc = 0;
    for (int i = 0; i < v->n_values && rc == 0; i++) {
        const char *shown = v->shown[i];
        const double value = v->n_smaller > 0 ? atof(shown) : v->value[i];
        rc = add_joint(out, v, i, whole);
        if (rc == 0 && shown[0] == '-') {
            rc = buf_str(out, "\xe2\x88\x92");
            shown++;
        }
        if (rc == 0)
            rc = wiki_add_number(out, shown);
        const bool one = v->n_values == 1 && v->factor == 1 && is_one(shown, value);
        if (rc == 0 && has_unit(v, i, whole))
            rc = add_unit(out, v, v->from, v->factor, whole, one);
    }
    return rc == 0 ? add_smaller(out, v, whole) : rc;
}

/* Feet, and the inches that are left over. */
static int add_split(struct buf *out, const struct conversion *v, int k, double result, bool whole)
{
    const struct wiki_unit *rest = v->to_smaller[k];
    const double ratio = round(v->to[k]->scale / rest->scale);
    const int decimals = v->round > 0 && v->round < 6 ? v->round : 0;
    const double step = pow(10, decimals), parts = round(result * ratio * step) / step;
    const double first = floor(parts / ratio), left = parts - first * ratio;
    int rc = first == 0 ? 0 : add_result(out, first, 0);
    if (rc == 0 && first != 0 && (rc = add_unit(out, v, v->to[k], 1, whole, first == 1)) == 0)
        rc = buf_char(out, v->adjective && whole ? '-' : ' ');
    if (rc == 0)
        rc = add_result(out, left, decimals);
    return rc == 0 ? add_unit(out, v, rest, 1, whole, left == 1) : rc;
}

static int add_target(struct buf *out, const struct conversion *v, int k, bool whole)
{
    int rc = 0;
    for (int i = 0; i < v->n_values && rc == 0; i++) {
        const double result = convert_value(v, v->value[i], k);
        const int decimals = choose_decimals(v, v->value[i], result);
        rc = add_joint(out, v, i, whole);
        if (rc == 0 && result < 0)
            rc = buf_str(out, "\xe2\x88\x92");
        if (rc == 0 && v->to_smaller[k] != NULL) {
            rc = add_split(out, v, k, fabs(result), whole);
            continue;
        }
        if (rc == 0)
            rc = add_result(out, fabs(result), decimals);
        if (rc == 0 && has_unit(v, i, whole))
            rc = add_unit(out, v, v->to[k], v->to_factor[k], whole, result == 1);
    }
    return rc;
}

static int add_targets_text(struct buf *out, const struct conversion *v, bool whole)
{
    int rc = 0;
    for (int k = 0; k < v->n_to && rc == 0; k++) {
        rc = k == 0 ? 0 : buf_str(out, "; ");
        if (rc == 0)
            rc = add_target(out, v, k, whole);
    }
    return rc;
}

/* A unit that is not known: what was written. */
static int add_unknown(struct buf *out, const struct wiki_call *c)
{
    int rc = wiki_add_number(out, wiki_at(c, 0)), i = 1;
    for (const struct joint *j; rc == 0 && (j = find_joint(wiki_at(c, i))) != NULL; i += 2) {
        rc = buf_str(out, j->shown);
        if (rc == 0)
            rc = wiki_add_number(out, wiki_at(c, i + 1));
    }
    return rc == 0 && *wiki_at(c, i) != '\0' ? buf_printf(out, " %s", wiki_at(c, i)) : rc;
}

/* Temperatures have symbols where others have names. */
static void choose_symbols(struct conversion *v, const struct wiki_call *c)
{
    const char *abbr = wiki_named(c, "abbr");
    if ((v->from->kind == 'T' || v->from->kind == 'd') && strcmp(abbr, "off") != 0)
        v->names[0] = v->names[1] = false;
}

int wiki_convert(struct buf *out, const struct wiki_call *c)
{
    struct conversion v;
    if (!read_call(&v, c))
        return add_unknown(out, c);
    choose_symbols(&v, c);
    if (v.only && v.n_to > 0)
        return add_targets_text(out, &v, v.names[1]);
    if (v.n_to == 0)
        return add_input(out, &v, v.names[0]);
    int rc = v.flip ? add_target(out, &v, 0, v.names[0]) : add_input(out, &v, v.names[0]);
    if (rc == 0)
        rc = buf_str(out, v.or_ ? " or " : " (");
    if (rc == 0)
        rc = v.flip ? add_input(out, &v, v.names[1]) : add_targets_text(out, &v, v.names[1]);
    return rc == 0 && !v.or_ ? buf_char(out, ')') : rc;
}
