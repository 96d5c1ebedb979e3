/* NumPy's .npy out of any bytes: what is accepted lies within the file, and its texts are UTF-8. */
#include "model/base/err.h"
#include "tests/lib/need.h"
#include "tests/lib/scratch.h"
#include "train/data/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct file f;
    struct npy a;
    struct buf text = {0};
    need(file_open(&f, scratch_file("x.npy", data, size)) == 0);
    err_clear();
    if (npy_read(&a, &f) == 0) {
        uint64_t n = a.shape[0] * (a.rank == 2 ? a.shape[1] : 1);
        need(a.offset + n * (uint64_t)a.width == size);
        for (uint64_t i = 0; a.kind == 'U' && i < a.shape[0] && i < 16; i++)
            need(npy_text(&text, &a, &f, i, 0) == 0 || err_text()[0] != '\0');
        need(npy_text(&text, &a, &f, a.shape[0], 0) != 0);
    } else {
        need(err_text()[0] != '\0');
    }
    buf_release(&text);
    file_close(&f);
    return 0;
}
