/* Each function reads one level: a sum of products of factors. */
#include "repl/bench/expression.h"

#include "model/base/err.h"
#include "model/base/file.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32, EXPRESSION_BYTES = 512 };

struct expression {
    const char *at, *whole;
    int depth;
    const struct expression_names *names;
};

static int refuse_expression(const struct expression *e)
{
    return err_set(ERR_FORMAT,
                   "%s is not an expression of numbers, {name}, + - * / and parentheses",
                   file_quote(e->whole));
}

static char next_sign(struct expression *e)
{
    e->at += strspn(e->at, " \t\n");
    return *e->at;
}

static int read_sum(struct expression *e, double *out);

static int read_parentheses(struct expression *e, double *out)
{
    e->at++;
    if (++e->depth > DEPTH_MAX)
        return refuse_expression(e);
    const int rc = read_sum(e, out);
    e->depth--;
    if (rc != 0 || next_sign(e) != ')')
        return rc != 0 ? rc : refuse_expression(e);
    e->at++;
    return 0;
}

static int read_factor(struct expression *e, double *out)
{
    double sign = 1;
    for (; next_sign(e) == '-'; e->at++)
        sign = -sign;
    int rc = 0;
    if (*e->at == '(') {
        rc = read_parentheses(e, out);
    } else if (*e->at == '{') {
        const char *name = e->at + 1, *end = strchr(name, '}');
        if (end == NULL)
            return refuse_expression(e);
        rc = e->names->value(e->names->user, name, (size_t)(end - name), out);
        e->at = end + 1;
    } else if (isdigit((unsigned char)*e->at) || *e->at == '.') {
        char *end;
        *out = strtod(e->at, &end);
        if (end == e->at)
            return refuse_expression(e);
        e->at = end;
    } else {
        return refuse_expression(e);
    }
    *out *= sign;
    return rc;
}

static int read_product(struct expression *e, double *out)
{
    int rc = read_factor(e, out);
    while (rc == 0 && (next_sign(e) == '*' || *e->at == '/')) {
        const char sign = *e->at++;
        double by = 0;
        rc = read_factor(e, &by);
        *out = sign == '*' ? *out * by : *out / by;
    }
    return rc;
}

static int read_sum(struct expression *e, double *out)
{
    int rc = read_product(e, out);
    while (rc == 0 && (next_sign(e) == '+' || *e->at == '-')) {
        const char sign = *e->at++;
        double by = 0;
        rc = read_product(e, &by);
        *out = sign == '+' ? *out + by : *out - by;
    }
    return rc;
}

int expression_value(double *out, const char *text, const struct expression_names *names)
{
    struct expression e = {.at = text, .whole = text, .names = names};
    if (strlen(text) > EXPRESSION_BYTES)
        return refuse_expression(&e);
    *out = 0;
    int rc = read_sum(&e, out);
    if (rc == 0 && next_sign(&e) != '\0')
        rc = refuse_expression(&e);
    if (rc == 0 && !isfinite(*out))
        rc = err_set(ERR_RANGE, "%s is not a finite number", file_quote(text));
    return rc;
}
