/* A trainer's checkpoint of any bytes, alone and beside a vocabulary of the same bytes; and a small
 * checkpoint of Languini beside a config.pickle of them: refused with a sentence, or read to its
 * end. */
#include "model/base/buf.h"
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

static void read_checkpoint(const char *path)
{
    struct source s;
    struct file file;
    err_clear();
    if (file_open(&file, path) != 0)
        abort();
    if (source_open_foreign(&s, &file, path, NULL) == 0) {
        read_everything(&s);
        source_close(&s);
    } else if (err_text()[0] == '\0') {
        abort();
    }
    file_close(&file);
}

/* Languini's, which has no shape of its own. */
static const char *write_languini(void)
{
    struct buf model = {0};
    const struct scratch *folder = scratch_of_process();
    if (file_read_all(&model, "tests/golden/foreign/languini-few/checkpoints/model.pt", 1 << 24) !=
            0 ||
        file_make_folder(scratch_path(folder, "languini")) != 0)
        abort();
    scratch_write(folder, "languini/model.pt", model.data, model.n);
    buf_release(&model);
    return scratch_path(folder, "languini/model.pt");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char languini[PATH_MAX];
    struct tokenizer *t = NULL;
    struct config c;
    const struct scratch *folder = scratch_of_process();
    read_checkpoint(scratch_file("ckpt.pt", data, size));
    if (languini[0] == '\0')
        snprintf(languini, sizeof languini, "%s", write_languini());
    scratch_write(folder, "languini/config.pickle", data, size);
    read_checkpoint(languini);
    config_init(&c);
    scratch_write(folder, "meta.pkl", data, size);
    if (meta_vocab_open(&t, folder->folder, &c, NULL) == 0)
        tokenizer_free(t);
    remove(scratch_path(folder, "meta.pkl"));
    return 0;
}
