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
    {"<?xml version=\"1.0\"?>\n<!-- <TEI> -->\n<svg xmlns=\"http://www.w3.org/2000/svg\">",
     "SVG, a picture"},
    {"<svg width=\"8\">", "SVG, a picture"},
    {"<records>\n<r><a>1</a><b>2</b></r>\n<r><a>1</a><b>2</b></r>\n", "XML"},
    {"<user>Hi</user>\n<user>1</user><user>2</user><user>3</user><user>4</user><user>5</user>",
     NULL},
    {"A <b>2</b></r>\n<r><a>1</a><b>2</b></r></r></r>\n", NULL},
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

static void csv_is_known_by_name_and_columns(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        bool is;
    } rows[] = {
        {"a.csv", "id,text\n1,One day\n2,\"A fox, a \"\"crow\"\"\nand cheese\"\n", true},
        {"a.csv", "id;text\n1;One, two\n", true},
        {"a.csv", "id,text\n1,One day\n2,Two\n\n", true},
        {"a.csv", "id,text\r\n1,One day\r\n\r\n2,Two\r\n", true},
        {"a.csv.gz", "id,text\n1,\"a text that is cut", true},
        {"a.tsv", "id\ttext\n1\tOne, day\n", true},
        {"a.tsv", "id,text\n1,One\n", false},
        {"a.txt", "id,text\n1,One\n", false},
        {"a.csv", "One day, a fox\nmet a crow.\n", false},
        {"a.csv", "text\nOne day\n", false},
        {"a.csv", "id,text\n", false},
        {"a.csv", "", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct markup *m = markup_find_csv(rows[i].name, rows[i].text, strlen(rows[i].text));
        if ((m != NULL) != rows[i].is)
            fail_msg("%s: %s is %sCSV", rows[i].name, rows[i].text, m == NULL ? "not " : "");
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
        cmocka_unit_test(csv_is_known_by_name_and_columns),
        cmocka_unit_test(beginnings_may_be_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
