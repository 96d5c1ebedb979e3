#include "train/prepare/wiki_entity.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* From U+00A0 on. */
static const char latin[] =
    "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn "
    "sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave "
    "Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml "
    "ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN "
    "szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave "
    "iacute "
    "icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml "
    "yacute thorn yuml ";
/* From U+0391 and from U+03B1 on; U+03A2 is none. */
static const char capitals[] = "Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu "
                               "Nu Xi Omicron Pi Rho - Sigma Tau Upsilon Phi Chi Psi Omega ";
static const char greek[] =
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi "
    "omicron pi rho sigmaf sigma tau upsilon phi chi psi omega ";
static const struct {
    const char *name;
    int32_t code;
} others[] = {
    {"amp", '&'},       {"lt", '<'},         {"gt", '>'},        {"quot", '"'},
    {"apos", '\''},     {"ndash", 0x2013},   {"mdash", 0x2014},  {"minus", 0x2212},
    {"hellip", 0x2026}, {"bull", 0x2022},    {"thinsp", 0x2009}, {"ensp", 0x2002},
    {"emsp", 0x2003},   {"lsquo", 0x2018},   {"rsquo", 0x2019},  {"ldquo", 0x201c},
    {"rdquo", 0x201d},  {"sbquo", 0x201a},   {"bdquo", 0x201e},  {"prime", 0x2032},
    {"Prime", 0x2033},  {"frasl", 0x2044},   {"euro", 0x20ac},   {"trade", 0x2122},
    {"larr", 0x2190},   {"uarr", 0x2191},    {"rarr", 0x2192},   {"darr", 0x2193},
    {"harr", 0x2194},   {"rArr", 0x21d2},    {"hArr", 0x21d4},   {"forall", 0x2200},
    {"part", 0x2202},   {"exist", 0x2203},   {"empty", 0x2205},  {"nabla", 0x2207},
    {"isin", 0x2208},   {"notin", 0x2209},   {"prod", 0x220f},   {"sum", 0x2211},
    {"radic", 0x221a},  {"prop", 0x221d},    {"infin", 0x221e},  {"ang", 0x2220},
    {"and", 0x2227},    {"or", 0x2228},      {"cap", 0x2229},    {"cup", 0x222a},
    {"int", 0x222b},    {"there4", 0x2234},  {"sim", 0x223c},    {"cong", 0x2245},
    {"asymp", 0x2248},  {"ne", 0x2260},      {"equiv", 0x2261},  {"le", 0x2264},
    {"ge", 0x2265},     {"sub", 0x2282},     {"sup", 0x2283},    {"sube", 0x2286},
    {"supe", 0x2287},   {"oplus", 0x2295},   {"otimes", 0x2297}, {"perp", 0x22a5},
    {"sdot", 0x22c5},   {"lang", 0x27e8},    {"rang", 0x27e9},   {"OElig", 0x152},
    {"oelig", 0x153},   {"Scaron", 0x160},   {"scaron", 0x161},  {"Yuml", 0x178},
    {"fnof", 0x192},    {"circ", 0x2c6},     {"tilde", 0x2dc},   {"zwnj", 0x200c},
    {"zwj", 0x200d},    {"lrm", 0x200e},     {"rlm", 0x200f},    {"dagger", 0x2020},
    {"Dagger", 0x2021}, {"permil", 0x2030},  {"lsaquo", 0x2039}, {"rsaquo", 0x203a},
    {"loz", 0x25ca},    {"spades", 0x2660},  {"clubs", 0x2663},  {"hearts", 0x2665},
    {"diams", 0x2666},  {"lceil", 0x2308},   {"rceil", 0x2309},  {"lfloor", 0x230a},
    {"rfloor", 0x230b}, {"alefsym", 0x2135},
};
enum { LONGEST = 12 };

/* The place of a name in such a list, -1: it is not there. */
static int find_name(const char *list, const char *name, size_t n)
{
    int i = 0;
    for (const char *at = list; *at != '\0'; at = strchr(at, ' ') + 1, i++)
        if (strncmp(at, name, n) == 0 && at[n] == ' ')
            return i;
    return -1;
}

static int32_t named_code(const char *name, size_t n)
{
    int i;
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
        if (strlen(others[k].name) == n && memcmp(others[k].name, name, n) == 0)
            return others[k].code;
    if ((i = find_name(latin, name, n)) >= 0)
        return 0xa0 + i;
    if ((i = find_name(capitals, name, n)) >= 0)
        return 0x391 + i;
    return (i = find_name(greek, name, n)) >= 0 ? 0x3b1 + i : -1;
}

/* The character of "&...;" and how many bytes that is; -1: it is none. */
static int32_t read_entity(const char *text, size_t n, size_t *used)
{
    char name[LONGEST + 1];
    const char *end = memchr(text, ';', n < LONGEST ? n : LONGEST);
    if (end == NULL || end < text + 2)
        return -1;
    *used = (size_t)(end - text) + 1;
    memcpy(name, text + 1, *used - 2);
    name[*used - 2] = '\0';
    if (*name != '#')
        return named_code(name, *used - 2);
    const bool hex = name[1] == 'x' || name[1] == 'X';
    char *over;
    const unsigned long code = strtoul(name + 1 + hex, &over, hex ? 16 : 10);
    return *over != '\0' || over == name + 1 + hex || code == 0 || code > 0x10ffff ||
                   (code >= 0xd800 && code < 0xe000)
               ? -1
               : (int32_t)code;
}

static int add_code(struct buf *out, int32_t code)
{
    utf8proc_uint8_t bytes[4];
    if (code == 0xa0 || (code >= 0x2000 && code <= 0x200a) || code == 0x202f || code < ' ')
        return buf_char(out, ' ');
    if (code == 0xad || (code >= 0x200b && code <= 0x200f) || code == 0xfeff)
        return 0;
    return buf_add(out, bytes, (size_t)utf8proc_encode_char(code, bytes));
}

/* Blanks and marks that are there as characters. */
static size_t special_bytes(const char *text, size_t n, int32_t *code)
{
    const unsigned char *p = (const unsigned char *)text;
    utf8proc_int32_t c;
    if (*p != 0xc2 && *p != 0xe2 && *p != 0xef)
        return 0;
    const utf8proc_ssize_t used = utf8proc_iterate(p, (utf8proc_ssize_t)n, &c);
    *code = c;
    return used > 0 && (c == 0xa0 || c == 0xad || (c >= 0x2000 && c <= 0x200f) || c == 0x202f ||
                        c == 0xfeff)
               ? (size_t)used
               : 0;
}

/* How many bytes there are that begin no entity and no special blank. */
static size_t plain_run(const char *text, size_t n)
{
    static const bool marks[UCHAR_MAX + 1] = {
        ['&'] = true, [0xc2] = true, [0xe2] = true, [0xef] = true};
    size_t i = 0;
    while (i < n && !marks[(unsigned char)text[i]])
        i++;
    return i;
}

int wiki_entities(struct buf *out, const char *text, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0;) {
        size_t used = plain_run(text + i, n - i);
        if (used > 0) {
            rc = buf_add(out, text + i, used);
            i += used;
            continue;
        }
        int32_t code = text[i] == '&' ? read_entity(text + i, n - i, &used) : -1;
        if (code < 0)
            used = special_bytes(text + i, n - i, &code);
        if (used > 0 && code >= 0) {
            rc = add_code(out, code);
            i += used;
        } else {
            rc = buf_char(out, text[i++]);
        }
    }
    return rc;
}
