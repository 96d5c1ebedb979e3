#ifndef PRATTLE_TRAIN_CONFIG_SIZE_TEXT_H
#define PRATTLE_TRAIN_CONFIG_SIZE_TEXT_H
/* "12.5 MiB": powers of 1024 under the names people use. */
enum { SIZE_TEXT = 32 };
const char *size_text(char out[SIZE_TEXT], double bytes);

#endif
