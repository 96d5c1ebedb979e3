#include "model/base/crc32c.h"

uint32_t crc32c(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint32_t crc = ~0u;
    while (n-- > 0) {
        crc ^= *p++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0x82f63b78u & -(crc & 1));
    }
    return ~crc;
}

uint32_t crc32c_masked(const void *bytes, size_t n)
{
    uint32_t crc = crc32c(bytes, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
