#include "weights/bundled/bundled.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

static const char FILE_NAME[] = "bundled.gguf";

/* The folder of the running program; "" if it is not known. */
static void find_program(char folder[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    folder[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        *slash = '\0';
}

int bundled_path(char **out)
{
    char program[PATH_MAX];
    find_program(program);
    char *places[] = {mem_sprintf("%s/../share/prattle/%s", program, FILE_NAME),
                      mem_sprintf("%s/../../weights/bundled/%s", program, FILE_NAME),
                      mem_sprintf("%s/share/prattle/%s", PREFIX, FILE_NAME)};
    *out = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        bool here = *out == NULL && places[i] != NULL && file_exists(places[i]);
        if (here)
            *out = places[i];
        else
            mem_free(places[i]);
    }
    return *out != NULL ? 0
                        : err_set(ERR_MISSING,
                                  "%s, the model that ships, is not beside the "
                                  "program, nor in " PREFIX "/share/prattle",
                                  FILE_NAME);
}

bool bundled_exists(void)
{
    char *path;
    int rc = bundled_path(&path);
    mem_free(path);
    return rc == 0;
}

bool bundled_is_name(const char *path)
{
    return strcmp(path, BUNDLED_NAME) == 0;
}

const char *bundled_hint(void)
{
    return "This model tells children's stories. Try \"Once upon a time\".";
}
