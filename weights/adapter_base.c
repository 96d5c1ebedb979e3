#include "weights/adapter_base.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/bundled/bundled.h"
#include "weights/hf/adapter_file.h"
#include "weights/run_folder.h"

#include <string.h>

enum { SHOWN = 160 };

/* Replace the path of a run's folder by its newest whole checkpoint. */
static int resolve_base(char **path)
{
    char *found, *title;
    int rc = run_folder_resolve(&found, &title, *path, NULL);
    mem_free(title);
    if (rc != 0)
        return rc;
    mem_free(*path);
    *path = found;
    return 0;
}

/* The path `base`, from here or relative to the adapter's folder. */
static int find_base(char **out, const char *base, const char *path)
{
    char shown[SHOWN], folder[SHOWN];
    char *as_is = file_expand(base), *beside = file_join(path, base);
    file_show(folder, sizeof folder, path);
    int rc = as_is == NULL || beside == NULL ? ERR_NOMEM : 0;
    bool a_name = strncmp(base, "random:", 7) == 0 || bundled_is_name(base);
    if (rc == 0 && !a_name && !file_exists(as_is)) {
        char *other = as_is;
        as_is = beside;
        beside = other;
        if (!file_exists(as_is))
            rc = err_set(ERR_MISSING,
                         "the adapter %s is for the model %s, which is not here: load it from "
                         "where it is, then the adapter with :lora load or --lora",
                         folder, file_show(shown, sizeof shown, base));
    }
    if (rc == 0 && !a_name)
        rc = resolve_base(&as_is);
    if (rc == 0 && adapter_is_folder(as_is))
        rc = err_set(ERR_UNSUPPORTED, "the base of the adapter %s is an adapter itself", folder);
    if (rc == 0) {
        *out = as_is;
        as_is = NULL;
    }
    mem_free(as_is);
    mem_free(beside);
    return rc;
}

int adapter_base(char **out, const struct adapter_folder *f)
{
    char *base, folder[SHOWN];
    int rc = adapter_base_name(&base, f);
    if (rc == 0 && base == NULL)
        rc = err_set(ERR_MISSING,
                     "the adapter %s names no base model: load that, then the adapter with "
                     ":lora load or --lora",
                     file_show(folder, sizeof folder, f->path));
    if (rc == 0)
        rc = find_base(out, base, f->path);
    mem_free(base);
    return rc;
}
