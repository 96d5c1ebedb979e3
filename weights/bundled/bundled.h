#ifndef PRATTLE_WEIGHTS_BUNDLED_BUNDLED_H
#define PRATTLE_WEIGHTS_BUNDLED_BUNDLED_H
/*
 * The model that ships, weights/bundled/bundled.gguf, which the path "bundled" means wherever a
 * model is named. It is looked for relative to the program, so that tree and installation can be
 * moved
 * (../share/prattle for bin/prattle, ../../weights/bundled for build/release/prattle), and then
 * where `make install` puts it.
 */
#include <stdbool.h>

#define BUNDLED_NAME "bundled"

bool bundled_is_name(const char *path);
/* The file's path in new memory. ERR_MISSING: it is in none of the three places. */
int bundled_path(char **out);
/* Whether it is found. */
bool bundled_exists(void);
/* What the model does and what to try, for users. */
const char *bundled_hint(void);

#endif
