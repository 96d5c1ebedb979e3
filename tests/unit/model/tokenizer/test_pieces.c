/* A vocabulary of pieces, whose texts are encoded elsewhere: here a byte becomes an id. */
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "model/tokenizer/tokenizer.h"

enum { START, END, UNKNOWN, BYTE_A, WORD, LETTER_A, HOLE, N };
static const struct piece list[N] = {
    [START] = {"<s>", "<s>", 3, true},      [END] = {"</s>", "</s>", 4, true},
    [UNKNOWN] = {"<unk>", " ? ", 3, false}, [BYTE_A] = {"<0x61>", "a", 1, false},
    [WORD] = {"_ab", " ab", 3, false},      [LETTER_A] = {"a", "a", 1, false},
    [HOLE] = {"<unused>", NULL, 0, false}};
static const char file[] = "the file";

struct calls {
    int closed, n;
    enum piece_text as[8];
};

static int encode(void *user, struct ids *out, const char *text, size_t n, enum piece_text as)
{
    struct calls *c = user;
    c->as[c->n++ % 8] = as;
    for (size_t i = 0; i < n; i++) {
        const token_id id = text[i] == 'a' ? LETTER_A : UNKNOWN;
        int rc = text[i] == '!' ? err_set(ERR_FORMAT, "no") : ids_add(out, &id, 1);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static void close_pieces(void *user)
{
    ((struct calls *)user)->closed++;
}

static struct piece_vocab vocab_of(struct calls *c)
{
    return (struct piece_vocab){.n_tokens = N,
                                .list = list,
                                .eos = END,
                                .add_prefix_space = true,
                                .file = file,
                                .n_file = sizeof file,
                                .encode = encode,
                                .close = close_pieces,
                                .user = c};
}

static void pieces_are_encoded_elsewhere(void **state)
{
    (void)state;
    static const char text[] = "ax</s>a";
    static const token_id plain[] = {LETTER_A, UNKNOWN, UNKNOWN, UNKNOWN,
                                     UNKNOWN,  UNKNOWN, LETTER_A},
                          special[] = {LETTER_A, UNKNOWN, END, LETTER_A};
    struct calls c = {0};
    const struct piece_vocab v = vocab_of(&c);
    struct tokenizer *t = NULL;
    struct ids ids = {0};
    assert_ok(tokenizer_new_pieces(&t, &v));
    assert_ok(tokenizer_encode(t, &ids, text, sizeof text - 1, ENCODE_TEXT));
    assert_int_equal(ids.n, 7);
    assert_memory_equal(ids.data, plain, sizeof plain);
    assert_int_equal(c.as[0], PIECES_WHOLE);
    ids.n = c.n = 0;
    assert_ok(tokenizer_encode(t, &ids, text, sizeof text - 1, ENCODE_SPECIAL | ENCODE_GOES_ON));
    assert_int_equal(ids.n, 4);
    assert_memory_equal(ids.data, special, sizeof special);
    assert_int_equal(c.as[0], PIECES_GO_ON); /* and not behind a special token */
    assert_int_equal(c.as[1], PIECES_WHOLE);
    assert_fails(tokenizer_encode(t, &ids, "a!", 2, ENCODE_TEXT), ERR_FORMAT, "no");
    assert_int_equal(ids.n, 4);
    ids_release(&ids);
    tokenizer_free(t);
    assert_int_equal(c.closed, 1);
}

static void pieces_are_decoded_here(void **state)
{
    (void)state;
    static const token_id all[] = {START, WORD, BYTE_A, LETTER_A, HOLE, UNKNOWN, END};
    struct calls c[2] = {{0}};
    const struct piece_vocab v = vocab_of(&c[0]);
    struct piece_vocab other = vocab_of(&c[1]);
    struct tokenizer *t = NULL, *u = NULL;
    struct buf text = {0};
    size_t n;
    other.file = "The file";
    assert_ok(tokenizer_new_pieces(&t, &v));
    assert_ok(tokenizer_new_pieces(&u, &other));
    assert_ok(tokenizer_decode(t, &text, all, sizeof all / sizeof *all));
    assert_string_equal(buf_text(&text), "<s> abaa ? </s>");
    assert_int_equal(tokenizer_size(t), N);
    assert_int_equal(tokenizer_eos(t), END);
    assert_true(tokenizer_is_special(t, END) && !tokenizer_is_special(t, UNKNOWN));
    assert_int_equal(tokenizer_find(t, "<0x61>", 6), BYTE_A);
    assert_int_equal(tokenizer_find(t, "<0x62>", 6), TOKEN_NONE);
    assert_string_equal(tokenizer_text(t, WORD), "_ab");
    assert_null(tokenizer_bytes(t, HOLE, &n));
    assert_int_equal(tokenizer_merges(t), 0);
    assert_string_equal(tokenizer_file(t, &n), file);
    assert_int_equal(n, sizeof file);
    assert_true(tokenizer_same(t, t));
    assert_false(tokenizer_same(t, u)); /* it may encode otherwise */
    buf_release(&text);
    tokenizer_free(t);
    tokenizer_free(u);
}

static void no_memory_is_survived(void **state)
{
    (void)state;
    struct calls c = {0};
    const struct piece_vocab v = vocab_of(&c);
    struct tokenizer *t = NULL;
    int rc = ERR_NOMEM, tries = 0;
    for (uint64_t k = 1; rc != 0; k++, tries++) {
        mem_fail_at(k);
        rc = tokenizer_new_pieces(&t, &v);
        mem_fail_at(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
    }
    assert_int_equal(c.closed, tries - 1);
    tokenizer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_encoded_elsewhere),
        cmocka_unit_test(pieces_are_decoded_here),
        cmocka_unit_test(no_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
