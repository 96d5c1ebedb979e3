#ifndef PRATTLE_TRAIN_DATA_TEXT_CACHE_FOLDER_H
#define PRATTLE_TRAIN_DATA_TEXT_CACHE_FOLDER_H
/* The folder of encoded texts (text_cache.h), as a whole: what is in it, and its removal. */
#include <stdint.h>

struct text_cache_amount {
    int sets;       /* texts encoded by a tokenizer */
    uint64_t bytes; /* of all files */
};

/* $XDG_CACHE_HOME/prattle/data, or in ~/.cache, there or not; in fresh memory. NULL: neither is
 * known. */
char *text_cache_folder(void);
/* None where there is no such folder. */
void text_cache_count(struct text_cache_amount *out, const char *folder);
/* Delete all sets, and what killed processes left, but what a process is encoding now. *removed:
 * what was deleted. A run that has one open keeps it. ERR_IO. */
int text_cache_clear(struct text_cache_amount *removed, const char *folder);
/* Delete what killed processes left: files of sets that are not whole, which nobody has written to
 * for a day, and locks that nobody has. */
void text_cache_sweep(const char *folder);

#endif
