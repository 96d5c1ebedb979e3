#include "train/data/megatron.h"

#include "model/base/err.h"
#include "model/base/little_endian.h"
#include "model/base/mem.h"

#include <inttypes.h>
#include <string.h>

/*
 * The index: magic[9], u64 version, u8 type, u64 sequences, u64 document bounds,
 * i32 size[sequences], i64 byte[sequences], i64 document[bounds].
 */
static const char magic[9] = "MMIDIDX";
enum {
    HEAD_BYTES = 34,
    VERSION_AT = 9,
    TYPE_AT = 17,
    SEQUENCES_AT = 18,
    BOUNDS_AT = 26,
    READ_AT_ONCE = 4096,
    NAME_BYTES = 200
};

/* Of type codes 1 to 8; 0: not whole numbers. */
static const signed char widths[] = {0, 1, -1, -2, -4, -8, 0, 0, 2};

struct index {
    struct file file;
    char name[NAME_BYTES]; /* for sentences */
    uint64_t n_sequences, n_bounds;
    uint64_t *starts; /* [n_sequences + 1], in ids; owned */
};

char *megatron_path(const char *path, const char *ending)
{
    size_t n = strlen(path);
    if (n > 4 && (strcmp(path + n - 4, ".bin") == 0 || strcmp(path + n - 4, ".idx") == 0))
        n -= 4;
    return mem_sprintf("%.*s%s", (int)n, path, ending);
}

static int read_header(struct index *x, struct megatron *f)
{
    unsigned char head[HEAD_BYTES];
    if (x->file.bytes < sizeof head)
        return err_set(ERR_FORMAT, "%s has %" PRIu64 " bytes, expected at least %zu: not an index",
                       x->name, x->file.bytes, sizeof head);
    int rc = file_read_at(&x->file, head, 0, sizeof head);
    if (rc != 0)
        return rc;
    uint64_t version = le64_at(head + VERSION_AT);
    if (memcmp(head, magic, sizeof magic) != 0)
        return err_set(ERR_FORMAT, "%s does not begin with MMIDIDX: not a Megatron index", x->name);
    if (version != 1)
        return err_set(ERR_UNSUPPORTED, "%s is of version %" PRIu64 ", expected 1", x->name,
                       version);
    int type = head[TYPE_AT];
    f->width = type < (int)sizeof widths ? widths[type] : 0;
    if (f->width == 0)
        return err_set(ERR_FORMAT, "%s: type %d is not an integer type, expected 1 to 5 or 8",
                       x->name, type);
    x->n_sequences = le64_at(head + SEQUENCES_AT);
    x->n_bounds = le64_at(head + BOUNDS_AT);
    /* Compared by parts: the sum of products may not fit. */
    uint64_t room = x->file.bytes - HEAD_BYTES;
    if (x->n_sequences > room / 12 || x->n_bounds > (room - 12 * x->n_sequences) / 8 ||
        room != 12 * x->n_sequences + 8 * x->n_bounds)
        return err_set(ERR_FORMAT,
                       "%s has %" PRIu64 " bytes, which does not fit its %" PRIu64
                       " sequences and %" PRIu64 " document bounds: truncated or damaged",
                       x->name, x->file.bytes, x->n_sequences, x->n_bounds);
    return 0;
}

/* Sizes add up to where each sequence begins, and the stored places say the same. */
static int read_sequences(struct index *x, uint64_t width)
{
    int32_t sizes[READ_AT_ONCE];
    uint64_t at[READ_AT_ONCE];
    x->starts = mem_array(x->n_sequences + 1, sizeof *x->starts);
    int rc = x->starts == NULL ? ERR_NOMEM : 0;
    for (uint64_t i = 0; i < x->n_sequences && rc == 0; i += READ_AT_ONCE) {
        uint64_t left = x->n_sequences - i;
        size_t n = left < READ_AT_ONCE ? (size_t)left : READ_AT_ONCE;
        rc = file_read_at(&x->file, sizes, HEAD_BYTES + 4 * i, n * sizeof *sizes);
        if (rc == 0)
            rc =
                file_read_at(&x->file, at, HEAD_BYTES + 4 * x->n_sequences + 8 * i, n * sizeof *at);
        for (size_t k = 0; k < n && rc == 0; k++) {
            uint64_t start = x->starts[i + k];
            if (sizes[k] < 0)
                rc = err_set(ERR_FORMAT, "%s: sequence %" PRIu64 " has the length %" PRId32,
                             x->name, i + k, sizes[k]);
            else if (at[k] != start * width)
                rc = err_set(ERR_FORMAT,
                             "%s: sequence %" PRIu64 " is said to begin at byte %" PRIu64
                             ", expected %" PRIu64 " behind those before it",
                             x->name, i + k, at[k], start * width);
            x->starts[i + k + 1] = start + (uint64_t)(sizes[k] < 0 ? 0 : sizes[k]);
        }
    }
    return rc;
}

/* f->documents still has places in the list of sequences. */
static int find_seconds(const struct index *x, struct megatron *f)
{
    if (x->n_sequences <= f->n_documents)
        return 0;
    if ((f->seconds = mem_array(f->n_documents, sizeof *f->seconds)) == NULL)
        return ERR_NOMEM;
    for (uint64_t i = 0; i < f->n_documents; i++) {
        const uint64_t first = f->documents[i], n = f->documents[i + 1] - first;
        const bool cut = n > 1 && x->starts[first + 1] - x->starts[first] < INT32_MAX;
        f->seconds[i] = x->starts[first + cut];
    }
    return 0;
}

/* From places in the list of sequences to places among the ids. */
static int read_documents(struct index *x, struct megatron *f)
{
    uint64_t at = HEAD_BYTES + 12 * x->n_sequences, before = 0;
    if (x->n_bounds < 2)
        return err_set(ERR_FORMAT, "%s has %" PRIu64 " document bounds, expected at least 2",
                       x->name, x->n_bounds);
    f->n_documents = x->n_bounds - 1;
    if ((f->documents = mem_array(x->n_bounds, sizeof *f->documents)) == NULL)
        return ERR_NOMEM;
    int rc = file_read_at(&x->file, f->documents, at, x->n_bounds * sizeof *f->documents);
    for (uint64_t i = 0; i < x->n_bounds && rc == 0; i++) {
        uint64_t bound = f->documents[i];
        bool wrong = bound < before || bound > x->n_sequences || (i == 0 && bound != 0) ||
                     (i + 1 == x->n_bounds && bound != x->n_sequences);
        if (wrong)
            return err_set(ERR_FORMAT,
                           "%s: document bound %" PRIu64 " is sequence %" PRIu64
                           ", expected %" PRIu64 " to %" PRIu64,
                           x->name, i, bound, i + 1 == x->n_bounds ? x->n_sequences : before,
                           i == 0 ? 0 : x->n_sequences);
        before = bound;
    }
    if (rc == 0)
        rc = find_seconds(x, f);
    for (uint64_t i = 0; i < x->n_bounds && rc == 0; i++)
        f->documents[i] = x->starts[f->documents[i]];
    return rc;
}

static int open_ids(struct megatron *f, const struct index *x, const char *path)
{
    char shown[NAME_BYTES];
    int rc = file_open(&f->file, path);
    if (rc != 0)
        return rc;
    uint64_t width = (uint64_t)(f->width < 0 ? -f->width : f->width);
    f->n_tokens = x->starts[x->n_sequences];
    if (f->file.bytes != f->n_tokens * width)
        return err_set(
            ERR_FORMAT,
            "%s has %" PRIu64 " bytes, expected %" PRIu64 " for the %" PRIu64 " tokens of its .idx",
            file_show(shown, sizeof shown, path), f->file.bytes, f->n_tokens * width, f->n_tokens);
    return 0;
}

int megatron_open(struct megatron *f, const char *path)
{
    struct index x = {.file.fd = -1};
    char *idx = megatron_path(path, ".idx"), *bin = megatron_path(path, ".bin");
    int rc = idx == NULL || bin == NULL ? ERR_NOMEM : file_open(&x.file, idx);
    if (rc == 0) {
        file_show(x.name, sizeof x.name, idx);
        rc = read_header(&x, f);
    }
    if (rc == 0)
        rc = read_sequences(&x, (uint64_t)(f->width < 0 ? -f->width : f->width));
    if (rc == 0)
        rc = read_documents(&x, f);
    if (rc == 0)
        rc = open_ids(f, &x, bin);
    file_close(&x.file);
    mem_free(x.starts);
    mem_free(idx);
    mem_free(bin);
    return rc;
}
