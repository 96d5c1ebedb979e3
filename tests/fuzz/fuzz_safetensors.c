/* safetensors_open_file on any bytes: an answer or a sentence, and what it answers lies in
 * the file. */
#include "model/base/err.h"
#include "weights/hf/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[64], bytes[1 << 16];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("safetensors", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    struct tensor_file f;
    err_clear();
    if (tensor_file_open_as(&f, path, safetensors_open_file) != 0) {
        if (err_text()[0] == '\0')
            abort();
        return 0;
    }
    uint64_t total = 0;
    for (int i = 0; i < f.n; i++) {
        const struct tensor_entry *e = &f.entries[i];
        char shape[32];
        tensor_shape_text(shape, sizeof shape, e);
        if (tensor_file_find(&f, e->name) != e || e->offset > size || e->bytes > size - e->offset)
            abort();
        size_t n = e->bytes < sizeof bytes ? (size_t)e->bytes : sizeof bytes;
        if (file_read_at(&f.file, bytes, e->offset, n) != 0)
            abort();
        total += e->bytes;
    }
    if (total > size)
        abort();
    tensor_file_close(&f);
    return 0;
}
