#include "train/data/advice.h"

#include "model/base/file_show.h"
#include "train/data/packing.h"

#include <stdio.h>
#include <string.h>

enum { PATH_SHOWN = 300 };

/* A long path is not shown whole, so that a line with it could not be typed. */
static const char *name_file(char *out, size_t size, const char *path, bool packed)
{
    char unpacked[PATH_SHOWN];
    if (packed) {
        const char *member = strstr(path, ": ");
        for (const char *p = member; p != NULL; p = strstr(p, ": "))
            member = p += 2;
        data_unpacked_name(unpacked, sizeof unpacked, member == NULL ? path : member);
        path = unpacked;
    }
    return strlen(path) > PATH_SHOWN / 2 ? "FILE" : file_word(out, size, path);
}

const char *data_advice(char *out, size_t size, const char *advice, const char *path, bool packed)
{
    char name[2 * PATH_SHOWN];
    const char *file = strstr(advice, "FILE");
    const int before = file == NULL ? (int)strlen(advice) : (int)(file - advice);
    snprintf(out, size, "%s%.*s%s%s", packed && file != NULL ? "unpack it first; " : "", before,
             advice, file == NULL ? "" : name_file(name, sizeof name, path, packed),
             file == NULL ? "" : file + strlen("FILE"));
    return out;
}
