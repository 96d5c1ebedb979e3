#include "train/prepare/wiki_numbers.h"

#include "train/prepare/wiki_date.h"
#include "train/prepare/wiki_expr.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last digits of a whole number, whatever its sign; 100: two of them. */
static int last_digits(const char *number, int of)
{
    return (int)labs(strtol(number, NULL, 10) % of);
}

/* As MediaWiki prints a number, with commas or without. */
static int add_value(struct buf *out, double value, bool commas)
{
    char digits[40];
    snprintf(digits, sizeof digits, "%.12g", value == 0 ? 0 : value);
    return commas ? wiki_add_number(out, digits) : buf_str(out, digits);
}

static int show_expression(struct buf *out, const struct wiki_call *c)
{
    double value;
    return wiki_expr(&value, wiki_at(c, 0)) ? add_value(out, value, false) : 0;
}

/* {{round|3.14159|2}} */
static int show_rounded(struct buf *out, const struct wiki_call *c)
{
    double value;
    const int decimals = atoi(wiki_at(c, 1));
    char digits[64];
    if (!wiki_expr(&value, wiki_at(c, 0)) || fabs(value) > 1e15)
        return buf_str(out, wiki_at(c, 0));
    snprintf(digits, sizeof digits, "%.*f",
             decimals < 0    ? 0
             : decimals > 12 ? 12
                             : decimals,
             wiki_round(value, decimals));
    return wiki_add_number(out, digits);
}

/* {{percentage|1|4|1}}: of two numbers, with so many decimals; {{percent|12}} has it already. */
static int show_percentage(struct buf *out, const struct wiki_call *c)
{
    double part, whole;
    char digits[64];
    int decimals = atoi(wiki_at(c, 2));
    if (!wiki_expr(&part, wiki_at(c, 0)) || !wiki_expr(&whole, wiki_at(c, 1)) || whole == 0)
        return buf_printf(out, *wiki_at(c, 0) == '\0' ? "" : "%s%%", wiki_at(c, 0));
    decimals = decimals < 0 ? 0 : decimals > 12 ? 12 : decimals;
    snprintf(digits, sizeof digits, "%.*f%%", decimals, wiki_round(100 * part / whole, decimals));
    return buf_str(out, digits);
}

/* {{bar percent|label|colour|98}} */
static int show_bar(struct buf *out, const struct wiki_call *c)
{
    return buf_printf(out, *wiki_at(c, 2) == '\0' ? "%s" : "%s %s%%", wiki_at(c, 0), wiki_at(c, 2));
}

static int show_ordinal(struct buf *out, const struct wiki_call *c)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    const char *digits = wiki_at(c, 0);
    const int last = last_digits(digits, 100), unit = last % 10;
    int rc = wiki_add_number(out, digits);
    if (*digits == '\0' || strspn(digits, "-0123456789") != strlen(digits))
        return rc;
    return rc == 0 ? buf_str(out, endings[unit > 3 || last / 10 == 1 ? 0 : unit]) : rc;
}

/* {{plural|3|page}} is "3 pages", {{PLURAL:3|page|pages}} is "pages". */
static int show_plural(struct buf *out, const struct wiki_call *c)
{
    const char *number = wiki_at(c, 0), *one = wiki_at(c, 1), *more = wiki_at(c, 2);
    int rc = c->function ? 0 : wiki_add_number(out, number);
    if (rc == 0 && !c->function)
        rc = buf_char(out, ' ');
    if (rc == 0 && (strcmp(number, "1") == 0 || strcmp(number, "-1") == 0))
        return buf_str(out, one);
    return rc == 0 ? buf_printf(out, *more != '\0' ? "%s" : "%ss", *more != '\0' ? more : one) : rc;
}

static int show_word(struct buf *out, const struct wiki_call *c)
{
    static const char *const words[] = {"zero",    "one",     "two",       "three",    "four",
                                        "five",    "six",     "seven",     "eight",    "nine",
                                        "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                        "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
    static const char *const tens[] = {"twenty", "thirty",  "forty",  "fifty",
                                       "sixty",  "seventy", "eighty", "ninety"};
    const char *digits = wiki_at(c, 0);
    const int n = atoi(digits);
    if (strspn(digits, "0123456789") != strlen(digits) || strlen(digits) > 2 || *digits == '\0')
        return wiki_add_number(out, digits);
    if (n < 20)
        return buf_str(out, words[n]);
    return buf_printf(out, n % 10 == 0 ? "%s" : "%s-%s", tens[n / 10 - 2], words[n % 10]);
}

/* "r. 1558–1603" */
static int show_reign(struct buf *out, const struct wiki_call *c)
{
    const char *first = wiki_at(c, 0), *last = wiki_at(c, 1);
    int rc = buf_printf(out, "r. %s", first);
    return rc == 0 && *last != '\0' ? buf_printf(out, "–%s", last) : rc;
}

static int show_behind(struct buf *out, const struct wiki_call *c, const char *word)
{
    int rc = buf_printf(out, "%s %s", word, wiki_at(c, 0));
    return rc == 0 && *wiki_at(c, 1) != '\0' ? buf_printf(out, "–%s", wiki_at(c, 1)) : rc;
}

static int show_flourished(struct buf *out, const struct wiki_call *c)
{
    return show_behind(out, c, "fl.");
}

static int show_born(struct buf *out, const struct wiki_call *c)
{
    return show_behind(out, c, "born");
}

static int show_died(struct buf *out, const struct wiki_call *c)
{
    return show_behind(out, c, "died");
}

static int show_page(struct buf *out, const struct wiki_call *c)
{
    return show_behind(out, c, c->name[1] == 'p' ? "pp." : "p.");
}

static int show_volume(struct buf *out, const struct wiki_call *c)
{
    return show_behind(out, c, "vol.");
}

static int show_root(struct buf *out, const struct wiki_call *c)
{
    return buf_printf(out, "√%s", wiki_at(c, 0));
}

static int show_plus_minus(struct buf *out, const struct wiki_call *c)
{
    return buf_printf(out, "±%s", wiki_at(c, 0));
}

/* {{duration|1|2|3}}, or h=, m= and s= */
static int show_duration(struct buf *out, const struct wiki_call *c)
{
    static const char *const names[] = {"h", "m", "s"};
    int rc = 0;
    bool any = false;
    for (int i = 0; i < 3 && rc == 0; i++) {
        const char *part = c->n > 0 ? wiki_at(c, i) : wiki_named(c, names[i]);
        if (*part == '\0' && !any)
            continue;
        rc = buf_printf(out, any ? ":%02d" : "%d", last_digits(part, 1000));
        any = true;
    }
    return rc;
}

/* {{marriage|name|1990|2001|reason=divorced}} */
static int show_marriage(struct buf *out, const struct wiki_call *c)
{
    const char *from = wiki_at(c, 1), *to = wiki_at(c, 2), *reason = wiki_named(c, "reason");
    if (*reason == '\0')
        reason = wiki_named(c, "end");
    int rc = buf_str(out, wiki_at(c, 0));
    if (rc == 0 && *from != '\0')
        rc = buf_printf(out, " (m. %s", from);
    if (rc != 0 || *from == '\0')
        return rc;
    reason = strncmp(reason, "div", 3) == 0 ? "div." : strcmp(reason, "d") == 0 ? "died" : reason;
    if (*to != '\0')
        rc = *reason == '\0' ? buf_printf(out, "–%s", to) : buf_printf(out, "; %s %s", reason, to);
    return rc == 0 ? buf_char(out, ')') : rc;
}

/* {{OldStyleDate|February 2|1905|January 20}} */
static int show_old_style(struct buf *out, const struct wiki_call *c)
{
    return buf_printf(out, "%s [O.S. %s] %s", wiki_at(c, 0), wiki_at(c, 2), wiki_at(c, 1));
}

static int show_iso_date(struct buf *out, const struct wiki_call *c)
{
    const char *year = wiki_at(c, 0);
    if (strlen(year) > 4 || *wiki_at(c, 1) == '\0')
        return buf_str(out, year);
    int rc = buf_printf(out, "%s-%02d", year, last_digits(wiki_at(c, 1), 100));
    return rc == 0 && *wiki_at(c, 2) != '\0'
               ? buf_printf(out, "-%02d", last_digits(wiki_at(c, 2), 100))
               : rc;
}

/* ---- ages ---- */

static int show_birth_age(struct buf *out, const struct wiki_call *c)
{
    struct wiki_day born;
    int years, rc = wiki_date(out, c, 0, false);
    if (rc == 0 && c->today != NULL && wiki_day_of(&born, c, 0) &&
        (years = wiki_years(&born, c->today)) >= 0)
        rc = buf_printf(out, " (age %d)", years);
    return rc;
}

static int show_death_age(struct buf *out, const struct wiki_call *c)
{
    struct wiki_day born, died;
    int years, rc = wiki_date(out, c, 0, false);
    if (rc == 0 && wiki_day_of(&died, c, 0) && wiki_day_of(&born, c, 3) &&
        (years = wiki_years(&born, &died)) >= 0)
        rc = buf_printf(out, " (aged %d)", years);
    return rc;
}

/* {{death year and age|1990|1920}}: the day is not known. */
static int show_death_year(struct buf *out, const struct wiki_call *c)
{
    const int died = atoi(wiki_at(c, 0)), born = atoi(wiki_at(c, 1));
    int rc = buf_str(out, wiki_at(c, 0));
    return rc == 0 && born > 0 && died > born
               ? buf_printf(out, " (aged %d–%d)", died - born - 1, died - born)
               : rc;
}

/* From one day to another, or to that of the page. */
static bool take_span(const struct wiki_call *c, struct wiki_day *from, struct wiki_day *to)
{
    if (!wiki_day_of(from, c, 0))
        return false;
    if (wiki_day_of(to, c, strchr(wiki_at(c, 0), '-') != NULL ? 1 : 3))
        return true;
    if (c->today != NULL)
        *to = *c->today;
    return c->today != NULL;
}

static int show_age(struct buf *out, const struct wiki_call *c)
{
    struct wiki_day from, to;
    return take_span(c, &from, &to) ? buf_printf(out, "%d", wiki_years(&from, &to)) : 0;
}

static int show_age_years(struct buf *out, const struct wiki_call *c)
{
    struct wiki_day from, to;
    if (!take_span(c, &from, &to))
        return 0;
    const int years = wiki_years(&from, &to);
    return buf_printf(out, years == 1 ? "%d year" : "%d years", years);
}

static int show_days(struct buf *out, const struct wiki_call *c)
{
    struct wiki_day from, to;
    char digits[32];
    if (!take_span(c, &from, &to))
        return 0;
    const long days = wiki_day_number(&to) - wiki_day_number(&from);
    snprintf(digits, sizeof digits, "%ld", days);
    int rc = wiki_add_number(out, digits);
    return rc == 0 && strcmp(c->name, "age in days nts") == 0
               ? buf_str(out, days == 1 ? " day" : " days")
               : rc;
}

static int show_years_and_days(struct buf *out, const struct wiki_call *c)
{
    struct wiki_day from, to;
    if (!take_span(c, &from, &to))
        return 0;
    const int years = wiki_years(&from, &to);
    from.year += years;
    const long days = wiki_day_number(&to) - wiki_day_number(&from);
    return buf_printf(out, "%d %s, %ld %s", years, years == 1 ? "year" : "years", days,
                      days == 1 ? "day" : "days");
}

static int show_years_months_days(struct buf *out, const struct wiki_call *c)
{
    struct wiki_day from, to;
    if (!take_span(c, &from, &to))
        return 0;
    const int years = wiki_years(&from, &to);
    const int months = ((to.month - from.month + 12) % 12 + 12 - (to.day < from.day)) % 12;
    struct wiki_day last = from;
    last.year += years + (from.month + months > 12);
    last.month = (from.month + months - 1) % 12 + 1;
    const long days = wiki_day_number(&to) - wiki_day_number(&last);
    return buf_printf(out, "%d %s, %d %s and %ld %s", years, years == 1 ? "year" : "years", months,
                      months == 1 ? "month" : "months", days, days == 1 ? "day" : "days");
}

static const struct {
    const char *name;
    wiki_show_fn *show;
} shown[] = {
    {"#expr", show_expression},
    {"expr", show_expression},
    {"round", show_rounded},
    {"rnd", show_rounded},
    {"percentage", show_percentage},
    {"percent", show_percentage},
    {"pct", show_percentage},
    {"bar percent", show_bar},
    {"ordinal", show_ordinal},
    {"ord", show_ordinal},
    {"plural", show_plural},
    {"spellnum", show_word},
    {"number to word", show_word},
    {"numtext", show_word},
    {"reign", show_reign},
    {"r.", show_reign},
    {"floruit", show_flourished},
    {"fl.", show_flourished},
    {"born in", show_born},
    {"born", show_born},
    {"died in", show_died},
    {"died", show_died},
    {"p.", show_page},
    {"pp.", show_page},
    {"vol.", show_volume},
    {"sqrt", show_root},
    {"radic", show_root},
    {"±", show_plus_minus},
    {"duration", show_duration},
    {"marriage", show_marriage},
    {"oldstyledate", show_old_style},
    {"iso date", show_iso_date},
    {"birth date and age", show_birth_age},
    {"birth-date and age", show_birth_age},
    {"bda", show_birth_age},
    {"death date and age", show_death_age},
    {"dda", show_death_age},
    {"death year and age", show_death_year},
    {"age", show_age},
    {"age in years", show_age_years},
    {"age in days", show_days},
    {"age in days nts", show_days},
    {"age in years and days", show_years_and_days},
    {"age in years, months and days", show_years_months_days},
};

wiki_show_fn *wiki_numbers_find(const char *name)
{
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (wiki_same(shown[i].name, name))
            return shown[i].show;
    return NULL;
}
