/* Texts that look like markup, and texts that only have some of its signs. */
#include "tests/lib/test.h"

#include "train/data/markup.h"

#include <string.h>

static const struct {
    const char *text, *name; /* NULL: plain */
} texts[] = {
    {"<mediawiki xmlns=\"http://www.mediawiki.org/xml/export-0.10/\">\n<page>", "a MediaWiki dump"},
    {"<?xml version=\"1.0\"?>\n<mediawiki><page>", "a MediaWiki dump"},
    {"<page>\n<title>Cat</title>", "a MediaWiki dump"},
    {"</page>\n  <page>\n    <title>Cat</title>\n    <revision>\n", "a MediaWiki dump"},
    {"Cat\n\n== Life ==\nA [[cat]] is an [[animal|small animal]].\n", "wiki markup"},
    {"'''Cats''' are [[animal]]s of the [[house]].\n", "wiki markup"},
    {"<doc id=\"12\" url=\"https://simple.wikipedia.org\" title=\"Cat\">\nCat\n",
     "WikiExtractor's documents"},
    {"\n\n<!DOCTYPE html>\n<html>", "HTML"},
    {"\xef\xbb\xbf<HTML><body>", "HTML"},
    {"<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC><html xmlns=\"x\">", "HTML"},
    {"One day<br/>\n<p>a fox</p><p>met</p><div>a <a href=\"x\">crow</a></div>", "HTML"},
    {"<?xml version=\"1.0\"?>\n<TEI>", "XML"},
    {"% a paper\n\\documentclass{article}\n", "LaTeX"},
    {"{\\rtf1\\ansi One day", "RTF"},
    {"{\"id\": 7, \"text\": \"One day\"}\n{\"text\": \"x\"}\n", "JSON lines"},
    {"", NULL},
    {"Once upon a time there was a fox.\n", NULL},
    {" \n = Robert Boulter = \n \n = = Career = = \n a < b , [ [ c ] ] \n", NULL},
    {"# Title\n\nA [link](x), `<p>` and `<br>`, x[[1]], y[[2]].\n=====\n", NULL},
    {"HAMLET.\n<aside> To be [[or]] not\n", NULL},
    {"{\"a\": 1}\nwith \"text\" behind\n", NULL},
    {"#include <stdio.h>\nif (a == b) puts(\"<html>\");\n", NULL},
};

static void markup_is_seen(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct markup *m = markup_find(texts[i].text, strlen(texts[i].text));
        const char *name = m == NULL ? "plain" : m->name;
        const char *wanted = texts[i].name == NULL ? "plain" : texts[i].name;
        if (strcmp(name, wanted) != 0)
            fail_msg("%s: is %s, expected %s", texts[i].text, name, wanted);
    }
}

/* A beginning that is cut anywhere, or has NUL, is only read as far as it goes. */
static void beginnings_may_be_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t n = 0; n <= strlen(texts[i].text); n++) {
            char *cut = strndup(texts[i].text, n);
            markup_find(cut, n);
            free(cut);
        }
    static const char nul[] = "\0<html>";
    assert_null(markup_find(nul, sizeof nul));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_is_seen),
        cmocka_unit_test(beginnings_may_be_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
