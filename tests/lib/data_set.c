#include "tests/lib/data_set.h"

#include <dirent.h>

struct scratch data_scratch;
struct tokenizer *data_tokenizer;

int data_setup(void **state)
{
    (void)state;
    scratch_open(&data_scratch);
    setenv("XDG_CACHE_HOME", scratch_path(&data_scratch, "cache"), 1);
    data_tokenizer = tiny_tokenizer();
    return 0;
}

int data_teardown(void **state)
{
    (void)state;
    tokenizer_free(data_tokenizer);
    scratch_close(&data_scratch);
    return 0;
}

void data_text(const char *name, const char *text)
{
    scratch_write(&data_scratch, name, text, strlen(text));
}

char *data_path(const char *name)
{
    return mem_strdup(scratch_path(&data_scratch, name));
}

void data_read(struct buf *out, const char *name)
{
    out->n = 0;
    assert_ok(file_read_all(out, scratch_path(&data_scratch, name), 1 << 28));
}

void data_same_file(const char *a, const char *b)
{
    struct buf x = {0}, y = {0};
    data_read(&x, a);
    data_read(&y, b);
    assert_int_equal(x.n, y.n);
    assert_memory_equal(x.data, y.data, x.n);
    buf_release(&x);
    buf_release(&y);
}

struct data_config data_config_of(const char *const *names, size_t n)
{
    struct data_config c;
    struct buf b = {0};
    assert_ok(data_config_init(&c));
    for (size_t i = 0; i < n; i++)
        assert_ok(buf_printf(&b, "%s%s", i == 0 ? "" : ",", scratch_path(&data_scratch, names[i])));
    mem_free(c.data);
    c.data = b.data;
    c.validation_fraction = 0;
    return c;
}

struct dataset data_open(struct data_config *c, bool validation)
{
    struct dataset parts[2];
    assert_ok(dataset_open(&parts[0], &parts[1], c, data_tokenizer, 0, NULL));
    dataset_close(&parts[!validation]);
    return parts[validation];
}

enum { SHOWN = 4096 };

const char *data_shown(const struct dataset *d)
{
    static struct buf out;
    token_id ids[SHOWN];
    out.n = 0;
    assert_true(d->n_tokens <= SHOWN);
    assert_ok(dataset_read(d, ids, 0, d->n_tokens));
    for (uint64_t i = 0, k = 0; i < d->n_tokens; i++) {
        if (d->documents[k] == i) {
            assert_ok(buf_char(&out, '|'));
            k++;
        }
        if (ids[i] == 0)
            assert_ok(buf_char(&out, '$'));
        else
            assert_ok(tokenizer_decode(data_tokenizer, &out, &ids[i], 1));
    }
    assert_int_equal(d->documents[d->n_documents], d->n_tokens);
    return buf_text(&out);
}

void data_expect(const char *name, const char *stream)
{
    struct data_config c = data_config_of(&name, 1);
    struct dataset d = data_open(&c, false);
    assert_string_equal(data_shown(&d), stream);
    dataset_close(&d);
    data_config_release(&c);
}

int data_count_cached(const char *ending)
{
    DIR *dir = opendir(scratch_path(&data_scratch, "cache/prattle/data"));
    int n = 0;
    if (dir == NULL)
        return 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        n += strstr(e->d_name, ending) != NULL;
    closedir(dir);
    return n;
}
