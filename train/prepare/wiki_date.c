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

int wiki_date(struct buf *out, const struct wiki_call *c, int first, bool day_first)
{
    const char *year = wiki_at(c, first), *month = month_name(wiki_at(c, first + 1)),
               *day = wiki_at(c, first + 2), *df = wiki_named(c, "df");
    const bool before =
        day_first || *df == 'y' || *df == 'Y' || strcmp(wiki_named(c, "format"), "dmy") == 0;
    if (!is_number(year) || month == NULL)
        return buf_str(out, year);
    if (!is_number(day) || atoi(day) < 1 || atoi(day) > 31)
        return buf_printf(out, "%s %s", month, year);
    return before ? buf_printf(out, "%d %s %s", atoi(day), month, year)
                  : buf_printf(out, "%s %d, %s", month, atoi(day), year);
}
