/* Pickled lists of ids out of any bytes: what is accepted can be read, and is what its bounds say.
 */
#include "model/base/err.h"
#include "tests/lib/need.h"
#include "tests/lib/scratch.h"
#include "train/data/pickle_ids.h"

#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_spool(const struct id_spool *s)
{
    const uint64_t *bounds = (const uint64_t *)(const void *)s->bounds.data;
    token_id id;
    need(bounds[0] == 0 && bounds[s->n_documents] == s->n && s->n_written == s->n);
    for (uint64_t i = 0; i < s->n_documents; i++) {
        need(bounds[i] < bounds[i + 1]);
        need(file_read_at(&s->file, &id, (bounds[i + 1] - 1) * sizeof id, sizeof id) == 0);
        need(s->separator == TOKEN_NONE || id == s->separator);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct file f;
    struct id_spool s;
    (void)pickle_ids_may_be((const char *)data, size);
    for (token_id separator = TOKEN_NONE; separator <= 0; separator++) {
        const int fd = memfd_create("fuzz", MFD_CLOEXEC);
        need(fd >= 0 && file_open(&f, scratch_file("x.pkl", data, size)) == 0);
        err_clear();
        need(id_spool_init(&s, fd, f.path, separator) == 0);
        if (pickle_ids_read(&s, &f, NULL) == 0)
            check_spool(&s);
        else
            need(err_text()[0] != '\0');
        id_spool_release(&s);
        file_close(&f);
        close(fd);
    }
    return 0;
}
