#include "train/prepare/wiki_template.h"

#include "train/prepare/wiki_date.h"
#include "train/prepare/wiki_measures.h"
#include "train/prepare/wiki_numbers.h"
#include "train/prepare/wiki_signs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 48 };

/* ---- what templates do ---- */

static int show_first(struct buf *out, const struct wiki_call *c)
{
    const char *text = *wiki_at(c, 0) != '\0' ? wiki_at(c, 0) : wiki_named(c, "text");
    return buf_str(out, *text != '\0' ? text : wiki_named(c, "1"));
}

static int show_second(struct buf *out, const struct wiki_call *c)
{
    const char *text = *wiki_at(c, 1) != '\0' ? wiki_at(c, 1) : wiki_named(c, "text");
    return buf_str(out, *text != '\0' ? text : wiki_named(c, "2"));
}

static int show_last(struct buf *out, const struct wiki_call *c)
{
    return buf_str(out, c->n == 0 ? "" : c->at[c->n - 1]);
}

static int show_all(struct buf *out, const struct wiki_call *c)
{
    int rc = 0;
    for (int i = 0; i < c->n && rc == 0; i++)
        rc = buf_str(out, c->at[i]);
    return rc;
}

static int show_joined(struct buf *out, const struct wiki_call *c, const char *between)
{
    int rc = 0;
    bool first = true;
    for (int i = 0; i < c->n && rc == 0; i++) {
        if (*c->at[i] == '\0')
            continue;
        rc = first ? 0 : buf_str(out, between);
        if (rc == 0)
            rc = buf_str(out, c->at[i]);
        first = false;
    }
    return rc;
}

static int show_list(struct buf *out, const struct wiki_call *c)
{
    return show_joined(out, c, ", ");
}

/* On lines of their own: they are often sentences. */
static int show_items(struct buf *out, const struct wiki_call *c)
{
    int rc = buf_str(out, c->n > 0 ? "\n* " : "");
    if (rc == 0)
        rc = show_joined(out, c, "\n* ");
    return rc == 0 ? buf_char(out, '\n') : rc;
}

static int show_keys(struct buf *out, const struct wiki_call *c)
{
    return show_joined(out, c, "+");
}

static int show_quote(struct buf *out, const struct wiki_call *c)
{
    const char *text = wiki_named(c, "quote");
    return *text != '\0' ? buf_str(out, text) : show_first(out, c);
}

/* "As of 2008": year, month, day. */
static int show_as_of(struct buf *out, const struct wiki_call *c)
{
    const char *alt = wiki_named(c, "alt"), *lower = wiki_named(c, "lc");
    if (*alt != '\0')
        return buf_str(out, alt);
    int rc =
        buf_str(out, strcmp(lower, "y") == 0 || strcmp(lower, "on") == 0 ? "as of " : "As of ");
    return rc == 0 ? wiki_date(out, c, 0, true) : rc;
}

static int show_date(struct buf *out, const struct wiki_call *c)
{
    return wiki_date(out, c, 0, false);
}

/* {{date|2008-05-07|mdy}} */
static int show_written_date(struct buf *out, const struct wiki_call *c)
{
    return wiki_date(out, c, 0, strcmp(wiki_at(c, 1), "mdy") != 0);
}

static int show_number(struct buf *out, const struct wiki_call *c)
{
    return wiki_add_number(out, wiki_at(c, 0));
}

/* Text (original, transliteration). */
static int show_nihongo(struct buf *out, const struct wiki_call *c)
{
    const char *text = wiki_at(c, 0), *own = wiki_at(c, 1), *sound = wiki_at(c, 2);
    int rc = buf_str(out, *text != '\0' ? text : *sound != '\0' ? sound : own);
    if (rc == 0 && *text != '\0' && (*own != '\0' || *sound != '\0'))
        rc = buf_printf(out, " (%s%s%s)", own, *own != '\0' && *sound != '\0' ? ", " : "", sound);
    return rc;
}

/* {{USS|Enterprise|CV-6}}: the last word of the name stands before; "2" alone: without the number.
 */
static int show_ship(struct buf *out, const struct wiki_call *c)
{
    char prefix[NAME];
    const char *hull = wiki_at(c, 1);
    size_t n = 0;
    for (; c->name[n] != '\0' && n + 1 < NAME; n++)
        prefix[n] = (char)toupper((unsigned char)c->name[n]);
    prefix[n] = '\0';
    if (strcmp(prefix, "SHIP") == 0)
        return show_joined(out, c, " ");
    int rc = buf_printf(out, "%s %s", prefix, wiki_at(c, 0));
    return rc == 0 && *hull != '\0' && strlen(wiki_at(c, 2)) == 0 ? buf_printf(out, " (%s)", hull)
                                                                  : rc;
}

static int show_class(struct buf *out, const struct wiki_call *c)
{
    return buf_printf(out, "%s-class %s", wiki_at(c, 0), wiki_at(c, 1));
}

static int show_verse(struct buf *out, const struct wiki_call *c)
{
    return buf_printf(out, "%s %s", wiki_at(c, 0), wiki_at(c, 1));
}

static const struct {
    const char *name;
    wiki_show_fn *show;
} shown[] = {
    {"formatnum", show_number},
    {"nts", show_number},
    {"num", show_number},
    {"number", show_number},
    {"formatprice", show_number},
    {"gaps", show_all},
    {"as of", show_as_of},
    {"asof", show_as_of},
    {"date", show_written_date},
    {"dts", show_date},
    {"start date", show_date},
    {"start date and age", show_date},
    {"end date", show_date},
    {"birth date", show_date},
    {"death date", show_date},
    {"birth year and age", show_first},
    {"birth-date", show_first},
    {"death-date", show_first},
    {"death-date and age", show_first},
    {"film date", show_date},
    {"start-date", show_first},
    {"end-date", show_first},
    {"lang", show_second},
    {"langx", show_second},
    {"transl", show_last},
    {"transliteration", show_last},
    {"native name", show_second},
    {"nihongo", show_nihongo},
    {"nowrap", show_first},
    {"nobr", show_first},
    {"nobreak", show_first},
    {"j", show_first},
    {"small", show_first},
    {"smaller", show_first},
    {"big", show_first},
    {"larger", show_first},
    {"resize", show_last},
    {"nobold", show_first},
    {"noitalic", show_first},
    {"em", show_first},
    {"strong", show_first},
    {"bold", show_first},
    {"sc", show_first},
    {"smallcaps", show_first},
    {"abbr", show_first},
    {"tooltip", show_first},
    {"abbrlink", show_first},
    {"hover title", show_second},
    {"vanchor", show_first},
    {"visible anchor", show_first},
    {"sup", show_first},
    {"sub", show_first},
    {"su", show_first},
    {"angbr", show_first},
    {"angle bracket", show_first},
    {"overline", show_first},
    {"underline", show_first},
    {"u", show_first},
    {"math", show_first},
    {"mvar", show_first},
    {"var", show_first},
    {"code", show_first},
    {"mono", show_first},
    {"tt", show_first},
    {"kbd", show_keys},
    {"key", show_keys},
    {"keypress", show_keys},
    {"quote", show_quote},
    {"blockquote", show_quote},
    {"cquote", show_quote},
    {"centered quote", show_quote},
    {"quotation", show_quote},
    {"bquote", show_quote},
    {"poemquote", show_quote},
    {"chem", show_all},
    {"chem2", show_all},
    {"eqm", show_first},
    {"linktext", show_all},
    {"eqn", show_first},
    {"plainlist", show_first},
    {"flatlist", show_first},
    {"unbulleted list", show_list},
    {"vunblist", show_list},
    {"ordered list", show_items},
    {"ubl", show_list},
    {"hlist", show_list},
    {"bulleted list", show_list},
    {"flag", show_first},
    {"flagcountry", show_first},
    {"flagu", show_first},
    {"uss", show_ship},
    {"hms", show_ship},
    {"hmas", show_ship},
    {"hmcs", show_ship},
    {"ss", show_ship},
    {"ms", show_ship},
    {"mv", show_ship},
    {"rms", show_ship},
    {"sms", show_ship},
    {"ins", show_ship},
    {"usns", show_ship},
    {"ship", show_ship},
    {"sclass", show_class},
    {"sclass2", show_class},
    {"sclass-", show_class},
    {"bibleverse", show_verse},
    {"bibleref", show_verse},
    {"bibleref2", show_verse},
    {"railgauge", show_first},
    {"track gauge", show_first},
    {"rail gauge", show_first},
    {"lc", show_first},
    {"uc", show_first},
    {"lcfirst", show_first},
    {"ucfirst", show_first},
    {"interlanguage link", show_first},
    {"interlanguage link multi", show_first},
    {"ill", show_first},
    {"link-interwiki", show_first},
    {"wp", show_first},
    {"zh", show_first},
    {"ruby", show_first},
    {"asiantitle", show_first},
    {"pslink", show_first},
    {"subst:nowrap", show_first},
    {"not a typo", show_all},
    {"typo", show_first},
    {"proper name", show_first},
    {"color", show_second},
    {"font color", show_second},
    {"colored link", show_second},
};

/* ---- by name ---- */

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

void wiki_template_name(char *out, size_t size, const char *name, size_t n)
{
    size_t k = 0;
    while (n > 0 && isspace((unsigned char)*name)) {
        name++;
        n--;
    }
    while (n > 0 && isspace((unsigned char)name[n - 1]))
        n--;
    for (size_t i = 0; i < n && k + 1 < size; i++) {
        const char c = name[i] == '_' ? ' ' : name[i];
        out[k++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    out[k] = '\0';
}

static wiki_show_fn *find_show(const char *name)
{
    for (size_t i = 0; i < COUNT(shown); i++)
        if (wiki_same(shown[i].name, name))
            return shown[i].show;
    wiki_show_fn *show = wiki_measures_find(name);
    return show != NULL ? show : wiki_numbers_find(name);
}

bool wiki_template_shows(const char *name, size_t n)
{
    char key[NAME];
    wiki_template_name(key, sizeof key, name, n);
    if (wiki_language(key) != NULL || wiki_sign(key) != NULL || wiki_money(key) != NULL)
        return true;
    return find_show(key) != NULL;
}

int wiki_template(struct buf *out, const struct wiki_call *c)
{
    const char *language = wiki_language(c->name), *sign = wiki_sign(c->name),
               *currency = wiki_money(c->name);
    if (language != NULL && *language != '\0' && *wiki_at(c, 0) != '\0')
        return buf_printf(out, "%s: %s", language, c->at[0]);
    if (language != NULL)
        return buf_str(out, wiki_at(c, 0));
    if (sign != NULL)
        return buf_str(out, sign);
    if (currency != NULL) {
        int rc = buf_str(out, currency);
        return rc == 0 ? wiki_add_number(out, wiki_at(c, 0)) : rc;
    }
    wiki_show_fn *show = find_show(c->name);
    return show == NULL ? 0 : show(out, c);
}
