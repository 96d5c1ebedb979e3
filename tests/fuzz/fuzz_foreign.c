/* A trainer's checkpoint of any bytes, alone and beside a vocabulary of the same bytes: refused
 * with a sentence, or read to its end. */
#include "model/base/err.h"
#include "tests/lib/scratch.h"
#include "weights/foreign/meta_vocab.h"
#include "weights/foreign/source_foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_everything(const struct source *s)
{
    _Alignas(float) char part[4096];
    for (int i = 0; i < s->table.n_tensors; i++) {
        const struct tensor_reader *r = &s->readers[i];
        const uint64_t n = (uint64_t)s->table.tensors[i].rows * (uint64_t)s->table.tensors[i].cols;
        const size_t fit = sizeof part / sizeof(float), count = n < fit ? (size_t)n : fit;
        /* Shapes and places were checked against the file. */
        if (r->read(r->user, part, 0, count) != 0 || r->read(r->user, part, n - count, count) != 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source s;
    struct tokenizer *t = NULL;
    struct config c;
    struct file file;
    err_clear();
    const char *path = scratch_file("ckpt.pt", data, size);
    if (file_open(&file, path) != 0)
        abort();
    if (source_open_foreign(&s, &file, path, NULL) == 0) {
        read_everything(&s);
        source_close(&s);
    } else if (err_text()[0] == '\0') {
        abort();
    }
    file_close(&file);
    config_init(&c);
    const struct scratch *folder = scratch_of_process();
    scratch_write(folder, "meta.pkl", data, size);
    if (meta_vocab_open(&t, folder->folder, &c, NULL) == 0)
        tokenizer_free(t);
    remove(scratch_path(folder, "meta.pkl"));
    return 0;
}
