#include "repl/commands/typed_name.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <string.h>

int typed_name_explain(int rc, const char *topic)
{
    static const char unknown[] = "there is no setting ";
    if (rc != ERR_MISSING || strncmp(err_text(), unknown, sizeof unknown - 1) != 0 ||
        strchr(err_text(), ';') != NULL)
        return rc;
    char *why = mem_strdup(err_text());
    if (why != NULL)
        err_set(rc, "%s; `:help %s` lists them", why, topic);
    mem_free(why);
    return rc;
}
