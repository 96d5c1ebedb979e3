#include "train/data/packing.h"

#include "model/base/file.h"
#include "train/data/bzip2_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tar from before "ustar" has no magic but the sum of its header's bytes, in octal. */
static bool is_old_tar(const char *head, size_t n)
{
    enum { HEADER = 512, SUM_AT = 148, SUM_DIGITS = 8 };
    unsigned long sum = 0;
    char said[SUM_DIGITS + 1] = "";
    if (n < HEADER || *head == '\0')
        return false;
    for (int i = 0; i < HEADER; i++)
        sum += i >= SUM_AT && i < SUM_AT + SUM_DIGITS ? ' ' : (unsigned char)head[i];
    memcpy(said, head + SUM_AT, SUM_DIGITS);
    return strtoul(said, NULL, 8) == sum;
}

/* A tar without members is zeros, as ids may be: only the name tells. */
static bool is_empty_tar(const char *head, size_t n, const char *name)
{
    static const char *const endings[] = {".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst"};
    enum { BLOCK = 512 };
    bool named = false;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0] && name != NULL; i++)
        named |= text_ends_in(name, endings[i]);
    return named && n >= BLOCK && *head == '\0' && memcmp(head, head + 1, BLOCK - 1) == 0;
}

enum data_packing data_packing_of(const char *head, size_t n, const char *name)
{
    static const struct {
        const char *bytes;
        size_t at, n;
        enum data_packing is;
    } known[] = {
        {"\x1f\x8b", 0, 2, DATA_GZIP},          {"BZh", 0, 3, DATA_COMPRESSED},
        {"\xfd\x37zXZ", 0, 5, DATA_COMPRESSED}, {"\x28\xb5\x2f\xfd", 0, 4, DATA_COMPRESSED},
        {"PK\x03\x04", 0, 4, DATA_ARCHIVE},     {"ustar", 257, 5, DATA_ARCHIVE},
        {"PK\x05\x06", 0, 4, DATA_ARCHIVE}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (n >= known[i].at + known[i].n &&
            memcmp(head + known[i].at, known[i].bytes, known[i].n) == 0)
            return bzip2_parts_are(head, n) ? DATA_BZIP2 : known[i].is;
    return is_old_tar(head, n) || is_empty_tar(head, n, name) ? DATA_ARCHIVE : DATA_PLAIN;
}

bool data_is_packed(const char *head, size_t n, const char *name)
{
    return data_packing_of(head, n, name) != DATA_PLAIN;
}

void data_unpacked_name(char *out, size_t size, const char *path)
{
    static const char *const endings[] = {".gz", ".bz2", ".xz", ".zst"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (text_ends_in(path, endings[i])) {
            n -= strlen(endings[i]);
            break;
        }
    snprintf(out, size, "%.*s", (int)n, path);
}

bool data_is_hidden(const char *path)
{
    for (const char *p = path; p != NULL; p = strchr(p, '/')) {
        p += *p == '/';
        size_t n = strcspn(p, "/");
        bool here = strspn(p, ".") == n && n <= 2;
        if ((*p == '.' && !here) || (n == 8 && memcmp(p, "__MACOSX", n) == 0))
            return true;
    }
    return false;
}
