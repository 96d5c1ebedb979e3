#include "repl/session/near_path.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/mem.h"
#include "model/base/words.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* A name of fewer characters is near everything. */
enum { SHOWN = 256, SHORTEST_NAME = 4 };

/* In new memory, NULL: none is near. */
static char *nearest_entry(const char *folder, const char *name)
{
    char *nearest = NULL;
    DIR *dir = opendir(folder);
    for (const char *entry; (entry = folder_entry_next(dir)) != NULL;) {
        const char *both[] = {nearest, entry};
        const char *const *names = both + (nearest == NULL);
        if (entry[0] == '.' || words_nearest(name, names, nearest == NULL ? 1 : 2) != entry)
            continue;
        mem_free(nearest);
        nearest = mem_strdup(entry);
    }
    folder_entry_close(dir);
    return nearest;
}

char *near_path(const char *typed)
{
    char *path = file_expand(typed), *out = NULL;
    const char *slash = strrchr(typed, '/'), *end = path == NULL ? NULL : strrchr(path, '/');
    const char *name = slash == NULL ? typed : slash + 1;
    if (path != NULL && strlen(name) >= SHORTEST_NAME && !file_exists(path)) {
        char *folder = end == NULL ? mem_strdup(".")
                                   : mem_sprintf("%.*s", (int)(end - path) + (end == path), path);
        char *entry = folder == NULL ? NULL : nearest_entry(folder, name);
        if (entry != NULL)
            out = mem_sprintf("%.*s%s", (int)(name - typed), typed, entry);
        mem_free(entry);
        mem_free(folder);
    }
    mem_free(path);
    return out;
}

/* "cannot open TYPED: No such file or directory" */
static bool is_missing(const char *sentence, const char *typed)
{
    char shown[SHOWN];
    const char *at = strstr(sentence, file_show(shown, sizeof shown, typed));
    return at != NULL && text_ends_in(sentence, strerror(ENOENT)) && at[strlen(shown)] == ':';
}

int near_path_explain(int rc, const char *typed)
{
    char word[SHOWN], *near = NULL, *why = NULL;
    if (is_missing(err_text(), typed) && (why = mem_strdup(err_text())) != NULL &&
        (near = near_path(typed)) != NULL)
        err_set(rc, "%s; did you mean %s?", why, file_word(word, sizeof word, near));
    else if (why != NULL)
        err_set(rc, "%s", why);
    mem_free(near);
    mem_free(why);
    return rc;
}
