#include "weights/tensors/sniff.h"

#include "model/base/err.h"

#include <string.h>
#include <strings.h>

enum { HEAD_BYTES = 64 };

static bool begins(const char *head, size_t n, const char *with)
{
    size_t length = strlen(with);
    return n >= length && strncasecmp(head, with, length) == 0;
}

int lookalike_refuse_text(const char *head, size_t n)
{
    size_t blanks = 0;
    while (blanks < n && strchr(" \t\r\n", head[blanks]) != NULL && head[blanks] != '\0')
        blanks++;
    if (n == 0)
        return err_set(ERR_FORMAT, "the file is empty");
    if (begins(head, n, "version https://git-lfs"))
        return err_set(ERR_FORMAT, "the file is a git-lfs pointer, not what it points to; "
                                   "`git lfs pull` fetches that");
    if (begins(head + blanks, n - blanks, "<!doctype html") ||
        begins(head + blanks, n - blanks, "<html"))
        return err_set(ERR_FORMAT, "the file is an HTML page; download it again");
    if (begins(head, n, "\x1f\x8b"))
        return err_set(ERR_FORMAT, "the file is compressed with gzip; unpack it with gunzip");
    return 0;
}

int lookalike_refuse(const struct file *f)
{
    char head[HEAD_BYTES];
    size_t n = f->bytes < sizeof head ? (size_t)f->bytes : sizeof head;
    int rc = file_read_at(f, head, 0, n);
    return rc != 0 ? rc : lookalike_refuse_text(head, n);
}
