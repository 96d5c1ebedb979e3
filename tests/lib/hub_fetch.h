#ifndef PRATTLE_TESTS_HUB_FETCH_H
#define PRATTLE_TESTS_HUB_FETCH_H
/* A Hub with one model, a cache of its own, and what a fetch leaves in it. */
#include "tests/lib/hf_folder.h"
#include "tests/lib/hub_server.h"

#define FETCH_NAME "org/tiny"
#define FETCH_CDN "/cdn/" FETCH_NAME "/model.safetensors"
#define FETCH_REPO "hf/hub/models--org--tiny/"
#define FETCH_SNAPSHOT FETCH_REPO "snapshots/" HUB_COMMIT "/"

enum { FETCH_BYTES = 300000 };

extern struct scratch fetch_scratch; /* "root": what the Hub serves; "hf": HF_HOME */
extern struct hub_server *fetch_server;

/* For cmocka. */
int fetch_begin(void **state);
int fetch_end(void **state);

/* Files of the Hub; the bytes of its model's weights [FETCH_BYTES]. */
void fetch_root_file(const char *id, const char *file, const void *bytes, size_t n);
void fetch_root_text(const char *id, const char *file, const char *text);
char *fetch_weights(void);
/* Delete what lies there in the scratch folder. */
void fetch_forget(const char *name);

/* hub_fetch without long waits. */
int fetch_model(const char *name);
void fetch_expect_file(const char *name, const void *bytes, size_t n);
void fetch_expect_whole(void);
void fetch_expect_not_whole(void);
/* The size of the part of the weights; -1: there is none. No blob is there besides. */
int64_t fetch_part_bytes(void);

#endif
