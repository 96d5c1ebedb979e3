#include "train/prepare/wiki_expr.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32 };

struct expr {
    const char *at;
    int depth;
    bool wrong;
};

double wiki_round(double value, int decimals)
{
    const double scale = pow(10, decimals < -15 ? -15 : decimals > 15 ? 15 : decimals);
    const double scaled = value * scale;
    /* 1.005 is meant where the nearest double is a little less. */
    return round(scaled + (scaled < 0 ? -1e-9 : 1e-9)) / scale;
}

/* Whether the sign or word comes next; then it is passed over. */
static bool take_word(struct expr *e, const char *word)
{
    const size_t n = strlen(word);
    while (isspace((unsigned char)*e->at))
        e->at++;
    if (strncmp(e->at, word, n) != 0 ||
        (isalpha((unsigned char)*word) && isalpha((unsigned char)e->at[n])))
        return false;
    e->at += n;
    return true;
}

static double read_sum(struct expr *e);
static double read_rounded(struct expr *e);

/* A number as people write them: 1,234.5 or 12e3. */
static double read_number(struct expr *e)
{
    char digits[64];
    size_t n = 0;
    while (n + 1 < sizeof digits && (isdigit((unsigned char)*e->at) || *e->at == '.' ||
                                     (*e->at == ',' && isdigit((unsigned char)e->at[1])))) {
        if (*e->at != ',')
            digits[n++] = *e->at;
        e->at++;
    }
    digits[n] = '\0';
    char *end;
    double value = strtod(digits, &end);
    e->wrong |= n == 0 || *end != '\0';
    if (take_word(e, "e")) {
        const bool minus = take_word(e, "-") || (take_word(e, "+") && false);
        const long power = strtol(e->at, &end, 10);
        e->wrong |= end == e->at;
        e->at = end;
        value *= pow(10, minus ? -(double)power : (double)power);
    }
    return value;
}

static double read_value(struct expr *e)
{
    double value = 0;
    if (e->wrong || ++e->depth > DEPTH_MAX) {
        e->wrong = true;
    } else if (take_word(e, "(")) {
        value = read_rounded(e);
        e->wrong |= !take_word(e, ")");
    } else if (take_word(e, "-") || take_word(e, "\xe2\x88\x92")) {
        value = -read_value(e);
    } else if (take_word(e, "+")) {
        value = read_value(e);
    } else if (take_word(e, "abs")) {
        value = fabs(read_value(e));
    } else if (take_word(e, "ceil")) {
        value = ceil(read_value(e));
    } else if (take_word(e, "floor")) {
        value = floor(read_value(e));
    } else if (take_word(e, "trunc")) {
        value = trunc(read_value(e));
    } else {
        value = read_number(e);
    }
    e->depth--;
    return value;
}

static double read_power(struct expr *e)
{
    double value = read_value(e);
    while (!e->wrong && take_word(e, "^"))
        value = pow(value, read_value(e));
    return value;
}

static double read_product(struct expr *e)
{
    double value = read_power(e);
    while (!e->wrong) {
        if (take_word(e, "*"))
            value *= read_power(e);
        else if (take_word(e, "/") || take_word(e, "div"))
            value /= read_power(e);
        else if (take_word(e, "mod"))
            value = fmod(trunc(value), trunc(read_power(e)));
        else
            break;
    }
    return value;
}

static double read_sum(struct expr *e)
{
    double value = read_product(e);
    while (!e->wrong) {
        if (take_word(e, "+"))
            value += read_product(e);
        else if (take_word(e, "-") || take_word(e, "\xe2\x88\x92"))
            value -= read_product(e);
        else
            break;
    }
    return value;
}

static double read_rounded(struct expr *e)
{
    double value = read_sum(e);
    while (!e->wrong && take_word(e, "round")) {
        const double decimals = read_sum(e);
        value = wiki_round(value, fabs(decimals) < 100 ? (int)decimals : 15);
    }
    return value;
}

bool wiki_expr(double *value, const char *text)
{
    struct expr e = {.at = text};
    *value = read_rounded(&e);
    take_word(&e, "");
    return !e.wrong && *e.at == '\0' && isfinite(*value);
}
