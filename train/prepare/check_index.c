#include "train/prepare/check_index.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/little_endian.h"
#include "model/base/mem.h"
#include "train/data/tfrecord.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 200, FRAME_BYTES = 16, LINE_BYTES = 64, REPORT_EVERY = 1024 };

struct index {
    FILE *lines;
    const char *path; /* of the index */
    struct file file;
    uint64_t n, at; /* records before the next, and where that one begins */
};

/* As file_open does, which a FIFO does not stop. */
static int open_lines(struct index *x)
{
    struct file f;
    int rc = file_open(&f, x->path);
    if (rc == 0 && (x->lines = fopen(x->path, "re")) == NULL)
        rc = file_error("open", x->path);
    file_close(&f);
    return rc;
}

static int refuse_line(const struct index *x, const char *line)
{
    char shown[NAME_BYTES];
    return err_set(ERR_MISMATCH, "%s: line %" PRIu64 " is %s, must be an offset and a length",
                   file_show(shown, sizeof shown, x->path), x->n + 1, file_quote(line));
}

/* The next line; *there false: none is left. */
static int read_line(struct index *x, uint64_t *offset, uint64_t *length, bool *there)
{
    char line[LINE_BYTES], rest;
    *there = fgets(line, sizeof line, x->lines) != NULL;
    if (!*there)
        return ferror(x->lines) ? file_error("read", x->path) : 0;
    line[strcspn(line, "\r\n")] = '\0';
    return sscanf(line, "%" SCNu64 " %" SCNu64 " %c", offset, length, &rest) == 2
               ? 0
               : refuse_line(x, line);
}

/* The bytes of the record at x->at with its frame, whose checksums were verified when it was read.
 */
static int measure_record(struct index *x, uint64_t *bytes)
{
    char head[8], shown[NAME_BYTES];
    const uint64_t left = x->file.bytes - x->at;
    int rc = left < FRAME_BYTES ? ERR_FORMAT : file_read_at(&x->file, head, x->at, sizeof head);
    if (rc == 0 && le64_at(head) > left - FRAME_BYTES)
        rc = ERR_FORMAT;
    *bytes = rc == 0 ? le64_at(head) + FRAME_BYTES : 0;
    return rc == ERR_FORMAT ? err_set(rc, "%s: the record at byte %" PRIu64 " is cut off",
                                      file_show(shown, sizeof shown, x->file.path), x->at)
                            : rc;
}

static int compare_record(struct index *x, bool *there)
{
    char shown[NAME_BYTES], of[NAME_BYTES];
    uint64_t offset = 0, length = 0, bytes = 0;
    const bool more = x->at < x->file.bytes;
    int rc = read_line(x, &offset, &length, there);
    if (rc != 0 || (!*there && !more))
        return rc;
    file_show(shown, sizeof shown, x->path);
    file_show(of, sizeof of, x->file.path);
    if (*there != more)
        return err_set(ERR_MISMATCH, "%s has %s than the %" PRIu64 " %s of %s", shown,
                       more ? "no more entries" : "more entries", x->n,
                       more ? "first records" : "records", of);
    if ((rc = measure_record(x, &bytes)) == 0 && (offset != x->at || length != bytes))
        rc = err_set(ERR_MISMATCH,
                     "%s: line %" PRIu64 " says offset %" PRIu64 " and length %" PRIu64
                     ", the record is at %" PRIu64 " and has %" PRIu64 " bytes",
                     shown, x->n + 1, offset, length, x->at, bytes);
    x->at += bytes;
    x->n++;
    return rc;
}

int check_index(uint64_t *n, const char *path, const struct progress *p)
{
    struct index x = {.file.fd = -1};
    char *name;
    bool there = true;
    *n = 0;
    int rc = tfrecord_find_index(&name, path);
    if (rc != 0 || name == NULL)
        return rc;
    x.path = name;
    rc = open_lines(&x);
    if (rc == 0)
        rc = file_open(&x.file, path);
    while (rc == 0 && there) {
        rc = compare_record(&x, &there);
        if (rc == 0 && x.n % REPORT_EVERY == 0)
            rc = progress_step(p, "checking the index", x.at, x.file.bytes);
    }
    *n = x.n;
    if (x.lines != NULL)
        fclose(x.lines);
    file_close(&x.file);
    mem_free(name);
    return rc;
}
