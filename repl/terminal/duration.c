#include "repl/terminal/duration.h"

#include <stdio.h>

const char *duration_text(char out[24], double s)
{
    long t = (long)(s + 0.5);
    if (t >= 86400)
        snprintf(out, 24, "%ld d %ld h", t / 86400, t / 3600 % 24);
    else if (t >= 3600)
        snprintf(out, 24, "%ld h %ld min", t / 3600, t / 60 % 60);
    else if (t >= 60)
        snprintf(out, 24, "%ld min %ld s", t / 60, t % 60);
    else
        snprintf(out, 24, "%ld s", t);
    return out;
}

const char *duration_short(char out[16], double s)
{
    if (s < 0.1)
        snprintf(out, 16, "%.1f ms", 1e3 * s);
    else
        snprintf(out, 16, s < 10 ? "%.2f s" : "%.1f s", s);
    return out;
}
