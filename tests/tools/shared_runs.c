/*
 * How much of drawn texts stands in other texts too, word for word.
 *
 *   shared_runs TEXTS [N] <DRAWN
 *   shared_runs - N <DRAWN
 *
 * TEXTS  files with the other texts, separated by commas, as `data` takes them
 * DRAWN  answers of `prattle --jsonl`, an object a line; a text is its prompt and its answer
 *
 * A word is a run of letters and digits, in lower case; apostrophes in it do not count. Prints the
 * share of the words of DRAWN that stand in runs of N words or more (13) which a document of TEXTS
 * has as well; with -, the greatest number of texts of DRAWN that have one such run in common, as
 * those of one plot do. Hashes only find the runs: each is compared word by word.
 */
#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "model/tokenizer/bpe_words.h"
#include "train/data/text_reader.h"
#include "train/prepare/text_hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 64, NO_WORD = -1 };

/* The newest words of a text, oldest first, and how many of it were read. */
struct window {
    int32_t words[MOST_WORDS];
    size_t n_text;
};

static struct bpe_words names; /* every word of both, by its number */
static struct {
    int32_t *words; /* [n] of all drawn texts, NO_WORD between two */
    bool *shared;   /* [n] */
    int32_t *next;  /* [n] the next that begins a run of the same hash, from 1; 0: none */
    int32_t *text;  /* [n] the text that it is of */
    size_t n, cap;
} drawn;
static int32_t *runs; /* [1 << RUN_BITS] the first that begins a run of this hash, from 1 */
enum { RUN_BITS = 20 };
static int run_words = 13;

static void check(int rc)
{
    if (rc == 0)
        return;
    fprintf(stderr, "shared_runs: %s\n", err_text());
    exit(1);
}

static void *need(void *p)
{
    check(p == NULL ? ERR_NOMEM : 0);
    return p;
}

/* The next word from *at on, into word; false: the text has no more. */
static bool next_word(struct buf *word, const char *text, size_t n, size_t *at)
{
    word->n = 0;
    for (; *at < n; ++*at) {
        const unsigned folded = text_hash_fold((unsigned char)text[*at]);
        if (folded != 0)
            check(buf_char(word, (char)folded));
        else if (text[*at] != '\'' && word->n > 0)
            return true;
    }
    return word->n > 0;
}

static int32_t number_of(const struct buf *word)
{
    size_t index;
    check(bpe_words_find(&names, &index, word->data, word->n));
    return (int32_t)index;
}

static size_t hash_run(const int32_t *words)
{
    uint64_t h = 0;
    for (int i = 0; i < run_words; i++)
        h = (h ^ (uint32_t)words[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
    return h >> (64 - RUN_BITS);
}

static void add_drawn(int32_t word)
{
    if (drawn.n == drawn.cap) {
        const size_t cap = drawn.cap == 0 ? 1 << 14 : 2 * drawn.cap;
        drawn.words =
            need(mem_grow(drawn.words, drawn.cap * sizeof *drawn.words, cap * sizeof *drawn.words));
        drawn.cap = cap;
    }
    drawn.words[drawn.n++] = word;
}

static void add_text(struct buf *text, const json_t *value)
{
    if (json_is_string(value))
        check(buf_add(text, json_string_value(value), json_string_length(value)));
}

static void take_drawn(const char *line, size_t n)
{
    struct buf text = {0}, word = {0};
    json_t *object;
    size_t at = 0;
    check(json_read_line(&object, line, n));
    if (!json_is_string(json_object_get(object, "text")))
        check(err_set(ERR_FORMAT, "a line has no text"));
    add_text(&text, json_object_get(object, "prompt"));
    add_text(&text, json_object_get(object, "text"));
    while (next_word(&word, text.data, text.n, &at))
        add_drawn(number_of(&word));
    add_drawn(NO_WORD);
    json_decref(object);
    buf_release(&text);
    buf_release(&word);
}

/* Whether a run of full length begins at this drawn word. */
static bool begins_run(size_t at)
{
    if (at + (size_t)run_words > drawn.n)
        return false;
    for (int i = 0; i < run_words; i++)
        if (drawn.words[at + (size_t)i] == NO_WORD)
            return false;
    return true;
}

static void list_runs(void)
{
    drawn.shared = need(mem_array(drawn.n, sizeof *drawn.shared));
    drawn.next = need(mem_array(drawn.n, sizeof *drawn.next));
    runs = need(mem_array((size_t)1 << RUN_BITS, sizeof *runs));
    for (size_t at = 0; at < drawn.n; at++)
        if (begins_run(at)) {
            int32_t *first = &runs[hash_run(drawn.words + at)];
            drawn.next[at] = *first;
            *first = (int32_t)at + 1;
        }
}

/* Mark the drawn runs that are these words. */
static void mark_run(const int32_t *words)
{
    for (int32_t at = runs[hash_run(words)]; at > 0; at = drawn.next[at - 1])
        if (memcmp(drawn.words + at - 1, words, (size_t)run_words * sizeof *words) == 0)
            memset(drawn.shared + at - 1, true, (size_t)run_words);
}

static void read_word(struct window *w, int32_t word)
{
    memmove(w->words, w->words + 1, (size_t)(run_words - 1) * sizeof *w->words);
    w->words[run_words - 1] = word;
    if (++w->n_text >= (size_t)run_words)
        mark_run(w->words);
}

/* A chunk ends before a space, so that no word is cut. */
static void read_texts(const char *paths)
{
    struct data_sources sources;
    struct text_reader reader;
    struct window w = {0};
    struct buf chunk = {0}, word = {0};
    size_t source = 0;
    bool ends;
    check(data_sources_find(&sources, paths));
    text_reader_init(&reader, sources.list, sources.n, BPE_END_OF_TEXT);
    for (;;) {
        size_t at = 0;
        check(text_reader_next(&reader, &chunk, &ends, &source));
        if (source >= sources.n)
            break;
        while (next_word(&word, buf_text(&chunk), chunk.n, &at))
            read_word(&w, number_of(&word));
        if (ends)
            w.n_text = 0;
    }
    text_reader_release(&reader);
    data_sources_release(&sources);
    buf_release(&chunk);
    buf_release(&word);
}

static void number_texts(void)
{
    int32_t text = 0;
    drawn.text = need(mem_array(drawn.n, sizeof *drawn.text));
    for (size_t at = 0; at < drawn.n; at++) {
        drawn.text[at] = text;
        text += drawn.words[at] == NO_WORD;
    }
}

/* How many texts have the run that begins here: a chain has those behind first. */
static int count_texts(size_t at)
{
    const int32_t *words = drawn.words + at;
    int32_t last = -1;
    int n = 0;
    for (int32_t i = runs[hash_run(words)]; i > 0; i = drawn.next[i - 1])
        if (drawn.text[i - 1] != last &&
            memcmp(drawn.words + i - 1, words, (size_t)run_words * sizeof *words) == 0) {
            last = drawn.text[i - 1];
            n++;
        }
    return n;
}

static void print_common(void)
{
    int most = 0;
    number_texts();
    for (size_t at = 0; at < drawn.n; at++) {
        const int n = begins_run(at) ? count_texts(at) : 0;
        most = n > most ? n : most;
    }
    printf("%d\n", most);
}

static void print_share(void)
{
    size_t n = 0, shared = 0;
    for (size_t i = 0; i < drawn.n; i++) {
        n += drawn.words[i] != NO_WORD;
        shared += drawn.shared[i];
    }
    printf("%.1f %% (%zu of %zu words)\n", n == 0 ? 0 : 100.0 * (double)shared / (double)n, shared,
           n);
}

int main(int argc, char **argv)
{
    size_t cap = 0;
    char *line = NULL;
    ssize_t length;
    if (argc == 3)
        run_words = atoi(argv[2]);
    if (argc < 2 || argc > 3 || run_words < 1 || run_words > MOST_WORDS) {
        fprintf(stderr, "usage: shared_runs TEXTS|- [N] <DRAWN, N from 1 to %d\n", MOST_WORDS);
        return 2;
    }
    while ((length = getline(&line, &cap, stdin)) > 0)
        take_drawn(line, (size_t)length);
    free(line);
    list_runs();
    if (strcmp(argv[1], "-") == 0) {
        print_common();
    } else {
        read_texts(argv[1]);
        print_share();
    }
    bpe_words_release(&names);
    mem_free(drawn.words);
    mem_free(drawn.shared);
    mem_free(drawn.next);
    mem_free(drawn.text);
    mem_free(runs);
    return 0;
}
