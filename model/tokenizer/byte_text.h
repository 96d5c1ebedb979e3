#ifndef PRATTLE_MODEL_TOKENIZER_BYTE_TEXT_H
#define PRATTLE_MODEL_TOKENIZER_BYTE_TEXT_H
/*
 * GPT-2's printable byte alphabet (bytes_to_unicode in its encoder.py): the 188 bytes
 * that Latin-1 prints stand for themselves, the other 68 are U+0100 to U+0143 in
 * order. " the" is written "Ġthe".
 */
#include "model/base/buf.h"

enum { BYTE_SIGN_BYTES = 5 };
/* The sign of a byte, 0..255, as NUL-terminated UTF-8. Returns its bytes without the NUL. */
size_t byte_text_sign(char out[BYTE_SIGN_BYTES], int byte);
/* The bytes that n bytes of such text stand for. Returns their number, at most n, or
 * -1 for text outside the alphabet. */
long byte_text_decode(unsigned char *out, const char *text, size_t n);
/* Append the signs of n bytes. ERR_NOMEM. */
int byte_text_encode(struct buf *out, const void *bytes, size_t n);

#endif
