#include "train/prepare/wiki_date.h"

#include <stdlib.h>
#include <string.h>

static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};

static bool is_number(const char *text)
{
    return *text != '\0' && strlen(text) <= 4 && strspn(text, "0123456789") == strlen(text);
}

/* A number or a name; NULL: neither. */
static const char *month_name(const char *text)
{
    const int number = is_number(text) ? atoi(text) : 0;
    if (number >= 1 && number <= 12)
        return months[number - 1];
    for (int i = 0; i < 12; i++)
        if (strlen(text) >= 3 && strncmp(text, months[i], 3) == 0)
            return months[i];
    return NULL;
}

bool wiki_day_parse(struct wiki_day *d, const char *text)
{
    static const char form[] = "0000-00-00";
    for (size_t i = 0; i < sizeof form - 1; i++)
        if (form[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9')
            return false;
    *d = (struct wiki_day){atoi(text), atoi(text + 5), atoi(text + 8)};
    return d->month >= 1 && d->month <= 12 && d->day >= 1 && d->day <= 31;
}

bool wiki_day_of(struct wiki_day *d, const struct wiki_call *c, int first)
{
    const char *year = wiki_at(c, first), *day = wiki_at(c, first + 2);
    const char *month = month_name(wiki_at(c, first + 1));
    if (wiki_day_parse(d, year))
        return true;
    if (!is_number(year) || month == NULL || !is_number(day))
        return false;
    *d = (struct wiki_day){atoi(year), 1, atoi(day)};
    while (months[d->month - 1] != month)
        d->month++;
    return d->day >= 1 && d->day <= 31;
}

int wiki_years(const struct wiki_day *from, const struct wiki_day *to)
{
    const bool before =
        to->month < from->month || (to->month == from->month && to->day < from->day);
    return to->year - from->year - before;
}

/* Of the Gregorian calendar, whose years are counted from March on. */
long wiki_day_number(const struct wiki_day *d)
{
    const long year = d->year - (d->month <= 2), month = (d->month + 9) % 12;
    return 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + d->day;
}

int wiki_date(struct buf *out, const struct wiki_call *c, int first, bool day_first)
{
    const char *year = wiki_at(c, first), *month = month_name(wiki_at(c, first + 1)),
               *day = wiki_at(c, first + 2), *df = wiki_named(c, "df");
    const bool before =
        day_first || *df == 'y' || *df == 'Y' || strcmp(wiki_named(c, "format"), "dmy") == 0;
    struct wiki_day iso;
    if (wiki_day_parse(&iso, year))
        return before ? buf_printf(out, "%d %s %d", iso.day, months[iso.month - 1], iso.year)
                      : buf_printf(out, "%s %d, %d", months[iso.month - 1], iso.day, iso.year);
    if (!is_number(year) || month == NULL)
        return buf_str(out, year);
    if (!is_number(day) || atoi(day) < 1 || atoi(day) > 31)
        return buf_printf(out, "%s %s", month, year);
    return before ? buf_printf(out, "%d %s %s", atoi(day), month, year)
                  : buf_printf(out, "%s %d, %s", month, atoi(day), year);
}
