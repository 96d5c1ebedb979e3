#include "model/base/utf8.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK = 64 };

static bool is_continuation(unsigned char c)
{
    return (signed char)c < -0x40;
}

size_t utf8_bytes(const unsigned char *p, const unsigned char *end)
{
    const size_t left = (size_t)(end - p);
    if (left >= 2 && p[0] >= 0xc2 && p[0] < 0xe0)
        return is_continuation(p[1]) ? 2 : 0;
    if (left < 3 || p[0] < 0xe0 || !is_continuation(p[1]) || !is_continuation(p[2]))
        return 0;
    if (p[0] < 0xf0) /* not overlong, and no surrogate */
        return (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ? 0 : 3;
    const bool beyond = p[0] > 0xf4 || (p[0] == 0xf4 && p[1] >= 0x90);
    return left < 4 || beyond || (p[0] == 0xf0 && p[1] < 0x90) || !is_continuation(p[3]) ? 0 : 4;
}

/* Of a multiple of 8 bytes. */
static bool is_ascii(const unsigned char *p, size_t n)
{
    uint64_t all = 0, x;
    for (size_t i = 0; i < n; i += sizeof x) {
        memcpy(&x, p + i, sizeof x);
        all |= x;
    }
    return (all & 0x8080808080808080u) == 0;
}

size_t utf8_ascii(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t i = 0;
    while (n - i >= BLOCK && is_ascii(p + i, BLOCK))
        i += BLOCK;
    while (i < n && p[i] < 0x80)
        i++;
    return i;
}

/* Both: whether the BLOCK bytes at p go on with UTF-8, of which the 3 before p are a part. Loops
 * without branches, so that the compiler takes 16 bytes at once whatever the alphabet is. */
static bool is_valid_block(const unsigned char *p)
{
    unsigned char bad = 0;
    for (int i = 0; i < BLOCK; i++) {
        const unsigned char c = p[i], b = p[i - 1];
        const unsigned char more = (b >= 0xc0) | (p[i - 2] >= 0xe0) | (p[i - 3] >= 0xf0);
        bad |= more ^ is_continuation(c);
        bad |= ((c & 0xfe) == 0xc0) | (c >= 0xf5);
        bad |= ((b == 0xe0) & (c < 0xa0)) | ((b == 0xed) & (c >= 0xa0));
        bad |= ((b == 0xf0) & (c < 0x90)) | ((b == 0xf4) & (c >= 0x90));
    }
    return bad == 0;
}

/* *longer: there may be a character of more than two bytes, and is_valid_block is to be asked. */
static bool is_valid_pairs(bool *longer, const unsigned char *p)
{
    unsigned char bad = 0, more = (p[-2] >= 0xe0) | (p[-3] >= 0xf0);
    for (int i = 0; i < BLOCK; i++) {
        const unsigned char c = p[i], b = p[i - 1];
        bad |= (b >= 0xc0) ^ is_continuation(c);
        bad |= (c & 0xfe) == 0xc0;
        more |= b >= 0xe0;
    }
    *longer = more;
    return bad == 0 && p[BLOCK - 1] < 0xf5;
}

static bool is_valid(const unsigned char *p)
{
    bool longer;
    if (p[-1] < 0x80 && is_ascii(p, BLOCK))
        return true;
    const bool pairs = is_valid_pairs(&longer, p);
    return longer ? is_valid_block(p) : pairs;
}

/* Character by character, up to `stop` or the first byte that begins none. */
static const unsigned char *pass_characters(const unsigned char *p, const unsigned char *stop,
                                            const unsigned char *end)
{
    for (size_t bytes; p < stop; p += bytes)
        if ((bytes = *p < 0x80 ? 1 : utf8_bytes(p, end)) == 0)
            break;
    return p;
}

/* Where the character begins that the 3 bytes before p may be a part of; else p. */
static const unsigned char *find_character(const unsigned char *p)
{
    for (int i = 1; i <= 3; i++)
        if (!is_continuation(p[-i]))
            return p[-i] < 0x80 ? p : p - i;
    return p;
}

size_t utf8_valid(const char *text, size_t n)
{
    const unsigned char *begin = (const unsigned char *)text, *end = begin + n, *p = begin;
    p = pass_characters(p, n > 3 ? p + 3 : end, end);
    if (n > 3 && p - begin >= 3) {
        while (end - p >= BLOCK && is_valid(p))
            p += BLOCK;
        p = find_character(p);
    }
    return (size_t)(pass_characters(p, end, end) - begin);
}

bool utf8_is_cut(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    unsigned char whole[4] = {0x80, 0x80, 0x80, 0x80};
    if (n == 0 || n > 3 || p[0] < 0xc2)
        return false;
    memcpy(whole, p, n);
    /* The continuation that suits its first byte, if there was none yet. */
    for (int second = 0x80; second < 0xc0; second += 0x10) {
        whole[1] = n > 1 ? p[1] : (unsigned char)second;
        if (utf8_bytes(whole, whole + 4) > n)
            return true;
    }
    return false;
}
