#include "tests/lib/panels.h"

#include "model/base/par.h"
#include "weights/save.h"

#include <dirent.h>
#include <time.h>

/* Four chunks in fp16. */
#define SHAPE "random:gpt2,n_layer=2,n_head=4,n_embd=64,n_positions=64,vocab_size=5000"

const struct panel_cache PANELS_ON = {.limit_bytes = 1 << 30, .waits = true};
const struct panel_cache PANELS_OFF = {0};

int panels_begin(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    struct panels *x = calloc(1, sizeof *x);
    assert_non_null(x);
    scratch_open(&x->scratch);
    assert_ok(par_open(2, false));
    for (int i = 0; i < 3; i++)
        assert_ok(weights_convert(SHAPE, scratch_path(&x->scratch, names[i]), 3 + (uint64_t)i,
                                  &(struct save_config){.convert = false}, NULL));
    setenv("XDG_CACHE_HOME", scratch_path(&x->scratch, "cache"), 1);
    char *folder = panel_folder_path();
    assert_non_null(folder);
    snprintf(x->folder, sizeof x->folder, "%s", folder);
    mem_free(folder);
    *state = x;
    return 0;
}

int panels_end(void **state)
{
    struct panels *x = *state;
    par_close();
    scratch_close(&x->scratch);
    free(x);
    return 0;
}

struct model *panels_load_as(struct panels *x, const char *name, enum dtype dtype,
                             const struct panel_cache *c)
{
    struct model *m;
    const struct progress p = {.note = notes_take, .user = &x->notes};
    x->notes = (struct notes){0};
    assert_ok(model_load(&m, scratch_path(&x->scratch, name),
                         &(struct load_config){.dtype = dtype, .cache = *c}, &p));
    return m;
}

struct model *panels_load(struct panels *x, const char *name, const struct panel_cache *c)
{
    return panels_load_as(x, name, DTYPE_F16, c);
}

size_t panels_count(const struct panels *x, const char *ending)
{
    size_t n = 0;
    DIR *dir = opendir(x->folder);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        const size_t length = strlen(e->d_name), cut = strlen(ending);
        n += e->d_name[0] != '.' &&
             (cut == 0 ? length == PANEL_KEY_BYTES
                       : length > cut && strcmp(e->d_name + length - cut, ending) == 0);
    }
    if (dir != NULL)
        closedir(dir);
    return n;
}

const char *panels_only_entry(const struct panels *x)
{
    static char path[2 * PATH_MAX];
    struct panel_list l;
    assert_ok(panel_folder_list(&l, x->folder));
    assert_int_equal(l.n, 1);
    snprintf(path, sizeof path, "%s/%s", x->folder, l.entries[0].key);
    panel_list_release(&l);
    return path;
}

bool panels_kept(struct panels *x, const char *name, enum dtype dtype)
{
    struct model_files f;
    struct params p;
    char key[SHA256_HEX];
    bool found;
    assert_ok(model_files_open(&f, scratch_path(&x->scratch, name), 0, NULL));
    assert_ok(params_init(&p, &f.source.config, dtype));
    assert_ok(panel_cache_find(&found, key, &p, &f.source, &PANELS_ON, NULL));
    params_release(&p);
    model_files_close(&f);
    return found;
}

void panels_keep_as(struct panels *x, const char *name, enum dtype dtype)
{
    const char *patience = getenv("PATIENCE");
    const double wait_s = 60 * (patience != NULL && atof(patience) > 0 ? atof(patience) : 1);
    const time_t begun = time(NULL); /* clock_s() may be the still clock here */
    while (!panels_kept(x, name, dtype)) {
        if (difftime(time(NULL), begun) > wait_s)
            fail_msg("%s has no entry in the cache after %g s", name, wait_s);
        usleep(5000);
        model_free(panels_load_as(x, name, dtype, &PANELS_ON));
    }
}

void panels_keep(struct panels *x, const char *name)
{
    panels_keep_as(x, name, DTYPE_F16);
}

void panels_assert_same(const struct model *a, const struct model *b)
{
    assert_int_equal(a->params.block_bytes, b->params.block_bytes);
    assert_memory_equal(a->params.block, b->params.block, a->params.block_bytes);
}

void panels_expect_as(struct panels *x, const char *name, enum dtype dtype, bool *damaged)
{
    struct model *plain = panels_load_as(x, name, dtype, &PANELS_OFF);
    struct model *m = panels_load_as(x, name, dtype, &PANELS_ON);
    panels_assert_same(m, plain);
    *damaged = strstr(x->notes.all, "damaged and are made again") != NULL;
    model_free(plain);
    model_free(m);
}

void panels_expect(struct panels *x, const char *name)
{
    bool damaged;
    panels_expect_as(x, name, DTYPE_F16, &damaged);
    assert_false(damaged);
}
