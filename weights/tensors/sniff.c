#include "weights/tensors/sniff.h"

#include "model/base/err.h"

#include <string.h>
#include <strings.h>

enum { HEAD_BYTES = 64 };

static bool begins_with(const char *head, size_t n, const char *with)
{
    size_t length = strlen(with);
    return n >= length && strncasecmp(head, with, length) == 0;
}

int sniff_refuse_text(const char *head, size_t n)
{
    size_t spaces = 0;
    while (spaces < n && strchr(" \t\r\n", head[spaces]) != NULL && head[spaces] != '\0')
        spaces++;
    if (n == 0)
        return err_set(ERR_FORMAT, "the file is empty");
    if (begins_with(head, n, "version https://git-lfs"))
        return err_set(ERR_FORMAT, "the file is a git-lfs pointer, not what it points to; "
                                   "`git lfs pull` fetches that");
    if (begins_with(head + spaces, n - spaces, "<!doctype html") ||
        begins_with(head + spaces, n - spaces, "<html"))
        return err_set(ERR_FORMAT, "the file is an HTML page; download it again");
    if (begins_with(head, n, "\x1f\x8b"))
        return err_set(ERR_FORMAT, "the file is compressed with gzip; unpack it with gunzip");
    if (begins_with(head, n,
                    "\x7f"
                    "ELF"))
        return err_set(ERR_FORMAT, "the file is a program, not a model");
    if (begins_with(head, n, "\x89PNG") || begins_with(head, n, "\xff\xd8\xff"))
        return err_set(ERR_FORMAT, "the file is a picture, not a model");
    if (begins_with(head, n, "%PDF-"))
        return err_set(ERR_FORMAT, "the file is a PDF document, not a model");
    return 0;
}

int sniff_refuse(const struct file *f)
{
    char head[HEAD_BYTES];
    size_t n = f->bytes < sizeof head ? (size_t)f->bytes : sizeof head;
    int rc = file_read_at(f, head, 0, n);
    return rc != 0 ? rc : sniff_refuse_text(head, n);
}
