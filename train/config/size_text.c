#include "train/config/size_text.h"

#include <stdio.h>

const char *size_text(char out[SIZE_TEXT], double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int u = 0;
    for (; bytes >= 1024 && u < 4; u++)
        bytes /= 1024;
    snprintf(out, SIZE_TEXT, u == 0 ? "%.0f %s" : "%.1f %s", bytes, units[u]);
    return out;
}
