#include "repl/terminal/hint.h"

#include <string.h>

static bool (*works_in_shell)(const char *name, size_t n);

void hint_place(bool (*in_shell)(const char *name, size_t n))
{
    works_in_shell = in_shell;
}

int hint_sentence(struct buf *out, const char *sentence)
{
    int rc = 0;
    for (const char *p = sentence; rc == 0 && *p != '\0';) {
        const size_t n = strcspn(p, "`");
        rc = buf_add(out, p, n);
        p += n;
        if (rc != 0 || *p == '\0')
            break;
        const size_t name = p[1] == ':' ? strcspn(p + 2, " `") : 0;
        const bool shell = name > 0 && works_in_shell != NULL && works_in_shell(p + 2, name);
        rc = buf_str(out, shell ? "`prattle " : "`");
        p += shell ? 2 : 1;
    }
    return rc;
}
