/* Wiki text as paragraphs: what stays, what goes, and that numbers do not vanish. */
#include "tests/lib/test.h"

#include "model/base/clock.h"
#include "model/base/mem.h"
#include "train/prepare/wiki_expr.h"
#include "train/prepare/wiki_lines.h"
#include "train/prepare/wiki_text.h"

struct row {
    const char *wiki, *text;
};

static const struct wiki_day today = {2016, 5, 1};

static void expect(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct buf out = {0};
        assert_ok(wiki_text(&out, rows[i].wiki, strlen(rows[i].wiki), &today));
        if (strcmp(buf_text(&out), rows[i].text) != 0)
            fail_msg("%s\n  is:       %s\n  expected: %s", rows[i].wiki, buf_text(&out),
                     rows[i].text);
        buf_release(&out);
    }
}
#define EXPECT(...)                                                                                \
    do {                                                                                           \
        static const struct row rows[] = {__VA_ARGS__};                                            \
        expect(rows, sizeof rows / sizeof rows[0]);                                                \
    } while (0)

static void marks_go_and_text_stays(void **state)
{
    (void)state;
    EXPECT(
        {"'''Bold''' and ''italic'' and '''''both''''', it's 'so'",
         "Bold and italic and both, it's 'so'"},
        {"A [[cat]], [[Felis catus|domestic cats]], [[:Category:Cats]] and [[dog]]s",
         "A cat, domestic cats, Category:Cats and dogs"},
        {"One[[File:a.jpg|thumb|A [[nested]] caption]] two [[Category:X]][[fr:Chat]]", "One two"},
        {"See [http://x.org the page] and [http://x.org] now [not a link]",
         "See the page and now [not a link]"},
        {"Text<ref name=\"a\">note {{cite|x=1}}</ref>.<ref name=b/> More<!-- no -->.",
         "Text. More."},
        {"One<ref>a</ref , two <ref>b</ref\nthree<ref>c</ref n=1> <i>four</i>",
         "One, two three four"},
        {"a &lt;b&gt; &amp; &eacute;&nbsp;&#8211; &#x3b1; &nosuch; &Omega;",
         "a <b> & é – α &nosuch; Ω"},
        {"<nowiki>[[not]] a {{link}}</nowiki> 10<sup>6</sup> m<sup>2</sup> H<sub>2</sub>O",
         "[[not]] a {{link}} 10^6 m2 H2O"},
        {"<math>x_{1}^2 = \\frac{a}{b}</math> holds", "x_{1}^2 = \\frac{a}{b} holds"},
        {"before\n{| class=x\n| a || b\n|-\n| {| \n| inner\n|}\n|}\nafter", "before\n\nafter"},
        {"__NOTOC__one\ntwo\n\nthree", "one two\n\nthree"}, {"1 < 2 and 3 > 2", "1 < 2 and 3 > 2"});
}

static void lines_become_blocks(void **state)
{
    (void)state;
    EXPECT(
        {"Lead.\n== A ==\nText.\n=== B ===\n== C ==\n* one\n* two\n# three\n:four",
         "Lead.\n\nA\n\nText.\n\nC\n\n- one\n- two\n- three\n\nfour"},
        {"Lead.\n== See also ==\n* [[x]]\n=== More ===\ntext\n== D ==\nkept", "Lead.\n\nD\n\nkept"},
        {"== Empty ==\n{{box}}\n", ""}, {"one\n----\ntwo", "one\n\ntwo"},
        {"x {{unknown|}} ( ) (; born 1) (a, ) , y .", "x (born 1) (a), y."});
}

/* A text that begins with what is gone begins with its first word. */
static void beginnings_have_no_holes(void **state)
{
    (void)state;
    EXPECT({"* {{citation|title=x}}. First of a series.\n* [[File:a.svg]] : the letter alpha",
            "- First of a series.\n- the letter alpha"},
           {"{{box}}, {{box}}; then ''this''.", "then this."}, {"* {{box}}.\n* ab", "- ab"},
           {"({{box}}): so it is", "so it is"}, {"...and .NET, .5", "...and .NET, .5"});
}

/* An abbreviation at the end of a link or template ends the sentence with its own point. */
static void sentences_end_once(void **state)
{
    (void)state;
    EXPECT({"By [[Martin Luther King, Jr.]]. On [[x|Mr. Hooper, Sr.]], [[Jr.]]", //
            "By Martin Luther King, Jr. On Mr. Hooper, Sr., Jr."},
           {"{{nowrap|5 p.m.}}. A title.{{#tag:ref|note}}. B", "5 p.m. A title. B"},
           {"{{nowrap|[[Sr.]].}} [[a]]. .", "Sr. a.."},
           {"[[a.]]... [[So ...]]. [[etc.]]..", "a.... So .... etc..."});
}

static void numbers_do_not_vanish(void **state)
{
    (void)state;
    EXPECT(
        {"{{convert|5|km|mi}}", "5 kilometres (3.1 mi)"},
        {"an area of {{convert|661848|km2|sqmi|abbr=on}} and",
         "an area of 661,848 km2 (255,541 sq mi) and"},
        {"{{Convert|10|ft|m|0}}", "10 feet (3 m)"},
        {"{{convert|1|mi|km|adj=on}} walk", "1-mile (1.6 km) walk"},
        {"{{convert|2|to|5|km|mi|sp=us}}", "2 to 5 kilometers (1.2 to 3.1 mi)"},
        {"{{convert|20|C|F}} or {{convert|-40|F}}", "20 °C (68 °F) or −40 °F (−40 °C)"},
        {"{{convert|20|C|F|abbr=off}}", "20 degrees Celsius (68 degrees Fahrenheit)"},
        {"{{convert|300|K|C|disp=or}}", "300 K or 27 °C"},
        {"{{convert|12|nmi|mi km}}", "12 nautical miles (14 mi; 22 km)"},
        {"{{cvt|100|kg}} {{convert|100|lb|disp=or}}", "100 kg (220 lb) 100 pounds or 45 kilograms"},
        {"{{convert|5.0|m|ftin}} {{convert|3|parsnip|x}}", "5.0 metres (16 ft 5 in) 3 parsnip"},
        {"{{convert|12|ft|3|in|m}} {{convert|5|ft|10|in|cm}}",
         "12 feet 3 inches (3.73 m) 5 feet 10 inches (178 cm)"},
        {"{{cvt|6|ft|1|in}} {{convert|6|ft|3|in|m|adj=on}}",
         "6 ft 1 in (1.85 m) 6-foot-3-inch (1.91 m)"},
        {"{{convert|1|mi|3|ft|5.5|in|m|0}} {{convert|11|st|3|lb}}",
         "1 mile 3 feet 5.5 inches (1,610 m) 11 stone 3 pounds (157 lb; 71 kg)"},
        {"{{convert|178|cm|ftin|abbr=on}} {{convert|25|cm|ftin}} {{convert|80|kg|stlb "
         "lb|abbr=off}}",
         "178 cm (5 ft 10 in) 25 centimetres (10 in) 80 kilograms (12 stone 8 pounds; 180 pounds)"},
        {"{{convert|80|kg|stlb}} {{convert|1.83|m|ftin|order=flip}}",
         "80 kilograms (12 st 8 lb) 6 feet 0 inches (1.83 m)"},
        {"{{convert|10|to|20|km}} {{convert|10|-|20|km|abbr=on}} {{cvt|10|to(-)|20|km}}",
         "10 to 20 kilometres (6.2 to 12 mi) 10–20 km (6.2–12 mi) 10–20 km (6.2–12 mi)"},
        {"{{convert|3|x|4|m}} {{cvt|3|x|4|x|5|m}} {{convert|3|by|4|m}}",
         "3 by 4 metres (9.8 ft × 13 ft) 3 m × 4 m × 5 m (9.8 ft × 13 ft × 16 ft) "
         "3 by 4 metres (9.8 by 13 ft)"},
        {"{{convert|5|ft|x|in|cm}} {{convert|3|in|2|ft}}",
         "5 feet (60 in; 150 cm) 3 inches (0.25 ft)"},
        {"{{convert|50|km|mi|order=flip|abbr=on}}", "31 mi (50 km)"},
        {"{{convert|1/2|mi}} {{convert|1.5|e6acre|e6ha}}",
         "1⁄2 mile (0.80 km) 1.5 million acres (0.61 million ha)"},
        {"{{convert|1/1e999|km}} {{convert|1/8|km}}", "1/1e999 km 1⁄8 kilometre (0.078 mi)"},
        {"{{convert|1e-2147483648|km}}", "1e-2147483648 kilometres (0 mi)"},
        {"{{formatnum:1234567}} {{frac|1|2}} {{frac|3|4|5}} {{val|1.5|0.2|e=6|u=m}} {{nts|12345}}",
         "1,234,567 1⁄2 3 4⁄5 1.5 ± 0.2×10^6 m 12,345"},
        {"{{birth date|1879|3|14}} {{start date|2001|9|df=y}} {{As of|2008|7}} "
         "{{dts|1999|12|31|format=dmy}}",
         "March 14, 1879 September 2001 As of July 2008 31 December 1999"},
        {"{{lang|fr|''Le chat''}} ({{lang-ru|кот}}, {{lang-xx|y}}) "
         "{{nihongo|Aikido|合気道|aikidō}}",
         "Le chat (Russian: кот, y) Aikido (合気道, aikidō)"},
        {"{{nowrap|5 {{small|km}}}}{{ndash}}{{US$|1200}} {{coord|57|18|N|4|27|W|display=inline}} "
         "{{coord|1|N|2|E|display=title}}",
         "5 km–US$1,200 57°18′N 4°27′W"},
        {"{{pop density|3645257|640081.87|km2|sqmi}}", "5.7/km2 (15/sq mi)"},
        {"{{USS|Enterprise|CV-6}} {{chem|H|2|O}} {{quote|text=Said.}} {{hlist|a|b}}",
         "USS Enterprise (CV-6) H2O Said. a, b"},
        {"{{{1|x}}} {{#if:a|b}} {{cite web|title=x}} end", "end"});
}

/* What templates work out: ages to the day the page was written, shares, words. */
static void numbers_are_worked_out(void **state)
{
    (void)state;
    EXPECT(
        {"{{birth date and age|1947|04|01|df=y}} {{birth date and age|1947|5|2}}",
         "1 April 1947 (age 69) May 2, 1947 (age 68)"},
        {"{{death date and age|1865|4|15|1809|2|12}}, {{death year and age|1990|1920}}",
         "April 15, 1865 (aged 56), 1990 (aged 69–70)"},
        {"({{age|1969|07|20}} years ago) {{age|1775|4|19|1783|9|3}}", "(46 years ago) 8"},
        {"{{Age in years, months and days|1775|04|19|1783|09|03}}",
         "8 years, 4 months and 15 days"},
        {"{{age in years and days|1996|2|28|1997|3|1}} {{age in days|2000|1|1|2004|1|1}}",
         "1 year, 1 day 1,461"},
        {"{{age in years|1990-12-31|1992-12-30}} {{birth-date and age|1950-05-01}}",
         "1 year May 1, 1950 (age 66)"},
        {"{{reign|1558|1603}}; {{floruit|1500}}; {{p.|88}}; {{pp.|3|16}}; {{vol.|3}}",
         "r. 1558–1603; fl. 1500; p. 88; pp. 3–16; vol. 3"},
        {"{{percentage|1|4}} {{percentage|1|3|1}} {{percent|12}} {{bar percent|Muslim|green|98}}",
         "25% 33.3% 12% Muslim 98%"},
        {"{{#expr: 1 + 2 * 3}} {{#expr:(2^10 - 24) / 1e3 round 1}} {{#expr:-7 mod 3}} "
         "x{{#expr:1/0}}",
         "7 1 -1 x"},
        {"{{#expr:{{formatnum:1234567}}/3 round 2}} {{round|3.14159|2}} {{#expr:10/4}}",
         "411522.33 3.14 2.5"},
        {"{{ordinal|1}} {{ordinal|12}} {{ordinal|23}} {{ordinal|1011}} {{spellnum|42}}",
         "1st 12th 23rd 1,011th forty-two"},
        {"{{ordinal|-2147483648}} {{ordinal|-3}} {{ISO date|2008|-2147483648|-7}} "
         "{{duration|1|-2147483648|-5}}",
         "-2,147,483,648th -3rd 2008-48-07 1:648:05"},
        {"{{plural|1|page}} {{plural|3|page}} {{plural|2|sheep|sheep}} 3 {{PLURAL:3|page|pages}}",
         "1 page 3 pages 2 sheep 3 pages"},
        {"{{number|12345}} {{ISO date|2008|5|7}} {{date|2008-05-07}} {{start date|2008-05-07}}",
         "12,345 2008-05-07 7 May 2008 May 7, 2008"},
        {"{{marriage|[[Mary Todd]]|November 4, 1842|1865|reason=his death}} "
         "{{marriage|A|1990|2001}} {{marriage|B|2002|2004|end=divorced}} {{marriage|C|2005}}",
         "Mary Todd (m. November 4, 1842; his death 1865) A (m. 1990–2001) B (m. 2002; div. 2004) "
         "C (m. 2005)"},
        {"{{OldStyleDate|February 2|1905|January 20}}; {{val|1.00794|(7)}} {{duration|m=3|s=5}}",
         "February 2 [O.S. January 20] 1905; 1.00794(7) 3:05"},
        {"{{bibleref|Mark|3:25|9}} {{sqrt|2}} {{±|0.5}} {{duration|1|2|3}}",
         "Mark 3:25 √2 ±0.5 1:02:03"},
        {"Steps: {{ordered list|One.|Two.}} Done.", "Steps:\n\n- One.\n- Two.\n\nDone."});
}

static void expressions_have_values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } rows[] = {{"2*-3", -6},
                {"2^3^2", 64},
                {"7 div 2", 3.5},
                {"abs(-2)+floor 2.7", 4},
                {"ceil(1.2)", 2},
                {"trunc(-1.7)", -1},
                {"2.5 round 0", 3},
                {"-2.5 round 0", -3},
                {"1234 round -2", 1200},
                {"1,000.5", 1000.5},
                {" ( 1 ) ", 1},
                {"1.5e3", 1500}};
    static const char *const wrong[] = {"",    "1+",  "(1", "1 2", "x",
                                        "1/0", "0/0", "1e", "--",  "1..2"};
    double value;
    struct buf deep = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!wiki_expr(&value, rows[i].text) || value != rows[i].value)
            fail_msg("%s is %g, expected %g", rows[i].text, value, rows[i].value);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(wiki_expr(&value, wrong[i]));
    for (int i = 0; i < 100000; i++)
        assert_ok(buf_char(&deep, '('));
    assert_false(wiki_expr(&value, buf_text(&deep)));
    buf_release(&deep);
}

/* What wiki_tidy does, one byte after the other. */
static void tidy_slowly(struct buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const bool blank = strchr(" \t\n\r", text[i]) != NULL;
        const char last = out->n == 0 ? '\0' : out->data[out->n - 1];
        const bool ends = i + 1 == n || strchr(" \n)", text[i + 1]) != NULL;
        if (last == '\0' && strchr(",;.", text[i]) != NULL &&
            (i + 1 == n || strchr(" \n", text[i + 1]) != NULL))
            continue;
        if (blank && (last == '\0' || last == ' ' || last == '('))
            continue;
        if (text[i] == ')') {
            while (out->n > 0 && strchr(" ,;", out->data[out->n - 1]) != NULL)
                out->n--;
            if (out->n > 0 && out->data[out->n - 1] == '(')
                out->n--;
            else
                assert_ok(buf_char(out, ')'));
        } else if (strchr(",;.", text[i]) != NULL && ends && (last == ' ' || last == '(')) {
            while (out->n > 0 && out->data[out->n - 1] == ' ')
                out->n--;
            const char before = out->n == 0 ? '\0' : out->data[out->n - 1];
            if (before != '(' && (text[i] == '.' || (before != ',' && before != ';')))
                assert_ok(buf_char(out, text[i]));
        } else {
            assert_ok(buf_char(out, blank ? ' ' : text[i]));
        }
    }
    while (out->n > 0 && out->data[out->n - 1] == ' ')
        out->n--;
    assert_ok(buf_char(out, '\0'));
}

/* All texts of a few bytes that matter: whole runs are copied, and that changes nothing. */
static void runs_are_tidied_like_bytes(void **state)
{
    (void)state;
    static const char letters[] = "a \t(),.";
    enum { BASE = sizeof letters - 1, LONGEST = 7 };
    struct buf fast = {0}, slow = {0};
    for (size_t n = 1, all = BASE; n <= LONGEST; n++, all *= BASE)
        for (size_t number = 0; number < all; number++) {
            char text[LONGEST + 1] = "";
            for (size_t i = 0, left = number; i < n; i++, left /= BASE)
                text[i] = letters[left % BASE];
            fast.n = slow.n = 0;
            assert_ok(wiki_tidy(&fast, text, n));
            tidy_slowly(&slow, text, n);
            if (strcmp(buf_text(&fast), slow.data) != 0)
                fail_msg("\"%s\" is \"%s\", expected \"%s\"", text, fast.data, slow.data);
        }
    buf_release(&fast);
    buf_release(&slow);
}

/* Brackets that do not belong together, too deep, or without an end: some text, and soon. */
static void any_bytes_are_taken(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "{{",     "}}",   "[[",        "]]",       "{|",        "|}",        "<ref>",
        "</ref>", "<!--", "{{nowrap|", "[http://", "''",        "\n{|",      "<sup>",
        "&#",     "(",    "((",        ") ,",      "== x ==\n", "{{lang|x|", "{{convert|"};
    const double begun = clock_s();
    EXPECT({"{{nowrap|open", "nowrap|open"}, {"[[open", "open"}, {"a}} b]] c", "a b c"},
           {"<ref>open", "open"}, {"here <b", "here <b"}, {"{{nowrap|[[a}}]] b", "a b"});
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct buf in = {0}, out = {0};
        while (in.n < 1 << 20)
            assert_ok(buf_str(&in, parts[i]));
        assert_ok(wiki_text(&out, in.data, in.n, NULL));
        buf_release(&in);
        buf_release(&out);
    }
    assert_true(clock_s() - begun < 120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_go_and_text_stays),    cmocka_unit_test(lines_become_blocks),
        cmocka_unit_test(beginnings_have_no_holes),   cmocka_unit_test(sentences_end_once),
        cmocka_unit_test(numbers_do_not_vanish),      cmocka_unit_test(numbers_are_worked_out),
        cmocka_unit_test(expressions_have_values),    cmocka_unit_test(any_bytes_are_taken),
        cmocka_unit_test(runs_are_tidied_like_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
