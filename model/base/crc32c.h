#ifndef PRATTLE_MODEL_BASE_CRC32C_H
#define PRATTLE_MODEL_BASE_CRC32C_H
/* CRC-32C (Castagnoli; RFC 3720, appendix B.4). */
#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *bytes, size_t n);
/* As TFRecord files store it: rotated right by 15 bits, plus 0xa282ead8. */
uint32_t crc32c_masked(const void *bytes, size_t n);

#endif
