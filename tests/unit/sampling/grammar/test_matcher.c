/*
 * Texts against grammars: what the notation means by examples, and random grammars against a
 * recognizer that knows nothing of bytes, states or stacks.
 */
#include "tests/lib/test.h"
#include "tests/lib/thin.h"

#include "model/base/buf.h"
#include "model/base/rng.h"
#include "sampling/grammar/grammar_parse.h"
#include "sampling/grammar/matcher.h"

/* The state of m after a text. */
static int state_after(struct matcher *m, const char *text)
{
    int state = matcher_start(m);
    for (; *text != '\0'; text++)
        state = matcher_step(m, state, (unsigned char)*text);
    return state;
}

static struct matcher *matcher_of(struct grammar **g, const char *rules)
{
    struct matcher *m;
    assert_ok(grammar_parse(g, rules, strlen(rules)));
    assert_ok(matcher_new(&m, *g, MATCHER_NODES));
    return m;
}

/* Texts that match, that begin one that does, and that do not; each list ends with NULL. */
static void examples(void **state)
{
    (void)state;
    static const struct {
        const char *rules, *whole[6], *begun[5], *wrong[8];
    } cases[] = {
        {"root ::= \"yes\" | \"no\"", {"yes", "no"}, {"", "ye", "n"}, {"nno", "yesno", "x", "no "}},
        {"root ::= \"a\"*", {"", "a", "aaaa"}, {NULL}, {"b", "ab"}},
        {"root ::= (\"a\" | \"b\" )+ # a comment\n", {"a", "abba"}, {""}, {"c", "abc"}},
        {"root ::= \"ab\"? [0-9]", {"ab1", "7"}, {"", "a", "ab"}, {"abab1", "77", "aa"}},
        {"root ::= \"ab\"{2}", {"abab"}, {"ab", "aba"}, {"ababa", "b"}},
        {"root ::= [a-c]{2,3}", {"ab", "abc"}, {"a"}, {"abca", "ad"}},
        {"root ::= [a-c]{2,}", {"ab", "abcabc"}, {"a"}, {"abd"}},
        {"root ::= [a-c]{,2} \"!\"", {"!", "a!", "ab!"}, {"", "a", "ab"}, {"abc"}},
        {"root ::= [a-c]{0} \"!\"", {"!"}, {""}, {"a"}},
        {"root ::= [^a\\]\\-]+ \"]\"", {"bc]", "\xc3\xa9]"}, {"\xc3", "b"}, {"a", "b-", "]"}},
        {"root ::= [-a] [a-] \"\\x41\\u00e9\\U0001F600\"",
         {"--A\xc3\xa9\xf0\x9f\x98\x80", "a-A\xc3\xa9\xf0\x9f\x98\x80"},
         {"a", "aaA\xc3"},
         {"b", "aaA\xe9"}},
        {"root ::= . .", {"ab", "\xe6\x97\xa5x", "\n\n"}, {"a", "a\xe6"}, {"abc", "\xff", "\xc0"}},
        {"root ::= [\xc3\xa0-\xc3\xa9\"\\\\]", {"\xc3\xa5", "\"", "\\"}, {"\xc3"}, {"\xc3\xaa"}},
        {"root ::=\n  \"a\" |\n  \"b\"\n  | \"c\"\nother-1 ::= root", {"a", "b", "c"}, {""}, {"d"}},
        {"root ::= (\n \"a\"\n \"b\" # c\n)", {"ab"}, {"a"}, {"b"}},
        {"root ::= \"(\" root \")\" | ", {"", "()", "((()))"}, {"(", "(()"}, {")", "())"}},
        {"root ::= l r\nl ::= \"a\" l | \"\"\nr ::= \"a\"", {"a", "aaa"}, {""}, {"b"}},
        {"root ::= (\"a\"*)* \"b\"", {"b", "aab"}, {"", "aa"}, {"ba"}},
        {"root ::= (\"\")* \"b\"?", {"", "b"}, {NULL}, {"bb"}},
        {"root ::= \"a\" x | \"b\"\nx ::= \"c\" x", {"b"}, {""}, {"a", "ac"}},
        {"root ::= (\"a\" | x)*\nx ::= \"c\" y\ny ::= x | x", {"", "aa"}, {NULL}, {"c"}},
        {"root ::= x x\nx ::= \"a\"? \"b\"?",
         {"", "ab", "ba", "abab"},
         {NULL},
         {"bbb", "aba"
                 "a"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct grammar *g;
        struct matcher *m = matcher_of(&g, cases[i].rules);
        for (const char *const *t = cases[i].whole; *t != NULL; t++)
            if (!matcher_ends(m, state_after(m, *t)))
                fail_msg("%s does not match \"%s\"", cases[i].rules, *t);
        for (const char *const *t = cases[i].begun; *t != NULL; t++)
            if (matcher_ends(m, state_after(m, *t)) || !matcher_goes_on(m, state_after(m, *t)))
                fail_msg("\"%s\" is no beginning of %s", *t, cases[i].rules);
        for (const char *const *t = cases[i].wrong; *t != NULL; t++)
            if (state_after(m, *t) != MATCHER_DEAD)
                fail_msg("%s allows \"%s\"", cases[i].rules, *t);
        matcher_free(m);
        grammar_free(g);
    }
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *rules, *why;
    } cases[] = {
        {"", "no rule is named root, with which a text begins"},
        {"answer ::= \"a\"", "no rule is named root, with which a text begins"},
        {"root ::= b\n", "line 1: there is no rule b"},
        {"root ::= \"a\"\n\nroot ::= \"b\"", "line 3: there are two rules root"},
        {"root := \"a\"", "line 1: expected ::= behind the name of a rule"},
        {"\"a\"", "line 1: expected the name of a rule"},
        {"root ::= \"a", "line 1: a text \" has no end"},
        {"root ::= \"a\nb\"", "line 1: a text \" has no end"},
        {"root ::= [a", "line 1: a class [ has no ]"},
        {"root ::= []", "line 1: a class without a character"},
        {"root ::= [^\\x00-\\U0010FFFF]", "line 1: a class without a character"},
        {"root ::= [b-a]", "line 1: a range in a class ends before it begins"},
        {"root ::= (\"a\"", "line 1: a group ( has no )"},
        {"root ::= (\"a\" ]", "line 1: expected |, ) or an item of a rule"},
        {"root ::= \"a\" )", "line 1: expected |, an item of the rule or the end of the line"},
        {"root ::= *", "line 1: expected |, an item of the rule or the end of the line"},
        {"root ::= \"a\"{}", "line 1: a repetition is {m}, {m,}, {,n} or {m,n}"},
        {"root ::= \"a\"{,}", "line 1: a repetition is {m}, {m,}, {,n} or {m,n}"},
        {"root ::= \"a\"{2", "line 1: a repetition is {m}, {m,}, {,n} or {m,n}"},
        {"root ::= \"a\"{3,2}", "line 1: in {m,n} n is less than m"},
        {"root ::= \"a\"{99999999999}", "line 1: {m,n} goes up to 65536"},
        {"root ::= \"a\"{40000} \"b\"{40000}", "line 1: the grammar is too large: "},
        {"root ::= \"\\q\"", "line 1: unknown escape: "},
        {"root ::= \"\\", "line 1: unknown escape: "},
        {"root ::= \"\\x4\"", "line 1: an escape needs 2 hexadecimal digits"},
        {"root ::= \"\\ud800\"", "line 1: there is no character U+D800"},
        {"root ::= \"\\U00110000\"", "line 1: there is no character U+110000"},
        {"root ::= \"\xe9\"", "the grammar is not UTF-8"},
        {"root ::= \"a\" root", "no text matches the grammar: root never comes to an end"},
        {"root ::= \"a\" b+\nb ::= \"b\" c\nc ::= \"c\" b", "no text matches the grammar"},
        {"root ::= root \"a\"", "line 1: rule root can begin with itself: "},
        {"root ::= a\na ::= b | \"x\"\nb ::= [c]? a", "line 2: rule a can begin with itself: "},
        {"root ::= (root \"a\")?", "line 1: rule root can begin with itself: "},
        {"root ::= \"\" e root | \"a\"\ne ::= \"b\"*", "line 1: rule root can begin with itself: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct grammar *g = (void *)1;
        const int rc = grammar_parse(&g, cases[i].rules, strlen(cases[i].rules));
        if (rc == 0 || strncmp(err_text(), cases[i].why, strlen(cases[i].why)) != 0)
            fail_msg("%s: %d, %s", cases[i].rules, rc, err_text());
        assert_null(g);
    }
}

static void depth_is_bounded(void **state)
{
    (void)state;
    struct buf rules = {0};
    struct grammar *g;
    assert_ok(buf_str(&rules, "root ::= "));
    for (int i = 0; i < 100000; i++)
        assert_ok(buf_char(&rules, '('));
    assert_fails(grammar_parse(&g, rules.data, rules.n), ERR_FORMAT, "too many ( in each other");
    buf_release(&rules);
}

/* ---- random grammars ---- */

/* A grammar as a tree. ends() says where a text can end that begins at a place. */
enum { RULES = 3, MOST = 200, LONGEST = 6 };
enum node_kind { CHARACTER, SEQUENCE, CHOICE, REPEAT, RULE };
struct node {
    enum node_kind kind;
    int a, b, least, most; /* children, or the character, or the rule */
};
struct trial {
    struct node nodes[MOST];
    int n, roots[RULES];
    const char *text;
    size_t length;
    unsigned known[MOST][LONGEST + 1]; /* ends so far, by node and place */
    uint64_t random, draws;
};

static unsigned draw(struct trial *t, unsigned n)
{
    uint32_t w[4];
    rng_words(w, 11, t->random, t->draws++);
    return w[0] % n;
}

static int make_node(struct trial *t, int depth)
{
    const int i = t->n++;
    struct node node = {.kind = CHARACTER, .a = 'a' + (int)draw(t, 3)};
    const unsigned what = depth == 0 || t->n > MOST - 20 ? 0 : draw(t, 6);
    if (what == 1 || what == 2)
        node = (struct node){what == 1 ? SEQUENCE : CHOICE, make_node(t, depth - 1),
                             make_node(t, depth - 1), 0, 0};
    else if (what == 3) {
        node = (struct node){REPEAT, make_node(t, depth - 1), 0, (int)draw(t, 3), 0};
        node.most = draw(t, 2) == 0 ? -1 : node.least + (int)draw(t, 3);
    } else if (what >= 4)
        node = (struct node){RULE, (int)draw(t, RULES), 0, 0, 0};
    t->nodes[i] = node;
    return i;
}

static void print_node(const struct trial *t, struct buf *out, int i)
{
    const struct node *x = &t->nodes[i];
    assert_ok(buf_char(out, '('));
    if (x->kind == CHARACTER && x->a == 'c')
        assert_ok(buf_str(out, "[\xc3\xa9]"));
    else if (x->kind == CHARACTER)
        assert_ok(buf_printf(out, "\"%c\"", x->a));
    else if (x->kind == RULE)
        assert_ok(buf_printf(out, "%s", (const char *[]){"root", "r1", "r2"}[x->a]));
    else {
        print_node(t, out, x->a);
        if (x->kind == REPEAT && x->most < 0)
            assert_ok(buf_printf(out, "{%d,}", x->least));
        else if (x->kind == REPEAT)
            assert_ok(buf_printf(out, "{%d,%d}", x->least, x->most));
        else {
            assert_ok(buf_str(out, x->kind == CHOICE ? " | " : " "));
            print_node(t, out, x->b);
        }
    }
    assert_ok(buf_char(out, ')'));
}

static unsigned ends(struct trial *t, int i, size_t at);

static unsigned ends_of_all(struct trial *t, int i, unsigned places)
{
    unsigned all = 0;
    for (size_t at = 0; at <= t->length; at++)
        all |= places >> at & 1 ? ends(t, i, at) : 0;
    return all;
}

/* From what is known so far. */
static unsigned ends(struct trial *t, int i, size_t at)
{
    const struct node *x = &t->nodes[i];
    unsigned places = 1u << at, all = 0;
    switch (x->kind) {
    case CHARACTER:
        return at < t->length && t->text[at] == x->a ? 2u << at : 0;
    case SEQUENCE:
        return ends_of_all(t, x->b, ends(t, x->a, at));
    case CHOICE:
        return ends(t, x->a, at) | ends(t, x->b, at);
    case RULE:
        return t->known[t->roots[x->a]][at];
    case REPEAT:
        break;
    }
    for (int k = 0; k < x->least; k++)
        places = ends_of_all(t, x->a, places);
    for (int k = x->least; x->most < 0 ? k <= x->least + LONGEST + 1 : k <= x->most; k++) {
        all |= places;
        places = ends_of_all(t, x->a, places);
    }
    return all;
}

/* Whether the grammar derives the text: what the rules derive grows until it does no more. */
static bool derives(struct trial *t, const char *text, size_t n)
{
    t->text = text;
    t->length = n;
    memset(t->known, 0, sizeof t->known);
    for (bool more = true; more;) {
        more = false;
        for (int r = 0; r < RULES; r++)
            for (size_t at = 0; at <= n; at++) {
                unsigned *known = &t->known[t->roots[r]][at];
                const unsigned now = *known | ends(t, t->roots[r], at);
                more = more || now != *known;
                *known = now;
            }
    }
    return t->known[t->roots[0]][0] >> n & 1;
}

/* The text in the letters of the grammar: c is é there. */
static void spell_text(char *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == 'c')
            *out++ = '\xc3';
        *out++ = (char)(text[i] == 'c' ? '\xa9' : text[i]);
    }
    *out = '\0';
}

/* Every text up to LONGEST letters; a dead one has none that matches behind it. */
static int compare(struct trial *t, struct matcher *m, const char *rules, char *text, size_t n,
                   bool dead)
{
    char spelled[2 * LONGEST + 1];
    spell_text(spelled, text, n);
    const int state = state_after(m, spelled);
    const bool want = derives(t, text, n);
    if (matcher_ends(m, state) != want || (dead && want))
        fail_msg("%s: \"%s\" %s", rules, spelled, want ? "is not matched" : "is matched");
    int matched = want;
    for (char c = 'a'; n < LONGEST && c <= 'c'; c++) {
        text[n] = c;
        matched += compare(t, m, rules, text, n + 1, dead || state == MATCHER_DEAD);
    }
    return matched;
}

static bool derives_any(struct trial *t, char *text, size_t n)
{
    bool any = derives(t, text, n);
    for (char c = 'a'; n < LONGEST && c <= 'c' && !any; c++) {
        text[n] = c;
        any = derives_any(t, text, n + 1);
    }
    return any;
}

static void random_grammars(void **state)
{
    (void)state;
    static struct trial t;
    int tried = 0, with_texts = 0;
    for (uint64_t random = 0; tried < thin_count(150, 4); random++) {
        struct buf rules = {0};
        struct grammar *g;
        char text[LONGEST + 1];
        t.random = random;
        t.n = 0;
        t.draws = 0;
        for (int r = 0; r < RULES; r++) {
            t.roots[r] = make_node(&t, 3);
            assert_ok(buf_printf(&rules, "%s ::= ", (const char *[]){"root", "r1", "r2"}[r]));
            print_node(&t, &rules, t.roots[r]);
            assert_ok(buf_char(&rules, '\n'));
        }
        if (grammar_parse(&g, rules.data, rules.n) == 0) {
            struct matcher *m;
            assert_ok(matcher_new(&m, g, MATCHER_NODES));
            with_texts += compare(&t, m, rules.data, text, 0, false) > 1;
            matcher_free(m);
            grammar_free(g);
            tried++;
        } else if (strstr(err_text(), "can begin with itself") == NULL &&
                   (strstr(err_text(), "no text matches") == NULL || derives_any(&t, text, 0))) {
            fail_msg("%s: %s", rules.data, err_text());
        }
        buf_release(&rules);
    }
    assert_true(with_texts > thin_count(75, 4)); /* of more than one text */
}

/* ---- room ---- */

/* What is kept is what it was: a text of which only the newest state stays, again and again. */
static void one_state_stays(void **state)
{
    (void)state;
    struct grammar *g;
    struct matcher *m = matcher_of(&g, "root ::= \"[\" (root (\",\" root)*)? \"]\" | [0-9]+");
    int s = matcher_start(m), depth = 0;
    for (int i = 0; i < 1500; i++, depth++) {
        s = matcher_step(m, s, '[');
        if (s == MATCHER_FULL)
            fail_msg("at %d", i);
        if (i % 7 == 0)
            s = matcher_keep(m, s);
        assert_true(matcher_goes_on(m, s) && !matcher_ends(m, s));
    }
    for (; depth > 0; depth--) {
        assert_false(matcher_ends(m, s));
        s = matcher_step(m, s, ']');
        if (s == MATCHER_FULL)
            fail_msg("at depth %d", depth);
        if (depth % 5 == 0)
            s = matcher_keep(m, s);
    }
    assert_true(matcher_ends(m, s) && !matcher_goes_on(m, s));
    assert_int_equal(matcher_step(m, s, ']'), MATCHER_DEAD);
    assert_int_equal(matcher_keep(m, MATCHER_DEAD), MATCHER_DEAD);
    matcher_free(m);
    grammar_free(g);
}

/* A text does not go deeper than that, but comes back from there; and where the states of one text
 * need all the room, it goes on after matcher_keep. */
static void as_deep_as_it_goes(void **state)
{
    (void)state;
    struct grammar *g;
    struct matcher *m = matcher_of(&g, "root ::= \"(\" root \")\" | \"x\"");
    int s = matcher_start(m), next = s, n = 0;
    for (; n < 1000000; n++, s = next) {
        next = matcher_step(m, s, '(');
        if (next == MATCHER_FULL) {
            s = matcher_keep(m, s);
            next = matcher_step(m, s, '(');
        }
        assert_int_not_equal(next, MATCHER_FULL);
        if (next == MATCHER_DEAD)
            break;
    }
    assert_int_equal(n, MATCHER_DEPTH);
    s = matcher_step(m, s, 'x');
    for (; n > 0; n--) {
        assert_true(matcher_goes_on(m, s) && !matcher_ends(m, s));
        if ((next = matcher_step(m, s, ')')) == MATCHER_FULL)
            next = matcher_step(m, matcher_keep(m, s), ')');
        s = next;
    }
    assert_true(matcher_ends(m, s));
    matcher_free(m);
    grammar_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples),         cmocka_unit_test(refusals),
        cmocka_unit_test(depth_is_bounded), cmocka_unit_test(random_grammars),
        cmocka_unit_test(one_state_stays),  cmocka_unit_test(as_deep_as_it_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
