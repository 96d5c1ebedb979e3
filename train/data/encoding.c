#include "train/data/encoding.h"

#include "model/base/err.h"
#include "train/data/advice.h"

#include <inttypes.h>

/* Windows' own code page has letters where Latin-1 has control characters. */
static bool has_windows_letters(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)text[i] & 0xe0) == 0x80)
            return true;
    return false;
}

int encoding_refuse(const char *name, const struct encoding_fault *f)
{
    const char *line = f->after_utf8
                           ? "`iconv -c -f UTF-8 -t UTF-8 FILE > NEW` leaves out what is not"
                       : has_windows_letters(f->at, f->n)
                           ? "if it is Windows-1252: `iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW`"
                           : "if it is Latin-1: `iconv -f LATIN1 -t UTF-8 FILE > NEW`";
    char advice[512];
    return err_set(
        ERR_FORMAT, "%s is not UTF-8: byte %" PRIu64 " is %02x; %s", name, f->before,
        (unsigned char)*f->at,
        data_advice(advice, sizeof advice, line, f->path == NULL ? "FILE" : f->path, f->packed));
}
