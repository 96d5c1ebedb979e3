#ifndef PRATTLE_TESTS_DATA_SET_H
#define PRATTLE_TESTS_DATA_SET_H
/* Data sets of a test's own, in a scratch folder which has the cache too. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "tests/lib/tiny_text.h"
#include "train/data/dataset.h"

extern struct scratch data_scratch;
extern struct tokenizer *data_tokenizer;

int data_setup(void **state);
int data_teardown(void **state);
void data_text(const char *name, const char *text);
/* The path of a file of the scratch folder, in fresh memory. */
char *data_path(const char *name);
/* Its bytes, in place of those of out. */
void data_read(struct buf *out, const char *name);
void data_same_file(const char *a, const char *b);

/* Paths below the scratch folder, a comma between them. */
struct data_config data_config_of(const char *const *names, size_t n);
struct dataset data_open(struct data_config *c, bool validation);
/* The stream as text, each document behind a bar, the end of text as "$". */
const char *data_shown(const struct dataset *d);
void data_expect(const char *name, const char *stream);

/* Files in the cache whose names have this. */
int data_count_cached(const char *ending);

#endif
