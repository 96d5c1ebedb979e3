/*
 * Sources are layers of the store (settings_store.h): what is built in, one for each preset and
 * file, and above them one for the words key=value. run_config_words works on a copy, so that a
 * word which is refused leaves the configuration as it was.
 */
#include "train/config/run_config.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/settings_file.h"
#include "model/base/settings_words.h"
#include "model/base/words.h"
#include "model/base/yaml_pairs.h"
#include "train/config/presets.h"
#include "train/data/mixture.h"
#include "train/data/source.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FILE_BYTES = 1 << 20, MAX_PRESETS = 128 };

int run_config_init(struct run_config *c)
{
    struct run_config built_in = {
        .training = {.micro_batch_size = 4,
                     .gradient_blocks = 1,
                     .seed = 1,
                     .dropout = -1,
                     .embd_pdrop = -1,
                     .attn_pdrop = -1,
                     .resid_pdrop = -1,
                     .loss_scaling_growth = 2000,
                     .max_bad_steps = 10},
        .execution = {.replicas = 1,
                      .layers_per_device = "none",
                      .virtual_stages = 1,
                      .tensor_parallel = 1,
                      .recompute = "none",
                      .embedding_serialization_factor = 1},
        .lora = {.alpha = 16, .targets = "c_attn"},
        .logging = {.log_every = 10, .eval_every = 200, .sample_tokens = 64, .tensorboard = true},
        .checkpoint = {.save_every = 1000, .keep_last = 2, .min_part_mb = 256, .keep_best = true},
    };
    optimizer_config_init(&built_in.optimizer);
    schedule_config_init(&built_in.schedule);
    int rc = data_config_init(&built_in.data);
    if (rc != 0)
        return rc;
    built_in.data.seed = 0; /* as training.seed */
    built_in.data.mixture = true;
    *c = built_in;
    rc = settings_store_init(&c->store, &run_table, c);
    data_config_release(&built_in.data);
    return rc;
}

void run_config_release(struct run_config *c)
{
    settings_table_release(&run_table, c);
    settings_store_release(&c->store);
    mem_free(c->name);
    mem_free(c->data_dir);
    *c = (struct run_config){0};
}

int run_config_copy(struct run_config *dst, const struct run_config *src)
{
    *dst = (struct run_config){0};
    int rc = settings_table_copy(&run_table, dst, src);
    if (rc == 0)
        rc = settings_store_copy(&dst->store, &src->store);
    if (rc == 0 && src->name != NULL && (dst->name = mem_strdup(src->name)) == NULL)
        rc = ERR_NOMEM;
    if (rc == 0)
        rc = run_config_look_in(dst, src->data_dir);
    if (rc != 0)
        run_config_release(dst);
    return rc;
}

int run_config_look_in(struct run_config *c, const char *data_dir)
{
    char *fresh = data_dir == NULL ? NULL : mem_strdup(data_dir);
    if (data_dir != NULL && fresh == NULL)
        return ERR_NOMEM;
    mem_free(c->data_dir);
    c->data_dir = fresh;
    return 0;
}

int run_config_set(struct run_config *c, enum origin origin, const char *key, const char *text)
{
    const struct setting *row;
    struct settings_store *s = &c->store;
    int rc = settings_table_lookup(&run_table, &row, key, false);
    if (rc == 0 && s->layers[s->n_layers - 1].origin != origin)
        rc = settings_store_push(s, origin);
    return rc != 0 ? rc : settings_store_set(s, c, s->n_layers - 1, row, text);
}

int run_config_read(struct run_config *c, enum origin origin, const char *label, const char *text,
                    size_t n)
{
    const struct settings_text from = {.label = label, .text = text, .n = n};
    int rc = settings_store_push(&c->store, origin);
    if (rc == 0 && (rc = settings_read(&c->store, c, c->store.n_layers - 1, &from)) != 0)
        settings_store_pop(&c->store);
    return rc;
}

static int set_name(struct run_config *c, const char *name, size_t n)
{
    char *fresh = mem_sprintf("%.*s", (int)n, name);
    if (fresh == NULL)
        return ERR_NOMEM;
    mem_free(c->name);
    c->name = fresh;
    return 0;
}

/* "a/b/my-run.yaml" is called my-run. */
static int set_name_from_path(struct run_config *c, const char *path)
{
    const char *last = strrchr(path, '/'), *name = last == NULL ? path : last + 1;
    const char *point = strrchr(name, '.');
    return set_name(c, name,
                    point == NULL || point == name ? strlen(name) : (size_t)(point - name));
}

static int load_file(struct run_config *c, const char *path)
{
    struct buf text = {0};
    char *shown = file_visible(path);
    int rc = shown == NULL ? ERR_NOMEM : file_read_all(&text, path, MAX_FILE_BYTES);
    if (rc == 0)
        rc = run_config_read(c, ORIGIN_FILE, shown, buf_text(&text), text.n);
    if (rc == 0)
        rc = set_name_from_path(c, path);
    mem_free(shown);
    buf_release(&text);
    return rc;
}

static const struct run_preset *preset_find(const char *name)
{
    const struct run_preset *p = run_presets;
    while (p->name != NULL && strcmp(p->name, name) != 0)
        p++;
    return p->name == NULL ? NULL : p;
}

bool run_config_is_preset(const char *name)
{
    return preset_find(name) != NULL;
}

/* The text after "# Needs: " in a preset, up to its line's end; NULL: it needs nothing. */
static const char *preset_needs(const struct run_preset *p)
{
    static const char mark[] = "\n# Needs: ";
    const char *line = strstr(p->text, mark);
    return line == NULL ? NULL : line + sizeof mark - 1;
}

static int check_preset_file(const struct run_preset *p, const char *path)
{
    const char *needs = preset_needs(p);
    if (*path == '\0' || file_exists(path))
        return 0;
    return err_set(ERR_MISSING, "%s not found: the preset %s needs %.*s", path, p->name,
                   (int)strcspn(needs, "\n"), needs);
}

int run_config_check_preset_files(const struct run_config *c)
{
    const struct setting *const rows[] = {RUN_ROW(model.tokenizer), RUN_ROW(data.data),
                                          RUN_ROW(data.validation)};
    const char *const paths[] = {c->model.tokenizer, c->data.data, c->data.validation};
    const struct run_preset *p = c->name == NULL ? NULL : preset_find(c->name);
    int rc = 0;
    if (p == NULL || preset_needs(p) == NULL)
        return 0;
    for (int i = 0; i < 3 && rc == 0; i++) {
        struct mixture m = {0};
        if (settings_store_origin(&c->store, rows[i]) != ORIGIN_PRESET)
            continue;
        rc = mixture_parse(&m, paths[i]);
        for (int k = 0; k < m.n_sources && rc == 0; k++)
            rc = check_preset_file(p, mixture_path(&m, k));
        if (m.n_sources == 0 && rc == 0)
            rc = check_preset_file(p, paths[i]);
        mixture_release(&m);
    }
    return rc;
}

static int refuse_config(const char *what)
{
    const char *names[MAX_PRESETS], *near;
    char shown[160], word[160];
    size_t n = 0;
    char *prepared = data_find_prepared(what);
    if (prepared != NULL) {
        int rc =
            err_set(ERR_MISSING, "%s is data, not settings: `:train finetune data=%s` trains on it",
                    file_show(shown, sizeof shown, what), file_word(word, sizeof word, prepared));
        mem_free(prepared);
        return rc;
    }
    for (const struct run_preset *p = run_presets; p->name != NULL && n < MAX_PRESETS; p++)
        names[n++] = p->name;
    file_show(shown, sizeof shown, what);
    near = words_nearest(what, names, n);
    if (near != NULL)
        return err_set(ERR_MISSING, "there is no file or preset %s; did you mean %s?", shown, near);
    return err_set(ERR_MISSING, "there is no file or preset %s; `:help presets` lists them", shown);
}

/* "config" is one of these in the working folder. */
static const char *find_config_file(void)
{
    static const char *const names[] = {"config.yaml", "config.yml", "config.json", "config"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (file_exists(names[i]) && !file_is_folder(names[i]))
            return names[i];
    return NULL;
}

/* A preset or a file. */
static int load_preset_or_file(struct run_config *c, const char *what)
{
    const struct run_preset *p = preset_find(what);
    if (p != NULL) {
        char label[80];
        snprintf(label, sizeof label, "preset %s", what);
        int rc = run_config_read(c, ORIGIN_PRESET, label, p->text, strlen(p->text));
        return rc != 0 ? rc : set_name(c, what, strlen(what));
    }
    if (strcmp(what, "config") == 0) {
        const char *here = find_config_file();
        return here != NULL
                   ? load_file(c, here)
                   : err_set(ERR_MISSING, "there is no config.yaml, config.yml, config.json or "
                                          "config in this folder; name a file or a preset, as in "
                                          "`:train finetune data=my.txt steps=200`");
    }
    char *path = file_expand(what);
    int rc = path == NULL        ? ERR_NOMEM
             : file_exists(path) ? load_file(c, path)
                                 : refuse_config(what);
    mem_free(path);
    return rc;
}

int run_config_words(struct run_config *c, char *const *words, int n)
{
    struct run_config trial;
    int rc = run_config_copy(&trial, c);
    if (rc != 0)
        return rc;
    /* Presets and files first, wherever they stand: they are what the pairs change. */
    for (int i = 0; i < n && rc == 0; i++)
        if (settings_pair_key(words[i]) == 0)
            rc = load_preset_or_file(&trial, words[i]);
    if (rc == 0)
        rc = settings_store_push(&trial.store, ORIGIN_COMMAND_LINE);
    for (int i = 0; i < n && rc == 0; i++)
        if (settings_pair_key(words[i]) > 0)
            rc = settings_take_pair(&trial.store, &trial, trial.store.n_layers - 1, words[i]);
    if (rc == 0) {
        struct run_config old = *c;
        *c = trial;
        trial = old;
    }
    run_config_release(&trial);
    return rc;
}

/* Of these two one follows from the other: the global batch stays when a run is gone on
 * with in micro-batches of another size. */
static bool is_implied_row(const struct run_config *c, const struct setting *row)
{
    return row == (c->training.global_batch_size != 0 ? RUN_ROW(training.gradient_accumulation)
                                                      : RUN_ROW(training.global_batch_size));
}

int run_config_write(const struct run_config *c, struct buf *out)
{
    const char *section = "";
    const struct setting *row;
    int rc = 0;
    for (int i = 0; rc == 0 && (row = settings_table_at(&run_table, i)) != NULL; i++) {
        if (is_implied_row(c, row))
            continue;
        struct buf value = {0};
        bool text = row->type == SETTING_STRING || row->type == SETTING_PATH;
        if (strcmp(section, row->group) != 0)
            rc = buf_printf(out, "%s:\n", section = row->group);
        if (rc == 0)
            rc = buf_printf(out, "  %s: ", row->name);
        if (rc == 0)
            rc = setting_format(row, c, &value);
        if (rc == 0)
            rc = text ? yaml_quote(out, buf_text(&value)) : buf_str(out, buf_text(&value));
        if (rc == 0)
            rc = buf_char(out, '\n');
        buf_release(&value);
    }
    return rc;
}
