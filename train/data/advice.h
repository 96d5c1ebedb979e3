#ifndef PRATTLE_TRAIN_DATA_ADVICE_H
#define PRATTLE_TRAIN_DATA_ADVICE_H
/*
 * Lines to type that make a text of a file, for messages.
 */
#include <stdbool.h>
#include <stddef.h>

/*
 * Write `advice` to out[size], and for the word FILE in it the file's name, in quotes where a shell
 * needs them. path: of the file; of what is packed its name in messages: of "a.zip: b.txt" the word
 * is b.txt, behind "unpack it first; ". Returns out.
 */
const char *data_advice(char *out, size_t size, const char *advice, const char *path, bool packed);

#endif
