#include "weights/adapter_base.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/bundled/bundled.h"
#include "weights/find.h"
#include "weights/hf/adapter_file.h"

#include <string.h>

enum { SHOWN = 160 };

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

/* The path `base`, from here or relative to the adapter's folder. */
static int find_base(char **out, const char *base, const char *path, const struct progress *p)
{
    char shown[SHOWN], folder[SHOWN];
    char *as_is = file_expand(base), *beside = file_join(path, base), *found = NULL;
    file_show(folder, sizeof folder, path);
    int rc = as_is == NULL || beside == NULL ? ERR_NOMEM : 0;
    const char *at = rc == 0 ? choose_base(base, as_is, beside) : NULL;
    if (rc == 0 && at == NULL)
        rc = err_set(ERR_MISSING,
                     "the adapter %s is for the model %s, which is not here: load it from "
                     "where it is, then the adapter with :lora load or --lora",
                     folder, file_show(shown, sizeof shown, base));
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
        rc = find_base(out, base, f->path, p);
    mem_free(base);
    return rc;
}
