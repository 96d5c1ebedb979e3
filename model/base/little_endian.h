#ifndef PRATTLE_MODEL_BASE_LITTLE_ENDIAN_H
#define PRATTLE_MODEL_BASE_LITTLE_ENDIAN_H
/* Whole numbers as files store them: at any address, the least significant byte first. */
#include <stdint.h>

/* Of n bytes, n <= 8. */
static inline uint64_t le_at(const void *p, int n)
{
    const unsigned char *bytes = p;
    uint64_t number = 0;
    while (n-- > 0)
        number = number << 8 | bytes[n];
    return number;
}
static inline uint16_t le16_at(const void *p)
{
    return (uint16_t)le_at(p, 2);
}
static inline uint32_t le32_at(const void *p)
{
    return (uint32_t)le_at(p, 4);
}
static inline uint64_t le64_at(const void *p)
{
    return le_at(p, 8);
}

#endif
