#include "tests/lib/test.h"

#include "model/base/rng.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 64, COLUMNS = 40, TEXT = 400 };

/* A terminal of `width` columns: what stands in its last column is followed by the next line
 * only when something comes behind it, and a step back from there leaves that column. */
struct screen {
    int width, row, column;
    char cell[ROWS][COLUMNS];
};

static void show(struct screen *s, const char *text, size_t n)
{
    int columns;
    for (size_t i = 0, used; i < n; i += used) {
        used = term_character(text + i, n - i, &columns);
        if (text[i] == '\n') {
            s->row++;
            s->column = 0;
        } else if (text[i] == '\t') {
            s->column = (s->column / 8 + 1) * 8;
        } else if (text[i] == '\b') {
            s->column -= s->column == s->width ? 2 : s->column > 0;
        } else {
            if (s->column + columns > s->width) {
                s->row++;
                s->column = 0;
            }
            for (int k = 0; k < columns; k++)
                s->cell[s->row][s->column++] = used == 1 ? text[i] : '#';
        }
        assert_in_range(s->row, 0, ROWS - 1);
    }
}

/* The lines, each with a '|' where its last visible character was. */
static const char *lines(const struct screen *s)
{
    static char out[ROWS * (COLUMNS + 2)];
    size_t n = 0;
    for (int row = 0; row <= s->row; row++) {
        size_t end = n;
        for (int k = 0; k < s->width; k++) {
            out[n] = s->cell[row][k] == '\0' ? ' ' : s->cell[row][k];
            end = out[n++] == ' ' ? end : n;
        }
        n = end;
        out[n++] = '|';
    }
    out[n] = '\0';
    return out;
}

/* In pieces of at most `most` whole characters. */
static void send(struct screen *s, struct wrap *w, const char *text, uint64_t seed, int most)
{
    struct buf out = {0};
    size_t n = strlen(text);
    int columns;
    for (size_t i = 0, used; i < n; i += used) {
        int pieces = 1 + (int)(rng_uniform(seed, 1, i) * most);
        for (used = 0; pieces-- > 0 && i + used < n;)
            used += term_character(text + i + used, n - i - used, &columns);
        out.n = 0;
        assert_ok(wrap_text(w, &out, text + i, used, s->width));
        show(s, buf_text(&out), out.n);
    }
    buf_release(&out);
}

static void words_begin_the_next_line(void **state)
{
    (void)state;
    static const struct {
        int width, column, indent;
        const char *text, *lines;
    } cases[] = {
        {12, 0, 0, "My name is Tom.", "My name is|Tom.|"},
        {12, 0, 0, "they played together", "they played|together|"},
        {12, 0, 0, "a\n\nb", "a||b|"},
        /* A list that is longer than a line, behind a comma. */
        {12, 0, 0, "top_k,top_p,min_p,xtc", "top_k,|top_p,|min_p,xtc|"},
        {12, 2, 0, "top_k_1,top_p min_p", "|top_k_1,|top_p min_p|"},
        {12, 0, 2, "no_repeat,abcdefghijkl", "no_repeat,|  abcdefghi|  jkl|"},
        /* A path behind a slash, a setting behind its sign, a name behind a mark within it. */
        {12, 0, 0, "in /home/books/one.txt: it", "in|/home/|books/|one.txt: it|"},
        {12, 0, 0, "see data=/books/one.txt", "see|data=/|books/|one.txt|"},
        {12, 0, 0, "a https://books.org/one", "a|https://|books.org/|one|"},
        {12, 0, 0, "a_long_name_of_it.txt", "a_long_|name_of_|it.txt|"},
        {12, 0, 0, "==============", "============|==|"},
        {12, 0, 2, "  /home/books/of_all_times.txt", "  /home/|  books/|  of_all_|  times.txt|"},
        /* Blanks at the edge are neither shown nor counted, nor is a line between. */
        {6, 0, 0, "five5 six", "five5|six|"},
        {6, 0, 0, "five5   six", "five5|six|"},
        {6, 0, 0, "five5 \nsix", "five5|six|"},
        {6, 0, 0, "five5 \n\nsix", "five5||six|"},
        /* What is longer than a line begins a line, and is the terminal's to break. */
        {8, 0, 0, "a bcdefghijkl m", "a|bcdefghi|jkl m|"},
        {8, 0, 0, "bcdefghijkl m", "bcdefghi|jkl m|"},
        {8, 0, 0, "abcdefgh ij", "abcdefgh|ij|"},
        /* Behind a label. */
        {10, 4, 0, "one two six", "    one|two six|"},
        /* A tab is a space up to the next stop. */
        {12, 0, 0, "a\tbcdefg h", "a|bcdefg h|"},
        {12, 0, 0, "a\tbcde f", "a|bcde f|"},
        {12, 0, 0, "a\tbcd e", "a       bcd|e|"},
        /* Wide letters, and those with an accent of their own, are not taken back; e acute is one.
         */
        {8, 0, 0, "a \xe4\xbd\xa0\xe5\xa5\xbd\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xbd\xa0",
         "a ######|####|"},
        {8, 0, 0, "\xe4\xbd\xa0 bc defg", "## bc|defg|"},
        {8, 0, 0, "a he\xcc\x81he\xcc\x81he\xcc\x81", "a hehehe|"},
        {8, 0, 0, "a h\xc3\xa9h\xc3\xa9h\xc3\xa9", "a|h#h#h#|"},
        /* What goes on is as far in as one says, whether a word or a space met the edge. */
        {12, 0, 2, "  one two six nine", "  one two|  six nine|"},
        {11, 0, 2, "  five5 567 nine", "  five5|  567 nine|"},
        {10, 0, 2, "  five5 567\nno", "  five5|  567|no|"},
        {8, 0, 2, "  abcdefghij kl", "  abcde|  fghij|  kl|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int most = 1; most < 30; most += 4) {
            struct screen s = {.width = cases[i].width, .column = cases[i].column};
            struct wrap w = {.indent = cases[i].indent};
            wrap_at(&w, cases[i].column);
            send(&s, &w, cases[i].text, (uint64_t)most, most);
            assert_string_equal(lines(&s), cases[i].lines);
            assert_int_equal(w.column, s.column);
            wrap_release(&w);
        }
}

/* Random words and widths: the lines a plain loop over the words makes. */
static void lines_are_those_of_the_words(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        int width = 8 + (int)(rng_uniform(seed, 2, 0) * 30), at = 0;
        char text[TEXT], want[2 * TEXT];
        size_t n = 0, m = 0;
        for (uint64_t k = 0; k < 40; k++) {
            int letters = 1 + (int)(rng_uniform(seed, 3, k) * 6);
            bool first = k == 0;
            if (!first && at + 1 + letters < width) {
                want[m++] = ' ';
                at++;
            } else if (!first) {
                want[m++] = '|';
                at = 0;
            }
            if (!first)
                text[n++] = ' ';
            for (int i = 0; i < letters; i++)
                text[n++] = want[m++] = (char)('a' + (int)(k % 26));
            at += letters;
        }
        text[n] = '\0';
        memcpy(want + m, "|", 2);
        struct screen s = {.width = width};
        struct wrap w = {0};
        send(&s, &w, text, seed, 1 + (int)(seed % 9));
        assert_string_equal(lines(&s), want);
        assert_int_equal(w.column, s.column);
        wrap_release(&w);
    }
}

/* Nothing is taken back of a text that comes whole. */
static void a_whole_text_is_only_broken(void **state)
{
    (void)state;
    struct wrap w = {0};
    struct buf out = {0};
    assert_ok(wrap_text(&w, &out, "My name is Tom.", 15, 12));
    assert_string_equal(buf_text(&out), "My name is\nTom.");
    assert_ok(wrap_text(&w, &out, " and others", 11, 12));
    assert_string_equal(buf_text(&out), "My name is\nTom. and\nothers");
    buf_release(&out);
    wrap_release(&w);
}

/* A number and what it counts or names stand in one line. */
static void figures_stay_whole(void **state)
{
    (void)state;
    static const struct {
        const char *text, *lines;
    } cases[] = {
        {"[4 prompt tokens in 3.2 ms; 14 new]", "[4 prompt tokens\nin 3.2 ms; 14 new]"},
        {"14 new; length; seed 1]", "14 new; length;\nseed 1]"},
        {"14 new, 2.5 s; stop token; seed 12]", "14 new, 2.5 s; stop\ntoken; seed 12]"},
        {"1 2 3 4 5 6 7 8 9 10 11 12", "1 2 3 4 5 6 7 8 9 10 11 12"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct wrap w = {.figures = true};
        struct buf out = {0};
        assert_ok(wrap_text(&w, &out, cases[i].text, strlen(cases[i].text), 20));
        assert_string_equal(buf_text(&out), cases[i].lines);
        buf_release(&out);
        wrap_release(&w);
    }
}

/* What is to be typed stands in one line, where a line has room for it. */
static void commands_stay_whole(void **state)
{
    (void)state;
    static const struct {
        const char *text, *lines;
    } cases[] = {
        {"all of it: `:why 3 all`, N", "all of it:\n`:why 3 all`, N"},
        {"now it (`:why 3 all`) shows", "now it\n(`:why 3 all`) shows"},
        {"say `:train resume steps=400` again", "say `:train resume\nsteps=400` again"},
        {"a ` that has no other of it", "a ` that has no\nother of it"},
        {"a ` in one line,\nand ` of it", "a ` in one line,\nand ` of it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct wrap w = {.sentence = true};
        struct buf out = {0};
        assert_ok(wrap_text(&w, &out, cases[i].text, strlen(cases[i].text), 21));
        assert_string_equal(buf_text(&out), cases[i].lines);
        buf_release(&out);
        wrap_release(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_begin_the_next_line),
        cmocka_unit_test(lines_are_those_of_the_words),
        cmocka_unit_test(a_whole_text_is_only_broken),
        cmocka_unit_test(figures_stay_whole),
        cmocka_unit_test(commands_stay_whole),
    };
    return cmocka_run_group_tests_name("wrap", tests, NULL, NULL);
}
