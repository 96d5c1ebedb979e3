#ifndef PRATTLE_TRAIN_PREPARE_WIKI_MATCH_H
#define PRATTLE_TRAIN_PREPARE_WIKI_MATCH_H
/*
 * Which brackets of wiki text belong together: {{ }}, [[ ]], and {| |} at the beginning of lines;
 * in one pass, however they are nested.
 */
#include <stddef.h>
#include <stdint.h>

/* close [n], zeroed: at the place of an opening its closing one. ERR_NOMEM. */
int wiki_match(uint32_t *close, const char *text, size_t n);

#endif
