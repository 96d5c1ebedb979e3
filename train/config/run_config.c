#include "train/config/run_config.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/words.h"
#include "model/base/yaml_pairs.h"

#include <stddef.h>
#include <string.h>
#include <utf8proc.h>

enum { MAX_FILE_BYTES = 1 << 20 };

static size_t n_rows(void)
{
    size_t n = 0;
    while (run_row_at((int)n) != NULL)
        n++;
    return n;
}

int run_config_init(struct run_config *c)
{
    struct run_config built_in = {
        .training = {.micro_batch_size = 4,
                     .seed = 1,
                     .dropout = -1,
                     .embd_pdrop = -1,
                     .attn_pdrop = -1,
                     .resid_pdrop = -1,
                     .loss_scaling_growth = 2000,
                     .max_bad_steps = 10},
        .execution = {.devices = 1, .recompute = "none", .embedding_serialization_factor = 1},
        .lora = {.alpha = 16, .targets = "c_attn"},
        .logging = {.log_every = 10, .eval_every = 200, .sample_tokens = 64, .tensorboard = true},
        .checkpoint = {.save_every = 1000, .keep_last = 2, .keep_best = true},
    };
    optimizer_config_init(&built_in.optimizer);
    schedule_config_init(&built_in.schedule);
    int rc = data_config_init(&built_in.data);
    if (rc != 0)
        return rc;
    built_in.data.seed = 0; /* as training.seed */
    rc = run_config_copy(c, &built_in);
    data_config_release(&built_in.data);
    /* Where nothing was given the texts are empty, not absent. */
    const struct setting *row;
    for (int i = 0; rc == 0 && (row = run_row_at(i)) != NULL; i++) {
        bool text = row->type == SETTING_STRING || row->type == SETTING_PATH;
        if (text && *(char **)((char *)c + row->offset) == NULL &&
            (rc = setting_parse(row, c, "")) != 0)
            run_config_release(c);
    }
    return rc;
}

void run_config_release(struct run_config *c)
{
    settings_free_texts(run_row_at(0), n_rows(), c);
    mem_free(c->name);
    *c = (struct run_config){0};
}

int run_config_copy(struct run_config *dst, const struct run_config *src)
{
    *dst = *src;
    dst->name = NULL;
    int rc = settings_own_texts(run_row_at(0), n_rows(), dst, src);
    if (rc == 0 && src->name != NULL && (dst->name = mem_strdup(src->name)) == NULL)
        rc = ERR_NOMEM;
    if (rc != 0)
        run_config_release(dst);
    return rc;
}

bool run_init_is_random(const struct model_section *m)
{
    return strcmp(m->init, "random") == 0 || strncmp(m->init, "random:", 7) == 0;
}

/* A model named later brings its own sizes: those of the sources before are no more. */
static int forget_sizes(struct run_config *c)
{
    const struct setting *row;
    int rc = 0;
    for (int i = 0; rc == 0 && (row = run_row_at(i)) != NULL; i++) {
        if (strcmp(row->group, "model") != 0 || strcmp(row->name, "init") == 0 ||
            c->source[i] == 0 || c->source[i] == c->n_sources)
            continue;
        rc = setting_parse(row, c,
                           row->type == SETTING_INT      ? "0"
                           : row->type == SETTING_CHOICE ? "auto"
                                                         : "");
        c->origin[i] = RUN_BUILT_IN;
        c->source[i] = 0;
    }
    return rc;
}

/* The character at text and how many bytes it has; fewer than 1: it is no UTF-8. */
static utf8proc_ssize_t character(utf8proc_int32_t *c, const char *text)
{
    return utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)strnlen(text, 4), c);
}

/* A checkpoint keeps every setting, as JSON. */
static int check_text(const struct setting *row, const char *text)
{
    utf8proc_int32_t c;
    utf8proc_ssize_t n = 0;
    for (; *text != '\0'; text += n)
        if ((n = character(&c, text)) < 1)
            return err_set(
                ERR_FORMAT,
                "%s.%s has the byte %02x, which is no UTF-8: no checkpoint could keep it",
                row->group, row->name, (unsigned char)*text);
    return 0;
}

static int set_row(struct run_config *c, enum run_origin origin, const struct setting *row,
                   const char *text)
{
    int rc = check_text(row, text);
    if (rc == 0)
        rc = setting_parse(row, c, text);
    /* As it is kept: a home may be called anything. */
    if (rc == 0 && row->type == SETTING_PATH)
        rc = check_text(row, *(char **)((char *)c + row->offset));
    if (rc == 0 && row->offset == offsetof(struct run_config, model.init) &&
        !run_init_is_random(&c->model))
        rc = forget_sizes(c);
    if (rc == 0) {
        c->origin[row - run_row_at(0)] = (unsigned char)origin;
        c->source[row - run_row_at(0)] = c->n_sources;
        c->follows[row - run_row_at(0)] = false;
    }
    return rc;
}

int run_config_set(struct run_config *c, enum run_origin origin, const char *key, const char *text)
{
    const struct setting *row;
    int rc = run_row_find(&row, key);
    return rc != 0 ? rc : set_row(c, origin, row, text);
}

enum run_origin run_config_origin(const struct run_config *c, const struct setting *row)
{
    return c->origin[row - run_row_at(0)];
}

/* A file being read, into a configuration put aside. */
struct reading {
    struct run_config trial;
    enum run_origin origin;
    bool seen[RUN_MAX_ROWS];
};

static int no_such_section(const char *name)
{
    const char *sections[RUN_MAX_ROWS];
    char shown[80];
    size_t n = 0;
    const struct setting *row;
    for (int i = 0; (row = run_row_at(i)) != NULL; i++)
        if (n == 0 || strcmp(sections[n - 1], row->group) != 0)
            sections[n++] = row->group;
    const char *near = words_nearest(name, sections, n);
    file_show(shown, sizeof shown, name);
    return near == NULL
               ? err_set(ERR_MISSING, "there is no section %s", shown)
               : err_set(ERR_MISSING, "there is no section %s; did you mean %s?", shown, near);
}

static int take_pair(void *user, const struct yaml_pair *p)
{
    struct reading *r = user;
    const struct setting *row;
    if (*p->section != '\0' && !run_is_section(p->section))
        return no_such_section(p->section);
    if (*p->section == '\0' && p->text == NULL && run_is_section(p->name))
        return 0; /* a heading with nothing under it */
    char *key =
        *p->section == '\0' ? mem_strdup(p->name) : mem_sprintf("%s.%s", p->section, p->name);
    int rc = key == NULL ? ERR_NOMEM : run_row_find(&row, key);
    mem_free(key);
    if (rc != 0 && *p->section == '\0' && run_is_section(p->name))
        return err_set(ERR_FORMAT, "%s is a section: its settings stand under it", p->name);
    if (rc != 0)
        return rc;
    bool *seen = &r->seen[row - run_row_at(0)];
    if (*seen)
        return err_set(ERR_FORMAT, "%s.%s is given twice", row->group, row->name);
    *seen = true;
    return p->text == NULL ? 0 : set_row(&r->trial, r->origin, row, p->text);
}

int run_config_read(struct run_config *c, enum run_origin origin, const char *label,
                    const char *text, size_t n)
{
    struct reading r = {.origin = origin};
    int rc = run_config_copy(&r.trial, c);
    if (rc != 0)
        return rc;
    r.trial.n_sources++;
    rc = yaml_read_pairs(label, text, n, (struct yaml_shape){.sections = true, .lists = true},
                         take_pair, &r);
    if (rc == 0) {
        struct run_config old = *c;
        *c = r.trial;
        r.trial = old;
    }
    run_config_release(&r.trial);
    return rc;
}

static int take_name(struct run_config *c, const char *name, size_t n)
{
    char *fresh = mem_sprintf("%.*s", (int)n, name);
    if (fresh == NULL)
        return ERR_NOMEM;
    mem_free(c->name);
    c->name = fresh;
    return 0;
}

/* "a/b/my-run.yaml" is called my-run. */
static int name_after(struct run_config *c, const char *path)
{
    const char *last = strrchr(path, '/'), *name = last == NULL ? path : last + 1;
    const char *point = strrchr(name, '.');
    return take_name(c, name,
                     point == NULL || point == name ? strlen(name) : (size_t)(point - name));
}

static int load_file(struct run_config *c, const char *path)
{
    struct buf text = {0};
    char *shown = file_visible(path);
    int rc = shown == NULL ? ERR_NOMEM : file_read_all(&text, path, MAX_FILE_BYTES);
    if (rc == 0)
        rc = run_config_read(c, RUN_FILE, shown, buf_text(&text), text.n);
    if (rc == 0)
        rc = name_after(c, path);
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

static int no_such_config(const char *what)
{
    const char *names[RUN_MAX_ROWS], *near;
    char shown[160];
    size_t n = 0;
    for (const struct run_preset *p = run_presets; p->name != NULL && n < RUN_MAX_ROWS; p++)
        names[n++] = p->name;
    file_show(shown, sizeof shown, what);
    near = words_nearest(what, names, n);
    if (near != NULL)
        return err_set(ERR_MISSING, "there is no file or preset %s; did you mean %s?", shown, near);
    return err_set(ERR_MISSING, "there is no file or preset %s; :help presets lists them", shown);
}

/* "config" is one of these in the working folder. */
static const char *config_here(void)
{
    static const char *const names[] = {"config.yaml", "config.yml", "config.json", "config"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (file_exists(names[i]) && !file_is_folder(names[i]))
            return names[i];
    return NULL;
}

int run_config_load(struct run_config *c, const char *what)
{
    const struct run_preset *p = preset_find(what);
    if (p != NULL) {
        int rc = run_config_read(c, RUN_PRESET, what, p->text, strlen(p->text));
        return rc != 0 ? rc : take_name(c, what, strlen(what));
    }
    if (strcmp(what, "config") == 0) {
        const char *here = config_here();
        return here != NULL
                   ? load_file(c, here)
                   : err_set(ERR_MISSING, "there is no config.yaml, config.yml, config.json or "
                                          "config in this folder; name another file or a preset, "
                                          "as in :train finetune data=my.txt steps=200");
    }
    char *path = file_expand(what);
    int rc = path == NULL        ? ERR_NOMEM
             : file_exists(path) ? load_file(c, path)
                                 : no_such_config(what);
    mem_free(path);
    return rc;
}

/* The length of KEY in KEY=VALUE; 0: a preset or a file. */
static size_t key_of(const char *word)
{
    size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-.");
    return word[n] == '=' ? n : 0;
}

static int take_word(struct run_config *c, const char *word)
{
    const size_t n = key_of(word);
    if (n == 0)
        return run_config_load(c, word);
    char *key = mem_sprintf("%.*s", (int)n, word);
    int rc = key == NULL ? ERR_NOMEM : run_config_set(c, RUN_COMMAND_LINE, key, word + n + 1);
    mem_free(key);
    return rc;
}

int run_config_words(struct run_config *c, char *const *words, int n)
{
    struct run_config trial;
    int rc = run_config_copy(&trial, c);
    if (rc != 0)
        return rc;
    /* Presets and files first, wherever they stand: they are what the pairs change. */
    for (int pairs = 0; pairs < 2; pairs++) {
        trial.n_sources += pairs;
        for (int i = 0; i < n && rc == 0; i++)
            if ((key_of(words[i]) > 0) == (pairs == 1))
                rc = take_word(&trial, words[i]);
    }
    if (rc == 0) {
        struct run_config old = *c;
        *c = trial;
        trial = old;
    }
    run_config_release(&trial);
    return rc;
}

/* YAML has no such characters as they stand (1.2.2, section 5.1): controls, and marks of lines and
 * of byte order. */
static bool is_unprintable(utf8proc_int32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
           c == 0xfffe || c == 0xffff;
}

/* As a double-quoted scalar, which JSON and YAML read alike. */
static int quote(struct buf *out, const char *text)
{
    int rc = buf_char(out, '"');
    utf8proc_int32_t c;
    for (utf8proc_ssize_t n = 0; *text != '\0' && rc == 0; text += n) {
        n = character(&c, text);
        if (n < 1)
            rc = err_set(ERR_FORMAT, "a text of the settings is no UTF-8");
        else if (c == '"' || c == '\\')
            rc = buf_printf(out, "\\%c", (int)c);
        else if (is_unprintable(c))
            rc = buf_printf(out, "\\u%04x", (unsigned)c);
        else
            rc = buf_add(out, text, (size_t)n);
    }
    return rc != 0 ? rc : buf_char(out, '"');
}

/* Of these two one follows from the other: the global batch stays when a run is gone on
 * with in micro-batches of another size. */
static bool follows(const struct run_config *c, const struct setting *row)
{
    bool global = c->training.global_batch_size != 0;
    return row->offset == (global ? offsetof(struct run_config, training.gradient_accumulation)
                                  : offsetof(struct run_config, training.global_batch_size));
}

int run_config_write(const struct run_config *c, struct buf *out)
{
    const char *section = "";
    const struct setting *row;
    int rc = 0;
    for (int i = 0; rc == 0 && (row = run_row_at(i)) != NULL; i++) {
        if (follows(c, row))
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
            rc = text ? quote(out, buf_text(&value)) : buf_str(out, buf_text(&value));
        if (rc == 0)
            rc = buf_char(out, '\n');
        buf_release(&value);
    }
    return rc;
}
