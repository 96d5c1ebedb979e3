#ifndef PRATTLE_SPELL_H
#define PRATTLE_SPELL_H
/* GGUF files spelled out in words, for tests. */
#include "tests/unit/test.h"

#include "model/base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * How a file is spelled: words between blanks.
 *
 *   'text    the bytes themselves       "text    a string: u64 length and bytes
 *   1:n 4:n 8:n    an integer of so many bytes; n may be 2^k, 2^k+j or -j
 *   f:x      a 32-bit float             0*n      n zero bytes
 *   align    zero bytes up to a multiple of 32
 */
static inline uint64_t number(const char *s)
{
    char *end;
    uint64_t n = strtoull(s, &end, 0);
    if (*end == '^') {
        n = (uint64_t)1 << strtoull(end + 1, &end, 0);
        n += strtoull(end, NULL, 0);
    }
    return n;
}

static inline void spell_word(struct buf *b, const char *w)
{
    uint64_t n;
    float f;
    if (*w == '\'') {
        assert_ok(buf_str(b, w + 1));
    } else if (*w == '"') {
        n = strlen(w + 1);
        assert_ok(buf_add(b, &n, 8));
        assert_ok(buf_str(b, w + 1));
    } else if (strncmp(w, "f:", 2) == 0) {
        f = strtof(w + 2, NULL);
        assert_ok(buf_add(b, &f, 4));
    } else if (strcmp(w, "align") == 0) {
        while (b->n % 32 != 0)
            assert_ok(buf_char(b, 0));
    } else if (strncmp(w, "0*", 2) == 0) {
        for (n = number(w + 2); n > 0; n--)
            assert_ok(buf_char(b, 0));
    } else {
        assert_true(w[1] == ':');
        n = number(w + 2);
        assert_ok(buf_add(b, &n, (size_t)(*w - '0')));
    }
}

static inline void spell(struct buf *b, const char *spelling)
{
    char *copy = strdup(spelling), *save;
    for (char *w = strtok_r(copy, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
        spell_word(b, w);
    free(copy);
}

static inline void spell_file(const char *path, const char *spelling)
{
    struct buf b = {0};
    spell(&b, spelling);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    if (b.n > 0)
        assert_int_equal(fwrite(b.data, 1, b.n, f), b.n);
    fclose(f);
    buf_release(&b);
}

#define GGUF(tensors, keys) "'GGUF 4:3 8:" #tensors " 8:" #keys " "
#define INT(key, value) "\"" key " 4:4 4:" #value " "
#define TEXT(key, value) "\"" key " 4:8 \"" value " "
#define ARCH TEXT("general.architecture", "gpt2")
/* 5 keys, and 7: with a tokenizer of two tokens. */
#define SHAPE(layers, ctx, width, heads)                                                           \
    ARCH INT("gpt2.block_count", layers) INT("gpt2.context_length", ctx)                           \
        INT("gpt2.embedding_length", width) INT("gpt2.attention.head_count", heads)
#define AB TEXT("tokenizer.ggml.model", "gpt2") "\"tokenizer.ggml.tokens 4:9 4:8 8:2 \"a \"b "
/* F32; the numbers of dimensions, and where it lies. */
#define VECTOR(name, n, at) "\"" name " 4:1 8:" #n " 4:0 8:" #at " "
#define MATRIX(name, cols, rows, at) "\"" name " 4:2 8:" #cols " 8:" #rows " 4:0 8:" #at " "

#endif
