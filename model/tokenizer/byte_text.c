#include "model/tokenizer/byte_text.h"

#include <stdbool.h>
#include <utf8proc.h>

static bool byte_prints(int byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/* The bytes without a sign of their own are 00..20, 7f..a0 and ad: U+0100 and up. */
static int sign_byte(utf8proc_int32_t c)
{
    if (c < 0x100)
        return byte_prints(c) ? c : -1;
    int k = c - 0x100;
    return k <= 0x20 ? k : k < 0x43 ? k - 0x21 + 0x7f : k == 0x43 ? 0xad : -1;
}

size_t byte_text_sign(char out[BYTE_SIGN_BYTES], int byte)
{
    utf8proc_int32_t c = byte;
    if (!byte_prints(byte))
        c = 0x100 + (byte <= 0x20 ? byte : byte == 0xad ? 0x43 : byte - 0x7f + 0x21);
    utf8proc_ssize_t n = utf8proc_encode_char(c, (utf8proc_uint8_t *)out);
    out[n] = '\0';
    return (size_t)n;
}

long byte_text_decode(unsigned char *out, const char *text, size_t n)
{
    long done = 0;
    for (size_t at = 0; at < n;) {
        utf8proc_int32_t c = (unsigned char)text[at];
        utf8proc_ssize_t bytes = 1;
        if (c >= 0x80)
            bytes = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                     (utf8proc_ssize_t)(n - at), &c);
        int byte = bytes <= 0 ? -1 : sign_byte(c);
        if (byte < 0)
            return -1;
        out[done++] = (unsigned char)byte;
        at += (size_t)bytes;
    }
    return done;
}

int byte_text_encode(struct buf *out, const void *bytes, size_t n)
{
    const unsigned char *b = bytes;
    int rc = buf_reserve(out, 2 * n);
    for (size_t i = 0; i < n && rc == 0; i++) {
        char sign[BYTE_SIGN_BYTES];
        size_t k = byte_text_sign(sign, b[i]);
        rc = buf_add(out, sign, k);
    }
    return rc;
}
