#include "model/tokenizer/byte_text.h"

#include <stdbool.h>
#include <utf8proc.h>

static bool byte_prints(int byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/* The bytes without a sign of their own are 00..20, 7f..a0 and ad: U+0100 and up. */
static int byte_of(utf8proc_int32_t c)
{
    if (c < 0x100)
        return byte_prints(c) ? c : -1;
    int k = c - 0x100;
    return k <= 0x20 ? k : k < 0x43 ? k - 0x21 + 0x7f : k == 0x43 ? 0xad : -1;
}

static utf8proc_int32_t sign_of(int byte)
{
    if (byte_prints(byte))
        return byte;
    return 0x100 + (byte <= 0x20 ? byte : byte == 0xad ? 0x43 : byte - 0x7f + 0x21);
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
        int byte = bytes <= 0 ? -1 : byte_of(c);
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
        utf8proc_uint8_t text[4];
        utf8proc_ssize_t k = utf8proc_encode_char(sign_of(b[i]), text);
        rc = buf_add(out, text, (size_t)k);
    }
    return rc;
}
