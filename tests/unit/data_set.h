#ifndef PRATTLE_TEST_DATA_SET_H
#define PRATTLE_TEST_DATA_SET_H
/* Data sets of a test's own, in a scratch folder which has the cache too. */
#include "tests/unit/scratch.h"
#include "tests/unit/tiny_text.h"
#include "train/data/dataset.h"

#include <dirent.h>

static struct scratch scratch;
static struct tokenizer *tokenizer;

static inline int data_setup(void **state)
{
    (void)state;
    scratch_open(&scratch);
    setenv("XDG_CACHE_HOME", scratch_path(&scratch, "cache"), 1);
    tokenizer = tiny_tokenizer();
    return 0;
}

static inline int data_teardown(void **state)
{
    (void)state;
    tokenizer_free(tokenizer);
    scratch_close(&scratch);
    return 0;
}

static inline void data_text(const char *name, const char *text)
{
    scratch_write(&scratch, name, text, strlen(text));
}

/* Paths below the scratch folder, a comma between them. */
static inline struct data_config data_config_of(const char *const *names, size_t n)
{
    struct data_config c;
    struct buf b = {0};
    assert_ok(data_config_init(&c));
    for (size_t i = 0; i < n; i++)
        assert_ok(buf_printf(&b, "%s%s", i == 0 ? "" : ",", scratch_path(&scratch, names[i])));
    mem_free(c.data);
    c.data = b.data;
    c.validation_fraction = 0;
    return c;
}

static inline struct dataset data_open(struct data_config *c, bool validation)
{
    struct dataset parts[2];
    assert_ok(dataset_open(&parts[0], &parts[1], c, tokenizer, 0, NULL));
    dataset_close(&parts[!validation]);
    return parts[validation];
}

enum { SEVERAL = 4096 };

/* The stream as text, each document behind a bar, the end of text as "$". */
static inline const char *data_shown(const struct dataset *d)
{
    static struct buf out;
    token_id ids[SEVERAL];
    out.n = 0;
    assert_true(d->n_tokens <= SEVERAL);
    assert_ok(dataset_read(d, ids, 0, d->n_tokens));
    for (uint64_t i = 0, k = 0; i < d->n_tokens; i++) {
        if (d->documents[k] == i) {
            assert_ok(buf_char(&out, '|'));
            k++;
        }
        if (ids[i] == 0)
            assert_ok(buf_char(&out, '$'));
        else
            assert_ok(tokenizer_decode(tokenizer, &out, &ids[i], 1));
    }
    assert_int_equal(d->documents[d->n_documents], d->n_tokens);
    return buf_text(&out);
}

static inline void data_expect(const char *name, const char *stream)
{
    struct data_config c = data_config_of(&name, 1);
    struct dataset d = data_open(&c, false);
    assert_string_equal(data_shown(&d), stream);
    dataset_close(&d);
    data_config_release(&c);
}

/* Files in the cache whose names have this. */
static inline int data_count_cached(const char *ending)
{
    DIR *dir = opendir(scratch_path(&scratch, "cache/prattle/data"));
    int n = 0;
    if (dir == NULL)
        return 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        n += strstr(e->d_name, ending) != NULL;
    closedir(dir);
    return n;
}

#endif
