#include "tests/lib/notes.h"

#include <stdio.h>
#include <string.h>

void notes_take(void *user, const char *text)
{
    struct notes *notes = user;
    size_t n = strlen(notes->all);
    snprintf(notes->all + n, sizeof notes->all - n, "%s\n", text);
    snprintf(notes->last, sizeof notes->last, "%s", text);
    if (notes->n++ == 0)
        snprintf(notes->first, sizeof notes->first, "%s", text);
}
