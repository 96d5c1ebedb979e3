/* A model file of llm.c of any bytes: refused with a sentence, or read to its end. */
#include "model/base/err.h"
#include "tests/lib/scratch.h"
#include "weights/llmc/source_llmc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source s;
    struct file file;
    _Alignas(float) char part[4096];
    err_clear();
    if (file_open(&file, scratch_file("model.bin", data, size)) != 0)
        abort();
    if (source_open_llmc(&s, file, NULL) != 0) {
        if (err_text()[0] == '\0')
            abort();
        return 0;
    }
    for (int i = 0; i < s.table.n_tensors; i++) {
        const struct tensor_reader *r = &s.readers[i];
        const uint64_t n = (uint64_t)s.table.tensors[i].rows * (uint64_t)s.table.tensors[i].cols;
        const size_t fit = sizeof part / dtype_bytes(r->dtype), count = n < fit ? (size_t)n : fit;
        /* The header was checked against the file's size. */
        if (r->read(r->user, part, 0, count) != 0 || r->read(r->user, part, n - count, count) != 0)
            abort();
    }
    source_close(&s);
    return 0;
}
