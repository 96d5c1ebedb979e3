#include "train/prepare/wiki_signs.h"

#include "train/prepare/wiki_call.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name, *text;
} signs[] = {{"nbsp", " "},
             {"spaces", " "},
             {"space", " "},
             {"sp", " "},
             {"thinsp", " "},
             {"hair space", " "},
             {"snd", " – "},
             {"spnd", " – "},
             {"spaced ndash", " – "},
             {"ndash", "–"},
             {"mdash", "—"},
             {"snds", " – "},
             {"spaced en dash", " – "},
             {"dash", " – "},
             {"pipe", "|"},
             {"!", "|"},
             {"=", "="},
             {"'", "'"},
             {"'s", "'s"},
             {"minus", "−"},
             {"times", "×"},
             {"deg", "°"},
             {"bull", " • "},
             {"bullet", " • "},
             {"·", " · "},
             {"dot", " · "},
             {"middot", " · "},
             {"sic", "[sic]"},
             {"okina", "ʻ"},
             {"pi", "π"},
             {"prime", "′"},
             {"ell", "ℓ"},
             {"hbar", "ħ"},
             {"infinity", "∞"},
             {"inf", "∞"},
             {"sharp", "♯"},
             {"flat", "♭"},
             {"natural", "♮"},
             {"music", ""},
             {"-", "\n"},
             {"break", "\n"},
             {"en dash", "–"},
             {"em dash", "—"},
             {"\"", "\""},
             {"aut", ""}};

static const struct {
    const char *name, *sign;
} money[] = {{"us$", "US$"},
             {"usd", "US$"},
             {"gbp", "£"},
             {"pound", "£"},
             {"£", "£"},
             {"euro", "€"},
             {"eur", "€"},
             {"€", "€"},
             {"inr", "₹"},
             {"indian rupee", "₹"},
             {"jpy", "¥"},
             {"yen", "¥"},
             {"¥", "¥"},
             {"cny", "CN¥"},
             {"rmb", "CN¥"},
             {"au$", "A$"},
             {"aud", "A$"},
             {"a$", "A$"},
             {"canadian dollar", "C$"},
             {"ca$", "C$"},
             {"cad", "C$"},
             {"nz$", "NZ$"},
             {"krw", "₩"},
             {"php", "₱"},
             {"rub", "₽"},
             {"ils", "₪"},
             {"dm", "DM "},
             {"chf", "CHF "},
             {"zar", "R"},
             {"r$", "R$"}};

/* "lang-ru": the text in that language behind its name. */
static const struct {
    const char *code, *name;
} languages[] = {
    {"ru", "Russian"},         {"ar", "Arabic"},      {"fr", "French"},     {"de", "German"},
    {"es", "Spanish"},         {"it", "Italian"},     {"la", "Latin"},      {"el", "Greek"},
    {"grc", "Ancient Greek"},  {"gr", "Greek"},       {"he", "Hebrew"},     {"fa", "Persian"},
    {"tr", "Turkish"},         {"pt", "Portuguese"},  {"nl", "Dutch"},      {"sv", "Swedish"},
    {"da", "Danish"},          {"no", "Norwegian"},   {"fi", "Finnish"},    {"pl", "Polish"},
    {"cs", "Czech"},           {"hu", "Hungarian"},   {"ro", "Romanian"},   {"uk", "Ukrainian"},
    {"be", "Belarusian"},      {"bg", "Bulgarian"},   {"sr", "Serbian"},    {"hr", "Croatian"},
    {"sq", "Albanian"},        {"az", "Azerbaijani"}, {"hy", "Armenian"},   {"ka", "Georgian"},
    {"hi", "Hindi"},           {"ur", "Urdu"},        {"bn", "Bengali"},    {"ta", "Tamil"},
    {"te", "Telugu"},          {"sa", "Sanskrit"},    {"zh", "Chinese"},    {"ja", "Japanese"},
    {"ko", "Korean"},          {"vi", "Vietnamese"},  {"th", "Thai"},       {"ga", "Irish"},
    {"gd", "Scottish Gaelic"}, {"cy", "Welsh"},       {"is", "Icelandic"},  {"et", "Estonian"},
    {"lv", "Latvian"},         {"lt", "Lithuanian"},  {"ca", "Catalan"},    {"eu", "Basque"},
    {"ang", "Old English"},    {"sla", ""},           {"mk", "Macedonian"}, {"sk", "Slovak"},
    {"sl", "Slovene"},         {"ps", "Pashto"},      {"arc", "Aramaic"},   {"ber", "Berber"},
    {"kab", "Kabyle"},         {"nah", "Nahuatl"},    {"rus", "Russian"}};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const char *wiki_language(const char *name)
{
    if (strncmp(name, "lang-", 5) != 0)
        return NULL;
    for (size_t i = 0; i < COUNT(languages); i++)
        if (wiki_same(languages[i].code, name + 5))
            return languages[i].name;
    return "";
}

const char *wiki_sign(const char *name)
{
    for (size_t i = 0; i < COUNT(signs); i++)
        if (wiki_same(signs[i].name, name))
            return signs[i].text;
    return NULL;
}

const char *wiki_money(const char *name)
{
    for (size_t i = 0; i < COUNT(money); i++)
        if (wiki_same(money[i].name, name))
            return money[i].sign;
    return NULL;
}
