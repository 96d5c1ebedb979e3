#include "train/data/npy.h"

#include "model/base/err.h"
#include "model/base/little_endian.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAGIC_BYTES = 6,
    HEAD_BYTES = MAGIC_BYTES + 6,
    HEADER_MOST = 4096,
    NAME_BYTES = 200,
    TEXT_MOST = 1 << 12
};
static const char magic[] = "\x93NUMPY";

bool npy_is_file(const char *head, size_t n)
{
    return n >= MAGIC_BYTES && memcmp(head, magic, MAGIC_BYTES) == 0;
}

/* Bytes of the header's length, behind the two of the version. */
static int length_bytes(const char *head)
{
    return head[MAGIC_BYTES] > 1 ? 4 : 2;
}

bool npy_is_texts(const char *head, size_t n)
{
    static const char type[] = "'<U";
    if (!npy_is_file(head, n) || n < HEAD_BYTES)
        return false;
    const int wide = length_bytes(head);
    const size_t at = MAGIC_BYTES + 2 + (size_t)wide, left = n - at;
    const uint64_t length = le_at(head + MAGIC_BYTES + 2, wide);
    return memmem(head + at, length < left ? (size_t)length : left, type, strlen(type)) != NULL;
}

static int refuse(int code, const struct file *f, const char *what)
{
    char shown[NAME_BYTES];
    return err_set(code, "%s %s", file_show(shown, sizeof shown, f->path), what);
}

/* What follows 'key': in the dict; NULL: nothing. */
static const char *find_value(const char *header, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *at = strstr(header, quoted);
    if (at == NULL)
        return NULL;
    at += strlen(quoted);
    at += strspn(at, " ");
    return *at == ':' ? at + 1 + strspn(at + 1, " ") : NULL;
}

/* '<u2' */
static int read_type(struct npy *out, const char *at, const struct file *f)
{
    char *end;
    if (at == NULL || *at != '\'' || at[1] == '\0' || at[2] == '\0')
        return refuse(ERR_FORMAT, f, "has no token IDs: its elements are of no simple type");
    const char order = at[1];
    out->kind = at[2];
    const long width = strtol(at + 3, &end, 10);
    if (*end != '\'' || strchr("uiU", out->kind) == NULL || width < 1 || width > TEXT_MOST ||
        (out->kind != 'U' && width != 1 && width != 2 && width != 4 && width != 8))
        return refuse(ERR_FORMAT, f, "has no token IDs: its numbers are not whole ones");
    if (order != '<' && order != '|' && (order != '=' || width > 1))
        return refuse(ERR_UNSUPPORTED, f, "has numbers that are not little-endian");
    out->width = (int)width * (out->kind == 'U' ? 4 : 1);
    return 0;
}

/* (123,) or (12, 2) */
static int read_shape(struct npy *out, const char *at, const struct file *f)
{
    char *end;
    if (at == NULL || *at != '(')
        return refuse(ERR_FORMAT, f, "has no shape in its header");
    for (at++, out->rank = 0; *at >= '0' && *at <= '9'; out->rank++) {
        if (out->rank == NPY_RANK_MOST)
            return refuse(ERR_UNSUPPORTED, f, "has more than 2 dimensions");
        out->shape[out->rank] = strtoull(at, &end, 10);
        at = end + strspn(end, ", ");
    }
    return *at == ')' && out->rank > 0 ? 0 : refuse(ERR_FORMAT, f, "has a damaged shape");
}

static int read_header(struct npy *out, const char *header, const struct file *f)
{
    const char *order = find_value(header, "fortran_order");
    int rc = read_type(out, find_value(header, "descr"), f);
    if (rc == 0)
        rc = read_shape(out, find_value(header, "shape"), f);
    if (rc == 0 && out->rank > 1 && (order == NULL || strncmp(order, "False", 5) != 0))
        rc = refuse(ERR_UNSUPPORTED, f, "has its columns first");
    return rc;
}

static int check_length(const struct npy *a, const struct file *f)
{
    char shown[NAME_BYTES];
    uint64_t bytes = (uint64_t)a->width;
    bool fits = true;
    for (int i = 0; i < a->rank; i++)
        fits = fits && !__builtin_mul_overflow(bytes, a->shape[i], &bytes);
    if (fits && bytes == f->bytes - a->offset)
        return 0;
    return err_set(ERR_FORMAT, "%s has %" PRIu64 " bytes of elements, its header says %s%" PRIu64,
                   file_show(shown, sizeof shown, f->path), f->bytes - a->offset,
                   fits ? "" : "more than ", fits ? bytes : UINT64_MAX);
}

int npy_read(struct npy *out, const struct file *f)
{
    char head[HEAD_BYTES], header[HEADER_MOST + 1];
    *out = (struct npy){0};
    if (f->bytes < sizeof head)
        return refuse(ERR_FORMAT, f, "is no .npy file");
    int rc = file_read_at(f, head, 0, sizeof head);
    if (rc != 0)
        return rc;
    const int version = head[MAGIC_BYTES], wide = length_bytes(head);
    if (!npy_is_file(head, sizeof head) || version < 1 || version > 3)
        return refuse(ERR_FORMAT, f, "is no .npy file of version 1 to 3");
    const uint64_t n = le_at(head + MAGIC_BYTES + 2, wide);
    out->offset = MAGIC_BYTES + 2 + (uint64_t)wide + n;
    if (n > HEADER_MOST || out->offset > f->bytes)
        return refuse(ERR_FORMAT, f, "has a header that is longer than the file, or than 4096");
    if ((rc = file_read_at(f, header, out->offset - n, (size_t)n)) != 0)
        return rc;
    header[n] = '\0';
    if ((rc = read_header(out, header, f)) == 0)
        rc = check_length(out, f);
    return rc;
}

static int add_character(struct buf *out, uint32_t c)
{
    char bytes[4];
    size_t n = 0;
    if (c < 0x80) {
        bytes[n++] = (char)c;
    } else if (c < 0x800) {
        bytes[n++] = (char)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        bytes[n++] = (char)(0xe0 | c >> 12);
        bytes[n++] = (char)(0x80 | (c >> 6 & 0x3f));
    } else {
        bytes[n++] = (char)(0xf0 | c >> 18);
        bytes[n++] = (char)(0x80 | (c >> 12 & 0x3f));
        bytes[n++] = (char)(0x80 | (c >> 6 & 0x3f));
    }
    if (c >= 0x80)
        bytes[n++] = (char)(0x80 | (c & 0x3f));
    return buf_add(out, bytes, n);
}

int npy_text(struct buf *out, const struct npy *a, const struct file *f, uint64_t i, uint64_t j)
{
    unsigned char raw[4 * TEXT_MOST];
    const uint64_t columns = a->rank == 2 ? a->shape[1] : 1;
    out->n = 0;
    if (a->kind != 'U' || i >= a->shape[0] || j >= columns)
        return refuse(ERR_FORMAT, f, "has no text there");
    int rc =
        file_read_at(f, raw, a->offset + (i * columns + j) * (uint64_t)a->width, (size_t)a->width);
    if (rc == 0)
        rc = buf_str(out, "");
    for (int at = 0; at < a->width && rc == 0; at += 4) {
        const uint32_t c = le32_at(raw + at);
        if (c == 0)
            break;
        rc =
            c > 0x10ffff ? refuse(ERR_FORMAT, f, "has a text that is none") : add_character(out, c);
    }
    return rc;
}
