#include "weights/find.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/hub/model_path.h"
#include "weights/hub/name.h"
#include "weights/run_folder.h"

#include <stdio.h>
#include <string.h>

/* Whether "runs/a" lies in a folder that is here. */
static bool is_in_folder(const char *name)
{
    const char *slash = strchr(name, '/');
    if (slash == NULL || strchr(name, '@') != NULL)
        return false;
    char *folder = mem_sprintf("%.*s", (int)(slash - name), name);
    const bool is = folder != NULL && file_is_folder(folder);
    mem_free(folder);
    return is;
}

bool weights_is_hub_name(const char *name)
{
    return hub_name_is(name) && !file_exists(name) && !is_in_folder(name);
}

/* Name what something here hides; of the same name once. */
static void note_hidden(const char *name, const struct progress *p)
{
    static char noted[160];
    char shown[160];
    if (p == NULL || p->note == NULL || !hub_name_is(name) || !file_exists(name))
        return;
    char *cached = hub_cached_path(name);
    file_show(shown, sizeof shown, name);
    if (cached != NULL && strcmp(noted, shown) != 0) {
        snprintf(noted, sizeof noted, "%s", shown);
        progress_note(p, "%s is the %s of that name here; `%s@%s` is the model in the cache", shown,
                      file_is_folder(name) ? "folder" : "file", shown, HUB_MAIN);
    }
    mem_free(cached);
}

int weights_find(char **out, char **title, const char *name, const struct progress *p)
{
    *title = NULL;
    if (weights_is_hub_name(name))
        return hub_model_path(out, name, false, p);
    if (strchr(name, '@') == NULL)
        note_hidden(name, p);
    return run_folder_resolve(out, title, name, p);
}
