#include "train/data/id_spool.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK_IDS = 1 << 14, NAME_BYTES = 200 };

int id_spool_init(struct id_spool *s, int fd, const char *path, token_id separator)
{
    const uint64_t zero = 0;
    *s = (struct id_spool){.file = {.fd = fd, .path = (char *)path},
                           .tail = -1,
                           .separator = separator,
                           .last = TOKEN_NONE};
    s->block = mem_array(BLOCK_IDS, sizeof *s->block);
    return s->block == NULL ? ERR_NOMEM : buf_add(&s->bounds, &zero, sizeof zero);
}

void id_spool_release(struct id_spool *s)
{
    mem_free(s->block);
    buf_release(&s->lists);
    buf_release(&s->bounds);
    *s = (struct id_spool){.tail = -1};
}

static int write_block(struct id_spool *s)
{
    const size_t n = (size_t)(s->n - s->n_written);
    if (n == 0)
        return 0;
    if (lseek(s->file.fd, (off_t)(s->n_written * sizeof(token_id)), SEEK_SET) < 0)
        return err_errno("cannot write a temporary file");
    int rc = file_write_fd(s->file.fd, s->block, n * sizeof(token_id));
    if (rc == 0)
        s->n_written = s->n;
    return rc;
}

static int add_id(struct id_spool *s, token_id id)
{
    int rc = s->n - s->n_written == BLOCK_IDS ? write_block(s) : 0;
    if (rc == 0)
        s->block[s->n++ - s->n_written] = s->last = id;
    return rc;
}

/* What the last list is it remains, and its separator follows. */
static int complete_tail(struct id_spool *s)
{
    if (s->tail < 0)
        return 0;
    struct id_list *l = id_list_at(s, s->tail);
    int rc = 0;
    if (s->separator != TOKEN_NONE && s->last != s->separator &&
        (rc = add_id(s, s->separator)) == 0)
        l->n++;
    l->complete = true;
    s->tail = -1;
    return rc;
}

int id_spool_begin(struct id_spool *s, int64_t *out, enum id_list_kind kind)
{
    const struct id_list new = {.kind = kind};
    *out = (int64_t)(s->lists.n / sizeof new);
    return buf_add(&s->lists, &new, sizeof new);
}

int id_spool_add(struct id_spool *s, int64_t list, int64_t id)
{
    char shown[NAME_BYTES];
    int rc = s->tail == list ? 0 : complete_tail(s);
    struct id_list *l = id_list_at(s, list);
    if (rc != 0)
        return rc;
    if (id < 0 || id > INT32_MAX)
        return err_set(ERR_RANGE, "%s: an id is %" PRId64 ", expected 0 to %" PRId32,
                       file_show(shown, sizeof shown, s->file.path), id, INT32_MAX);
    if (s->tail != list && (l->kind != ID_LIST_EMPTY || l->complete))
        return err_set(ERR_UNSUPPORTED, "%s: a list goes on after another one has begun",
                       file_show(shown, sizeof shown, s->file.path));
    if (s->tail != list) {
        l->kind = ID_LIST_IDS;
        l->first = s->n;
        s->tail = list;
    }
    l->n++;
    return add_id(s, (token_id)id);
}

/* n ids from `first` on, wherever they are. */
static int read_ids(struct id_spool *s, token_id *out, uint64_t first, size_t n)
{
    if (first >= s->n_written) {
        memcpy(out, s->block + (first - s->n_written), n * sizeof *out);
        return 0;
    }
    int rc = write_block(s);
    return rc == 0 ? file_read_at(&s->file, out, first * sizeof *out, n * sizeof *out) : rc;
}

int id_spool_read(struct id_spool *s, int64_t list, token_id *out, size_t n)
{
    return read_ids(s, out, id_list_at(s, list)->first, n);
}

int id_spool_drop(struct id_spool *s, int64_t list)
{
    char shown[NAME_BYTES];
    if (s->tail != list || (uint64_t)list + 1 != s->lists.n / sizeof(struct id_list))
        return err_set(ERR_FORMAT, "%s: an array's shape is not where it is needed",
                       file_show(shown, sizeof shown, s->file.path));
    s->n = id_list_at(s, list)->first;
    s->n_written = s->n_written < s->n ? s->n_written : s->n;
    s->lists.n -= sizeof(struct id_list);
    s->tail = -1;
    return 0;
}

int id_spool_copy(struct id_spool *s, int64_t *out, int64_t list)
{
    token_id ids[256];
    int rc = complete_tail(s);
    if (rc == 0)
        rc = id_spool_begin(s, out, ID_LIST_EMPTY);
    if (rc != 0)
        return rc;
    const struct id_list from = *id_list_at(s, list);
    for (uint64_t done = 0; done < from.n && rc == 0;) {
        const size_t left = (size_t)(from.n - done), n = left < 256 ? left : 256;
        rc = read_ids(s, ids, from.first + done, n);
        for (size_t i = 0; i < n && rc == 0; i++)
            rc = id_spool_add(s, *out, ids[i]);
        done += n;
    }
    return rc == 0 ? complete_tail(s) : rc;
}

int id_spool_take(struct id_spool *s, int64_t list)
{
    char shown[NAME_BYTES];
    int rc = s->tail == list ? complete_tail(s) : 0;
    const struct id_list *l = id_list_at(s, list);
    if (rc != 0 || l->n == 0)
        return rc;
    if (l->first != s->end)
        return err_set(ERR_UNSUPPORTED, "%s: its lists are not in the order of their ids",
                       file_show(shown, sizeof shown, s->file.path));
    s->end += l->n;
    s->n_documents++;
    return buf_add(&s->bounds, &s->end, sizeof s->end);
}

int id_spool_end(struct id_spool *s)
{
    char shown[NAME_BYTES];
    if (s->n != s->end)
        return err_set(ERR_FORMAT, "%s: %" PRIu64 " ids are in none of its lists",
                       file_show(shown, sizeof shown, s->file.path), s->n - s->end);
    return write_block(s);
}
