#include "repl/terminal/number.h"

#include "repl/terminal/term.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *number_shorten(char *text)
{
    char *e = strpbrk(text, "eE"), *from;
    if (e == NULL || (e[1] != '+' && e[1] != '-'))
        return text;
    char *to = e[1] == '-' ? e + 2 : e + 1;
    for (from = e + 2; *from == '0' && from[1] != '\0'; from++)
        ;
    memmove(to, from, strlen(from) + 1);
    return text;
}

/* "2.600e-05" is "2.6e-05". */
static void drop_zeros(char *text)
{
    char *e = strchr(text, 'e'), *end = e;
    if (e == NULL || strchr(text, '.') == NULL)
        return;
    while (end[-1] == '0')
        end--;
    end -= end[-1] == '.';
    memmove(end, e, strlen(e) + 1);
}

const char *number_power(char out[NUMBER_TEXT], double x, int digits)
{
    snprintf(out, NUMBER_TEXT, "%.*e", digits - 1, x);
    drop_zeros(out);
    return number_shorten(out);
}

const char *number_text(char out[NUMBER_TEXT], double x, int digits)
{
    const double size = fabs(x);
    if (size > 0 && size < 1e-3)
        return number_power(out, x, digits);
    if (size < 1e6 && size >= pow(10, digits - 1))
        snprintf(out, NUMBER_TEXT, "%.0f", x);
    else
        snprintf(out, NUMBER_TEXT, "%.*g", digits, x);
    drop_zeros(out);
    return number_shorten(out);
}

/* The power of ten of x's first digit, once x is rounded to so many digits. */
static int first_power(double x, int digits)
{
    char text[NUMBER_TEXT];
    snprintf(text, sizeof text, "%.*e", digits - 1, x);
    const char *e = strchr(text, 'e');
    return x == 0 || e == NULL ? 0 : (int)strtol(e + 1, NULL, 10);
}

void number_pair(char value[NUMBER_TEXT], char error[NUMBER_TEXT], double x, double e)
{
    if (fabs(e) < fabs(x) * DBL_EPSILON) /* x has no digits so far behind its first */
        e = 0;
    const double size = fmax(fabs(x), fabs(e));
    const bool small = size > 0 && size < 1e-3, large = size >= 1e6 && isfinite(size);
    const int power = small || large ? first_power(size, 2) : 0;
    const double unit = e == 0 ? fabs(x) : fabs(e);
    const int digits = e == 0 ? 4 : 2, last = first_power(unit, digits) - digits + 1;
    const int decimals = x == 0 && e == 0 ? 0 : power - last < 0 ? 0 : power - last;
    char exponent[16] = "";
    if (small || large)
        snprintf(exponent, sizeof exponent, "e%d", power);
    const long double scale = powl(10, power); /* which a double has not for the smallest */
    snprintf(value, NUMBER_TEXT, "%.*Lf%s", decimals, x / scale, exponent);
    snprintf(error, NUMBER_TEXT, "%.*Lf%s", decimals, e / scale, exponent);
}

const char *number_count(char out[NUMBER_TEXT], double n)
{
    const int power = n >= 999.95e6 ? 9 : n >= 999.5e3 ? 6 : n >= 1e3 ? 3 : 0;
    const char *const suffixes[] = {"", "K", "M", "B"};
    snprintf(out, NUMBER_TEXT, "%.*f%s", power > 3, n / pow(10, power), suffixes[power / 3]);
    return out;
}

/* Where the point stands, or would: behind a number of 1e6 and more. */
static int whole_columns(const char *number)
{
    const char *e = strchr(number, 'e');
    return (int)(e != NULL && e[1] != '-' ? strlen(number) : strcspn(number, ".e"));
}

static void widen_column(int *whole, int *part, const char *number)
{
    const int before = whole_columns(number), behind = (int)strlen(number) - before;
    *whole = before > *whole ? before : *whole;
    *part = behind > *part ? behind : *part;
}

void number_column_add(struct number_column *c, const char *value, const char *error)
{
    widen_column(&c->whole, &c->part, value);
    if (error != NULL)
        widen_column(&c->error_whole, &c->error_part, error);
}

int number_column_width(const struct number_column *c)
{
    const char *sign = term_plus_minus();
    const int error = c->error_whole + c->error_part;
    return c->whole + c->part + (error > 0 ? 2 + term_columns(sign, strlen(sign)) + error : 0);
}

int number_column_put(struct buf *out, const struct number_column *c, const char *value,
                      const char *error)
{
    const int before = whole_columns(value), behind = (int)strlen(value) - before;
    int rc = buf_printf(out, "%*s%s", c->whole - before, "", value);
    if (rc == 0 && error != NULL)
        rc = buf_printf(out, "%*s %s %*s%s", c->part - behind, "", term_plus_minus(),
                        c->error_whole - whole_columns(error), "", error);
    return rc;
}
