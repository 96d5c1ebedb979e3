#include "train/run/tfevents.h"

#include "model/base/buf.h"
#include "model/base/crc32c.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

struct tfevents {
    char *path;
    struct buf records;      /* not in the file yet */
    struct buf event, value; /* kept from event to event */
};

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

/* Little-endian, as protobuf and TFRecord have it. */
static int add_fixed(struct buf *b, uint64_t bits, int n)
{
    char bytes[8];
    for (int i = 0; i < n; i++)
        bytes[i] = (char)(bits >> 8 * i);
    return buf_add(b, bytes, (size_t)n);
}

static int add_varint(struct buf *b, uint64_t v)
{
    int rc = 0;
    for (; v >= 0x80 && rc == 0; v >>= 7)
        rc = buf_char(b, (char)(v | 0x80));
    return rc == 0 ? buf_char(b, (char)v) : rc;
}

static int add_key(struct buf *b, unsigned field, enum wire wire)
{
    return add_varint(b, field << 3 | wire);
}

static int add_bytes(struct buf *b, unsigned field, const void *bytes, size_t n)
{
    int rc = add_key(b, field, BYTES);
    if (rc == 0)
        rc = add_varint(b, n);
    return rc == 0 ? buf_add(b, bytes, n) : rc;
}

/* Event: wall_time = 1 (double), step = 2 (int64). */
static int begin_event(struct tfevents *t, double wall_s, int64_t step)
{
    uint64_t bits;
    memcpy(&bits, &wall_s, sizeof bits);
    t->event.n = 0;
    int rc = add_key(&t->event, 1, FIXED64);
    if (rc == 0)
        rc = add_fixed(&t->event, bits, 8);
    if (rc == 0 && step != 0)
        rc = add_key(&t->event, 2, VARINT);
    return rc == 0 && step != 0 ? add_varint(&t->event, (uint64_t)step) : rc;
}

/* All of it or nothing: readers of the file stop at half a record. */
static int add_record(struct tfevents *t)
{
    struct buf *b = &t->records;
    const size_t before = b->n;
    int rc = add_fixed(b, t->event.n, 8);
    if (rc == 0)
        rc = add_fixed(b, crc32c_masked(b->data + before, 8), 4);
    if (rc == 0)
        rc = buf_add(b, t->event.data, t->event.n);
    if (rc == 0)
        rc = add_fixed(b, crc32c_masked(t->event.data, t->event.n), 4);
    if (rc != 0)
        b->n = before;
    return rc;
}

/* Event: session_log = 7, in it status = 1: START = 1. */
static int add_start(struct tfevents *t, int64_t step)
{
    int rc = begin_event(t, (double)time(NULL), step);
    if (rc == 0)
        rc = add_bytes(&t->event, 7, "\x08\x01", 2);
    return rc == 0 ? add_record(t) : rc;
}

int tfevents_open(struct tfevents **out, const char *folder, int64_t from)
{
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    struct tfevents *t = mem_alloc(sizeof *t);
    int rc = t == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && (t->path = mem_sprintf("%s/events.out.tfevents.%010lld.%s", folder,
                                          (long long)time(NULL), host)) == NULL)
        rc = ERR_NOMEM;
    if (rc == 0)
        rc = begin_event(t, (double)time(NULL), 0);
    if (rc == 0) /* file_version = 3 */
        rc = add_bytes(&t->event, 3, "brain.Event:2", 13);
    if (rc == 0)
        rc = add_record(t);
    if (rc == 0 && from > 0)
        rc = add_start(t, from + 1);
    if (rc == 0)
        rc = tfevents_flush(t);
    if (rc != 0) {
        tfevents_close(t);
        return rc;
    }
    *out = t;
    return 0;
}

void tfevents_close(struct tfevents *t)
{
    if (t == NULL)
        return;
    mem_free(t->path);
    buf_release(&t->records);
    buf_release(&t->event);
    buf_release(&t->value);
    mem_free(t);
}

int tfevents_scalar(struct tfevents *t, const char *tag, float value, int64_t step, double wall_s)
{
    uint32_t bits;
    struct buf summary = {0};
    memcpy(&bits, &value, sizeof bits);
    t->value.n = 0; /* Summary.Value: tag = 1, simple_value = 2 (float) */
    int rc = add_bytes(&t->value, 1, tag, strlen(tag));
    if (rc == 0)
        rc = add_key(&t->value, 2, FIXED32);
    if (rc == 0)
        rc = add_fixed(&t->value, bits, 4);
    if (rc == 0) /* Summary: value = 1; Event: summary = 5 */
        rc = add_bytes(&summary, 1, t->value.data, t->value.n);
    if (rc == 0)
        rc = begin_event(t, wall_s, step);
    if (rc == 0)
        rc = add_bytes(&t->event, 5, summary.data, summary.n);
    buf_release(&summary);
    return rc == 0 ? add_record(t) : rc;
}

int tfevents_flush(struct tfevents *t)
{
    int rc = file_append(t->path, t->records.data, t->records.n);
    t->records.n = 0;
    return rc;
}
