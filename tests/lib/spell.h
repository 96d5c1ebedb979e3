#ifndef PRATTLE_TESTS_SPELL_H
#define PRATTLE_TESTS_SPELL_H
/* GGUF files spelled out in words, for tests. */
#include "model/base/buf.h"
#include "tests/lib/test.h"

/*
 * How a file is spelled: words between spaces.
 *
 *   'text    the bytes themselves       "text    a string: u64 length and bytes
 *   1:n 4:n 8:n    an integer of so many bytes; n may be 2^k, 2^k+j or -j
 *   f:x      a 32-bit float             0*n      n zero bytes
 *   align    zero bytes up to a multiple of 32
 */
void spell(struct buf *b, const char *spelling);
void spell_file(const char *path, const char *spelling);

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
