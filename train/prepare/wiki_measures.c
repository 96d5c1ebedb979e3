#include "train/prepare/wiki_measures.h"

#include "train/prepare/wiki_convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT = 48 };

/* {{frac|3}}, {{frac|1|3}}, {{frac|2|1|3}} */
static int show_fraction(struct buf *out, const struct wiki_call *c)
{
    if (c->n <= 1)
        return buf_printf(out, "1⁄%s", wiki_at(c, 0));
    if (c->n == 2)
        return buf_printf(out, "%s⁄%s", c->at[0], c->at[1]);
    return buf_printf(out, "%s %s⁄%s", c->at[0], c->at[1], c->at[2]);
}

/* {{val|1.5|0.2|e=6|u=m}}; with two numbers behind the value: above and below. */
static int show_value(struct buf *out, const struct wiki_call *c)
{
    const char *e = wiki_named(c, "e"), *u = wiki_named(c, "u"), *p = wiki_named(c, "p");
    int rc = buf_str(out, p);
    if (*u == '\0')
        u = wiki_named(c, "ul");
    if (rc == 0)
        rc = wiki_add_number(out, wiki_at(c, 0));
    if (rc == 0 && *wiki_at(c, 2) != '\0')
        rc = buf_printf(out, " +%s −%s", wiki_at(c, 1) + (*wiki_at(c, 1) == '+'),
                        wiki_at(c, 2) + (*wiki_at(c, 2) == '-'));
    else if (rc == 0 && *wiki_at(c, 1) != '\0')
        rc = buf_printf(out, *wiki_at(c, 1) == '(' ? "%s" : " ± %s", wiki_at(c, 1));
    if (rc == 0 && *e != '\0')
        rc = buf_printf(out, "×10^%s", e);
    return rc == 0 && *u != '\0' ? buf_printf(out, strcmp(u, "%") == 0 ? "%s" : " %s", u) : rc;
}

static int show_power(struct buf *out, const struct wiki_call *c)
{
    return buf_printf(out, "×10^%s", wiki_at(c, 0));
}

static int show_nuclide(struct buf *out, const struct wiki_call *c)
{
    return buf_printf(out, *wiki_at(c, 1) == '\0' ? "%s%s" : "%s-%s", wiki_at(c, 0), wiki_at(c, 1));
}

static int show_height(struct buf *out, const struct wiki_call *c)
{
    const char *ft = wiki_named(c, "ft"), *in = wiki_named(c, "in"), *m = wiki_named(c, "m"),
               *cm = wiki_named(c, "cm");
    if (*m != '\0')
        return buf_printf(out, "%s m", m);
    if (*cm != '\0')
        return buf_printf(out, "%s cm", cm);
    return buf_printf(out, *in != '\0' ? "%s ft %s in" : "%s ft", ft, in);
}

/* Degrees, minutes and seconds with their signs; decimal degrees. Only those in the text. */
static int show_coordinates(struct buf *out, const struct wiki_call *c)
{
    static const char *const signs[] = {"°", "′", "″"};
    const char *display = wiki_named(c, "display");
    int part = 0, rc = 0, i = 0;
    if (strcmp(display, "title") == 0 || strcmp(display, "t") == 0)
        return 0;
    for (int halves = 0; i < c->n && halves < 2 && rc == 0; i++) {
        const char *word = c->at[i];
        if (strlen(word) == 1 && strchr("NSEW", *word) != NULL) {
            rc = buf_printf(out, halves++ == 0 ? "%s " : "%s", word);
            part = 0;
        } else if (part < 3 && *word != '\0' && strspn(word, "0123456789.-") == strlen(word)) {
            rc = buf_printf(out, "%s%s", word, signs[part++]);
        } else {
            break;
        }
    }
    while (out->n > 0 && out->data[out->n - 1] == ' ')
        out->n--;
    return rc;
}

static int show_million_years(struct buf *out, const struct wiki_call *c)
{
    return buf_printf(out, c->n > 1 ? "%s–%s million years ago" : "%s million years ago",
                      wiki_at(c, 0), wiki_at(c, 1));
}

static int show_circa(struct buf *out, const struct wiki_call *c)
{
    return buf_printf(out, c->n > 1 ? "c. %s – c. %s" : "c. %s", wiki_at(c, 0), wiki_at(c, 1));
}

/* {{pop density|people|area|unit|unit shown}} */
static int show_density(struct buf *out, const struct wiki_call *c)
{
    char number[32], unit[UNIT], other[UNIT];
    const double people = strtod(wiki_at(c, 0), NULL), area = strtod(wiki_at(c, 1), NULL);
    struct wiki_call convert = {.name = "cvt", .at = {number, unit, other}, .n = 3};
    if (!(people > 0 && area > 0 && people / area < 1e9))
        return 0;
    const double density = people / area;
    snprintf(number, sizeof number, density < 100 ? "%.1f" : "%.0f", density);
    snprintf(unit, sizeof unit, "PD/%.40s", wiki_at(c, 2));
    snprintf(other, sizeof other, "PD/%.40s", *wiki_at(c, 3) != '\0' ? wiki_at(c, 3) : "sqmi");
    return wiki_convert(out, &convert);
}

static const struct {
    const char *name;
    wiki_show_fn *show;
} shown[] = {
    {"convert", wiki_convert},
    {"pop density", show_density},
    {"cvt", wiki_convert},
    {"convinfobox", wiki_convert},
    {"frac", show_fraction},
    {"sfrac", show_fraction},
    {"fraction", show_fraction},
    {"sfrac2", show_fraction},
    {"val", show_value},
    {"e", show_power},
    {"10^", show_power},
    {"exp", show_power},
    {"simplenuclide", show_nuclide},
    {"simplenuclide2", show_nuclide},
    {"nuclide", show_nuclide},
    {"height", show_height},
    {"coord", show_coordinates},
    {"mya", show_million_years},
    {"ma", show_million_years},
    {"circa", show_circa},
    {"c.", show_circa},
    {"ca.", show_circa},
};

wiki_show_fn *wiki_measures_find(const char *name)
{
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (wiki_same(shown[i].name, name))
            return shown[i].show;
    return NULL;
}
