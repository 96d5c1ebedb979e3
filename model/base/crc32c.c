#include "model/base/crc32c.h"

enum { LONG_BYTES = 4096 }; /* from here on a table is worth its making */

static uint32_t shift_byte(uint32_t crc)
{
    for (int bit = 0; bit < 8; bit++)
        crc = crc >> 1 ^ (0x82f63b78u & -(crc & 1));
    return crc;
}

static uint32_t add_long(uint32_t crc, const unsigned char *p, size_t n)
{
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++)
        table[i] = shift_byte(i);
    while (n-- > 0)
        crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
    return crc;
}

uint32_t crc32c(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint32_t crc = ~0u;
    if (n >= LONG_BYTES)
        return ~add_long(crc, p, n);
    while (n-- > 0)
        crc = shift_byte(crc ^ *p++);
    return ~crc;
}

uint32_t crc32c_masked(const void *bytes, size_t n)
{
    uint32_t crc = crc32c(bytes, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
