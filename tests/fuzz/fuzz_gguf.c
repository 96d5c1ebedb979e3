/* A GGUF file of any bytes: opened with and without weights, and everything read that
 * the head promises. */
#include "model/base/mem.h"
#include "tests/lib/gguf_open.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_everything(const struct source *s)
{
    _Alignas(float) char part[4096];
    for (int i = 0; i < s->table.n_tensors; i++) {
        const struct tensor_reader *r = &s->readers[i];
        uint64_t n = (uint64_t)s->table.tensors[i].rows * (uint64_t)s->table.tensors[i].cols;
        size_t fit = sizeof part / dtype_bytes(r->dtype);
        r->read(r->user, part, 0, n < fit ? (size_t)n : fit);
        r->read(r->user, part, n < fit ? 0 : n - fit, n < fit ? (size_t)n : fit);
        if (r->read_q8 == NULL)
            continue;
        n /= Q8_BLOCK;
        fit = sizeof part / sizeof(struct q8_block);
        r->read_q8(r->user, (struct q8_block *)(void *)part, n < fit ? 0 : n - fit,
                   n < fit ? (size_t)n : fit);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[32];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        close(fd);
        return 0;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (int need_weights = 0; need_weights < 2; need_weights++) {
        struct source s;
        if (gguf_open_source(&s, path, need_weights) != 0)
            continue;
        read_everything(&s);
        source_close(&s);
    }
    close(fd);
    return 0;
}
