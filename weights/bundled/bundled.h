#ifndef PRATTLE_WEIGHTS_BUNDLED_BUNDLED_H
#define PRATTLE_WEIGHTS_BUNDLED_BUNDLED_H
/*
 * The model that ships, weights/bundled/bundled.gguf: what the path "bundled" stands for
 * wherever a model is named. It is found from the program's own place, so that tree and
 * installation can be moved: ../share/prattle for bin/prattle, ../../weights/bundled for
 * build/release/prattle; else where `make install` puts it.
 */
#include <stdbool.h>

#define BUNDLED_NAME "bundled"

bool bundled_is_name(const char *path);
/* The file's path in fresh memory. ERR_MISSING: it is in none of the three places. */
int bundled_path(char **out);
/* Whether it is in one. */
bool bundled_exists(void);
/* A sentence on what it is for and what to try. */
const char *bundled_hint(void);

#endif
