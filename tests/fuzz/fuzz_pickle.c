/* A torch checkpoint of any bytes: alone as a pickle, and as a whole file, a zip. */
#include "model/base/mem.h"
#include "weights/torch/pickle.h"
#include "weights/torch/torch.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_pickle(const uint8_t *data, size_t size)
{
    struct pickle_tensor *tensors = NULL;
    json_t *about = NULL, *plain = NULL;
    int n = 0;
    if (pickle_read_plain(&plain, (const char *)data, size) == 0 && !json_is_object(plain))
        abort();
    json_decref(plain);
    const int rc = pickle_read(&tensors, &n, &about, (const char *)data, size);
    json_decref(about);
    if (rc != 0)
        return;
    for (int i = 0; i < n; i++)
        if (tensors[i].first + tensors[i].n_elements > tensors[i].storage_elements)
            abort();
    mem_free(tensors);
}

static void read_file(const uint8_t *data, size_t size)
{
    char path[32];
    struct tensor_file f;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, data, size) == (ssize_t)size) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (tensor_file_open_as(&f, path, torch_open_file) == 0) {
            for (int i = 0; i < f.n; i++)
                if (f.entries[i].offset > size || f.entries[i].bytes > size - f.entries[i].offset)
                    abort();
            tensor_file_close(&f);
        }
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_pickle(data, size);
    read_file(data, size);
    return 0;
}
