#ifndef PRATTLE_TESTS_PANELS_H
#define PRATTLE_TESTS_PANELS_H
/* Models of four chunks and a panel cache of their own, for tests of it. */
#include "tests/lib/notes.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "weights/load.h"
#include "weights/panel_folder.h"

extern const struct panel_cache PANELS_ON, PANELS_OFF;

struct panels {
    struct scratch scratch; /* models "a", "b" and "c"; XDG_CACHE_HOME is "cache" */
    struct notes notes;
    char folder[PATH_MAX]; /* of the entries */
};
/* For cmocka. */
int panels_begin(void **state);
int panels_end(void **state);

/* notes has those of this load. */
struct model *panels_load_as(struct panels *x, const char *name, enum dtype dtype,
                             const struct panel_cache *c);
struct model *panels_load(struct panels *x, const char *name, const struct panel_cache *c);
/* Load until there is an entry: files that are too new are not kept. */
void panels_keep_as(struct panels *x, const char *name, enum dtype dtype);
void panels_keep(struct panels *x, const char *name);

/* How many files the cache has with this ending, "": entries. */
size_t panels_count(const struct panels *x, const char *ending);
/* The path of the only entry. */
const char *panels_only_entry(const struct panels *x);
/* Whether the weights come from an entry. */
bool panels_kept(struct panels *x, const char *name, enum dtype dtype);

void panels_assert_same(const struct model *a, const struct model *b);
/* The model loads with the cache as without; *damaged: with the note that an entry was. */
void panels_expect_as(struct panels *x, const char *name, enum dtype dtype, bool *damaged);
/* The same, and none was. */
void panels_expect(struct panels *x, const char *name);

#endif
