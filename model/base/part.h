#ifndef PRATTLE_MODEL_BASE_PART_H
#define PRATTLE_MODEL_BASE_PART_H
/*
 * Parts of the program in shared objects of their own (Makefile, PARTS), opened when they are
 * wanted: the program itself needs none of their libraries, and starts as fast as without them.
 */
#include <stdbool.h>

struct part {
    const char *what;        /* needs it, as a sentence begins: "a SentencePiece model" */
    const char *verb;        /* "needs" or "need" */
    const char *name;        /* of the file, prattle-NAME.so */
    const char *library;     /* without which make leaves it out */
    const char *build, *run; /* the packages of Debian with which it is built, and runs */
    const char *entry;       /* the symbol that it exports, with its version */
    bool global;             /* its library opens others that look for its functions */
};

enum { PART_PATH = 4096 };

/* Whether it is beside the program or where `make install` puts it, and its path. ERR_MISSING: what
 * to install. */
int part_check(const struct part *p);
int part_find(char path[PART_PATH], const struct part *p);
/*
 * Open it, for good, and store the entry, a function, in *function, which has the size of a
 * pointer.
 *
 * returns  ERR_MISSING: it, or its library, is not there, and what to install; ERR_UNSUPPORTED: it
 *          is of another version
 */
int part_open(const struct part *p, void *function);

#endif
