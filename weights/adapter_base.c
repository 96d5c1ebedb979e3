#include "weights/adapter_base.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/bundled/bundled.h"
#include "weights/find.h"
#include "weights/hf/adapter_file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 160, MAX_SETTINGS = 16 << 20 };
static const char SETTINGS[] = "prattle.yaml";

/* Replace the path of a run's folder by its newest whole checkpoint, a name by its folder. */
static int resolve_base(char **path, const struct progress *p)
{
    char *found, *title;
    int rc = weights_find(&found, &title, *path, p);
    mem_free(title);
    if (rc != 0)
        return rc;
    mem_free(*path);
    *path = found;
    return 0;
}

/* Which of these is there; NULL: none. A model that the Hub may have is there. */
static char *choose_base(const char *base, char *as_is, char *beside)
{
    const bool a_name = strncmp(base, "random:", 7) == 0 || bundled_is_name(base);
    return a_name || file_exists(as_is) ? as_is
           : file_exists(beside)        ? beside
           : weights_is_hub_name(base)  ? as_is
                                        : NULL;
}

static bool is_found(const char *base, const char *path)
{
    char *as_is = file_expand(base), *beside = file_join(path, base);
    const bool is = as_is != NULL && beside != NULL && choose_base(base, as_is, beside) != NULL;
    mem_free(as_is);
    mem_free(beside);
    return is;
}

/* The path `base`, from here or relative to the adapter's folder; `advice`: what to do if there is
 * nothing. */
static int find_base(char **out, const char *base, const char *path, const char *advice,
                     const struct progress *p)
{
    char shown[SHOWN], folder[SHOWN];
    char *as_is = file_expand(base), *beside = file_join(path, base), *found = NULL;
    file_show(folder, sizeof folder, path);
    int rc = as_is == NULL || beside == NULL ? ERR_NOMEM : 0;
    const char *at = rc == 0 ? choose_base(base, as_is, beside) : NULL;
    if (rc == 0 && at == NULL)
        rc = err_set(ERR_MISSING, "the adapter %s is for the model %s, which is not here: %s",
                     folder, file_show(shown, sizeof shown, base), advice);
    if (rc == 0 && (found = mem_strdup(at)) == NULL)
        rc = ERR_NOMEM;
    if (rc == 0 && strncmp(base, "random:", 7) != 0 && !bundled_is_name(base))
        rc = resolve_base(&found, p);
    if (rc == 0 && adapter_is_folder(found))
        rc = err_set(ERR_UNSUPPORTED, "the base of the adapter %s is an adapter itself", folder);
    if (rc == 0) {
        *out = found;
        found = NULL;
    }
    mem_free(found);
    mem_free(as_is);
    mem_free(beside);
    return rc;
}

int adapter_base(char **out, const struct adapter_folder *f, const struct progress *p)
{
    char *base, folder[SHOWN];
    int rc = adapter_base_name(&base, f);
    if (rc == 0 && base == NULL)
        rc = err_set(ERR_MISSING,
                     "the adapter %s names no base model: load that, then the adapter with "
                     ":lora load or --lora",
                     file_show(folder, sizeof folder, f->path));
    if (rc == 0)
        rc = find_base(out, base, f->path,
                       "load it from where it is, then the adapter with :lora load or --lora", p);
    mem_free(base);
    return rc;
}

/* A file, or a folder with a model. */
static bool is_model_there(const char *path)
{
    return file_is_folder(path) ? file_exists_in(path, "config.json") : file_exists(path);
}

/* Of the path `base`, the longest end that leads to a model from a folder that `path` is in, the
 * nearest first. New memory; NULL: none. */
static char *find_moved(const char *base, const char *path)
{
    char above[PATH_MAX], *slash;
    if (*base != '/' || realpath(path, above) == NULL)
        return NULL;
    while ((slash = strrchr(above, '/')) != NULL) {
        *slash = '\0';
        for (const char *end = base; end != NULL; end = strchr(end + 1, '/')) {
            char *at = mem_sprintf("%s%s", above, end);
            if (at == NULL || is_model_there(at))
                return at;
            mem_free(at);
        }
    }
    return NULL;
}

int adapter_base_resumed(char **out, const struct adapter_folder *f, const char *given,
                         const struct progress *p)
{
    char *base = NULL, *moved = NULL, shown[SHOWN];
    int rc = given == NULL ? adapter_base_name(&base, f) : 0;
    if (rc == 0 && base != NULL && !is_found(base, f->path) &&
        (moved = find_moved(base, f->path)) != NULL)
        progress_note(p, "the adapter's base is %s now", file_show(shown, sizeof shown, moved));
    else if (given != NULL && !is_found(given, f->path))
        rc = err_set(ERR_MISSING, "there is no model %s, the base of the adapter",
                     file_show(shown, sizeof shown, given));
    const char *at = given != NULL ? given : moved != NULL ? moved : base;
    if (rc == 0)
        rc = at == NULL ? adapter_base(out, f, p)
                        : find_base(out, at, f->path, "init=PATH says where it is now", p);
    mem_free(base);
    mem_free(moved);
    return rc;
}

/* Without an error's sentence where there is none. */
static int find_settings(bool *found, const struct adapter_folder *f)
{
    char *path = f->open != NULL ? NULL : file_join(f->path, SETTINGS);
    if (f->open == NULL && path == NULL)
        return ERR_NOMEM;
    *found = f->open != NULL ? file_set_find(f->open, SETTINGS) != NULL : file_exists(path);
    mem_free(path);
    return 0;
}

int adapter_settings(struct source *s, const struct adapter_folder *f)
{
    struct buf text = {0};
    bool found = false;
    int rc = find_settings(&found, f);
    if (rc == 0 && found)
        rc = file_set_read(&text, &found, f->open, f->path, SETTINGS, MAX_SETTINGS);
    char *own = rc == 0 && found ? mem_strdup(buf_text(&text)) : NULL;
    if (rc == 0 && found && own == NULL)
        rc = ERR_NOMEM;
    if (own != NULL) {
        mem_free(s->defaults);
        s->defaults = own;
        s->defaults_file = SETTINGS;
    }
    buf_release(&text);
    return rc;
}
