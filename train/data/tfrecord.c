#include "train/data/tfrecord.h"

#include "model/base/crc32c.h"
#include "model/base/err.h"
#include "model/base/little_endian.h"
#include "model/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HEAD_BYTES = 12, FOOT_BYTES = 4, NAME_BYTES = 200 };
static const uint64_t RECORD_MOST = (uint64_t)1 << 30;

static const char *const endings[] = {".tfrecord", ".tfrecords", ".tfrec"}, *const index_endings[] =
                                                                                {".index", ".idx"};
enum {
    N_ENDINGS = sizeof endings / sizeof *endings,
    N_INDEX_ENDINGS = sizeof index_endings / sizeof *index_endings
};

/* The bytes of path before the ending of the list that it has; all: it has none. */
static size_t stem_bytes(const char *path, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (text_ends_in(path, list[i]))
            return strlen(path) - strlen(list[i]);
    return strlen(path);
}

bool tfrecord_is_name(const char *name)
{
    return name[stem_bytes(name, endings, N_ENDINGS)] != '\0';
}

char *tfrecord_index_path(const char *path)
{
    return mem_sprintf("%s.index", path);
}

int tfrecord_find_index(char **out, const char *path)
{
    const size_t lengths[] = {strlen(path), stem_bytes(path, endings, N_ENDINGS)};
    for (int i = 0; i < 2 * N_INDEX_ENDINGS; i++) {
        *out = mem_sprintf("%.*s%s", (int)lengths[i % 2], path, index_endings[i / 2]);
        if (*out == NULL)
            return ERR_NOMEM;
        if (file_exists(*out))
            return 0;
        mem_free(*out);
    }
    *out = NULL;
    return 0;
}

bool tfrecord_is_index(const char *path)
{
    const size_t n = stem_bytes(path, index_endings, N_INDEX_ENDINGS);
    bool is = false;
    for (int i = 0; i <= N_ENDINGS && !is && path[n] != '\0'; i++) {
        char *records = mem_sprintf("%.*s%s", (int)n, path, i < N_ENDINGS ? endings[i] : "");
        is = records != NULL && tfrecord_is_name(records) && file_exists(records);
        mem_free(records);
    }
    return is;
}

bool tfrecord_may_be_index(const char *name, const char *head, size_t n)
{
    size_t at = 2;
    if (name[stem_bytes(name, index_endings, N_INDEX_ENDINGS)] == '\0' || n < 3 ||
        memcmp(head, "0 ", 2) != 0)
        return false;
    while (at < n && head[at] >= '0' && head[at] <= '9')
        at++;
    return at > 2 && (at == n || strchr("\r\n", head[at]) != NULL);
}

/* ---- writing ---- */

static size_t varint_bytes(uint64_t v)
{
    size_t n = 1;
    while ((v >>= 7) != 0)
        n++;
    return n;
}

static int add_varint(struct buf *out, uint64_t v)
{
    unsigned char bytes[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        bytes[n++] = (unsigned char)(v | 0x80);
    bytes[n++] = (unsigned char)v;
    return buf_add(out, bytes, n);
}

/* Field 1 of a message, with this many bytes. */
static int add_field_head(struct buf *out, int field, uint64_t bytes)
{
    int rc = add_varint(out, (uint64_t)field << 3 | 2);
    return rc == 0 ? add_varint(out, bytes) : rc;
}

/* Example{1: Features{1: entry{1: "input_ids", 2: Feature{3: Int64List{1: packed}}}}} */
static int add_example(struct buf *out, const token_id *ids, size_t n)
{
    static const char key[] = "input_ids";
    const size_t key_bytes = sizeof key - 1;
    uint64_t packed = 0;
    for (size_t i = 0; i < n; i++)
        packed += varint_bytes((uint64_t)ids[i]);
    const uint64_t list = 1 + varint_bytes(packed) + packed;
    const uint64_t feature = 1 + varint_bytes(list) + list;
    const uint64_t entry = 2 + key_bytes + 1 + varint_bytes(feature) + feature;
    const uint64_t features = 1 + varint_bytes(entry) + entry;
    int rc = add_field_head(out, 1, features);
    if (rc == 0)
        rc = add_field_head(out, 1, entry);
    if (rc == 0)
        rc = add_field_head(out, 1, key_bytes);
    if (rc == 0)
        rc = buf_str(out, key);
    if (rc == 0)
        rc = add_field_head(out, 2, feature);
    if (rc == 0)
        rc = add_field_head(out, 3, list);
    if (rc == 0)
        rc = add_field_head(out, 1, packed);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = add_varint(out, (uint64_t)ids[i]);
    return rc;
}

int tfrecord_write(struct file_writer *file, struct file_writer *index, const token_id *ids,
                   size_t n)
{
    struct buf data = {0};
    unsigned char head[HEAD_BYTES];
    char line[64];
    const uint64_t at = file->at;
    int rc = add_example(&data, ids, n);
    if (rc == 0) {
        const uint64_t bytes = data.n;
        uint32_t sum = 0;
        memcpy(head, &bytes, sizeof bytes);
        sum = crc32c_masked(head, sizeof bytes);
        memcpy(head + 8, &sum, sizeof sum);
        rc = file_write(file, head, sizeof head);
        sum = crc32c_masked(data.data, data.n);
        if (rc == 0 && (rc = file_write(file, data.data, data.n)) == 0)
            rc = file_write(file, &sum, sizeof sum);
    }
    if (rc == 0 && index != NULL) {
        int length = snprintf(line, sizeof line, "%" PRIu64 " %" PRIu64 "\n", at, file->at - at);
        rc = file_write(index, line, (size_t)length);
    }
    buf_release(&data);
    return rc;
}

/* ---- reading ---- */

/* What is left of a message. */
struct message {
    const unsigned char *at, *end;
};

static bool take_varint(struct message *m, uint64_t *v)
{
    *v = 0;
    for (int shift = 0; shift < 64 && m->at < m->end; shift += 7) {
        const unsigned char c = *m->at++;
        *v |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return true;
    }
    return false;
}

/* The next field: its number, its wire type, and its bytes where it has a length. */
static bool take_field(struct message *m, uint64_t *field, int *type, struct message *inner,
                       uint64_t *value)
{
    uint64_t tag, n = 0;
    if (!take_varint(m, &tag))
        return false;
    *field = tag >> 3;
    *type = (int)(tag & 7);
    if (*type == 0)
        return take_varint(m, value);
    if (*type == 2 ? !take_varint(m, &n) : *type != 1 && *type != 5)
        return false;
    n = *type == 1 ? 8 : *type == 5 ? 4 : n;
    if (n > (uint64_t)(m->end - m->at))
        return false;
    *inner = (struct message){m->at, m->at + n};
    m->at += n;
    return true;
}

static int set_wrong(const char *what)
{
    return err_set(ERR_FORMAT, "%s", what);
}

static int add_id(struct ids *out, uint64_t v)
{
    const token_id id = (token_id)v;
    if (v > INT32_MAX)
        return err_set(ERR_FORMAT, "an id is %" PRId64 ", expected 0 to %" PRId32, (int64_t)v,
                       INT32_MAX);
    return ids_add(out, &id, 1);
}

static int parse_list(struct ids *out, struct message list)
{
    struct message packed;
    uint64_t field, v;
    int type, rc = 0;
    while (list.at < list.end && rc == 0) {
        if (!take_field(&list, &field, &type, &packed, &v))
            return set_wrong("its int64_list is damaged");
        if (field == 1 && type == 0)
            rc = add_id(out, v);
        while (field == 1 && type == 2 && packed.at < packed.end && rc == 0)
            rc = take_varint(&packed, &v) ? add_id(out, v) : set_wrong("its int64_list is damaged");
    }
    return rc;
}

/* Where others have their ids; the first of these that is an int64_list counts. */
static const char *const id_names[] = {"input_ids", "text", "tokens", "ids", "inputs", "targets"};
enum { N_ID_NAMES = sizeof id_names / sizeof *id_names, NAMES_SHOWN = 200 };

/* What an Example has. */
struct example {
    struct message list; /* int64_list of id_names[rank] */
    int rank;            /* N_ID_NAMES: none */
    char names[NAMES_SHOWN];
    size_t n; /* bytes of names */
};

/* The list of a feature, and its kind: 1 bytes, 2 float, 3 int64; 0: it is empty. */
static bool take_list(struct message feature, struct message *list, int *kind)
{
    struct message part;
    uint64_t field, v;
    int type;
    *kind = 0;
    while (feature.at < feature.end) {
        if (!take_field(&feature, &field, &type, &part, &v))
            return false;
        if (type == 2 && field >= 1 && field <= 3) {
            *list = part;
            *kind = (int)field;
        }
    }
    return true;
}

static void note_name(struct example *e, struct message name, int kind)
{
    static const char *const kinds[] = {"empty", "bytes", "float", "int64"};
    char shown[64];
    snprintf(shown, sizeof shown, "%.*s", (int)(name.end - name.at < 40 ? name.end - name.at : 40),
             (const char *)name.at);
    if (e->n < sizeof e->names - 1)
        e->n += (size_t)snprintf(e->names + e->n, sizeof e->names - e->n, "%s%s (%s)",
                                 e->n > 0 ? ", " : "", file_quote(shown), kinds[kind]);
}

/* An entry of the map. */
static int look_at_entry(struct example *e, struct message entry)
{
    struct message part, name = {(const unsigned char *)"", (const unsigned char *)""}, value = {0};
    struct message list = {0};
    uint64_t field, v;
    int type, kind = 0;
    while (entry.at < entry.end) {
        if (!take_field(&entry, &field, &type, &part, &v))
            return set_wrong("one of its features is damaged");
        if (type == 2 && field == 1)
            name = part;
        if (type == 2 && field == 2)
            value = part;
    }
    if (value.at != NULL && !take_list(value, &list, &kind))
        return set_wrong("one of its features is damaged");
    note_name(e, name, kind);
    for (int i = 0; i < e->rank && kind == 3; i++)
        if ((size_t)(name.end - name.at) == strlen(id_names[i]) &&
            memcmp(name.at, id_names[i], strlen(id_names[i])) == 0) {
            e->rank = i;
            e->list = list;
        }
    return 0;
}

static int look_at_features(struct example *e, struct message features)
{
    struct message entry;
    uint64_t field, v;
    int type, rc = 0;
    while (features.at < features.end && rc == 0) {
        if (!take_field(&features, &field, &type, &entry, &v))
            return set_wrong("its features are damaged");
        if (type == 2 && field == 1)
            rc = look_at_entry(e, entry);
    }
    return rc;
}

int tfrecord_parse(struct ids *out, const unsigned char *bytes, size_t n)
{
    struct message message = {bytes, bytes + n}, features;
    struct example e = {.rank = N_ID_NAMES};
    uint64_t field, v;
    int type, rc = 0;
    while (message.at < message.end && rc == 0) {
        if (!take_field(&message, &field, &type, &features, &v))
            return set_wrong("it is not a tf.train.Example");
        if (type == 2 && field == 1)
            rc = look_at_features(&e, features);
    }
    if (rc == 0 && e.rank == N_ID_NAMES)
        rc = err_set(ERR_FORMAT,
                     e.n == 0 ? "it has no features"
                              : "it has no ids: expected int64 in input_ids, text or tokens; its "
                                "features are %s",
                     e.names);
    return rc == 0 ? parse_list(out, e.list) : rc;
}

static int set_record_error(const struct file *f, uint64_t at, const char *what)
{
    char shown[NAME_BYTES];
    return err_set(ERR_FORMAT, "%s: the record at byte %" PRIu64 " %s",
                   file_show(shown, sizeof shown, f->path), at, what);
}

int tfrecord_read(struct ids *out, struct buf *scratch, const struct file *f, uint64_t *offset)
{
    unsigned char head[HEAD_BYTES];
    char shown[NAME_BYTES];
    const uint64_t at = *offset, left = f->bytes - at;
    out->n = scratch->n = 0;
    if (left < HEAD_BYTES)
        return set_record_error(f, at, "is cut off: the file is truncated");
    int rc = file_read_at(f, head, at, sizeof head);
    if (rc != 0)
        return rc;
    if (le32_at(head + 8) != crc32c_masked(head, 8))
        return set_record_error(f, at, "has a length whose checksum is wrong");
    const uint64_t n = le64_at(head);
    if (n > RECORD_MOST || n > left - HEAD_BYTES || left - HEAD_BYTES - n < FOOT_BYTES)
        return set_record_error(f, at, "is longer than what is left of the file");
    if ((rc = buf_reserve(scratch, n + FOOT_BYTES)) != 0 ||
        (rc = file_read_at(f, scratch->data, at + HEAD_BYTES, n + FOOT_BYTES)) != 0)
        return rc;
    if (le32_at(scratch->data + n) != crc32c_masked(scratch->data, n))
        return set_record_error(f, at, "has data whose checksum is wrong");
    *offset = at + HEAD_BYTES + n + FOOT_BYTES;
    rc = tfrecord_parse(out, (const unsigned char *)scratch->data, n);
    return rc == ERR_FORMAT ? err_wrap("%s: the record at byte %" PRIu64 "",
                                       file_show(shown, sizeof shown, f->path), at)
                            : rc;
}
