/*
 * TFRecord files out of any bytes. The first byte says whether the rest is a file or the data of a
 * record; ids that are read can be written, and are read again as they were.
 */
#include "model/base/err.h"
#include "tests/lib/need.h"
#include "tests/lib/scratch.h"
#include "train/data/tfrecord.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_again(const struct ids *ids)
{
    struct file_writer w;
    struct file f;
    struct ids again = {0};
    struct buf scratch = {0};
    uint64_t at = 0;
    const char *path = scratch_path(scratch_of_process(), "again");
    need(file_create(&w, path, true) == 0 && tfrecord_write(&w, NULL, ids->data, ids->n) == 0);
    need(file_commit(&w) == 0 && file_open(&f, path) == 0);
    need(tfrecord_read(&again, &scratch, &f, &at) == 0 && at == f.bytes && again.n == ids->n);
    need(ids->n == 0 || memcmp(again.data, ids->data, ids->n * sizeof *ids->data) == 0);
    file_close(&f);
    ids_release(&again);
    buf_release(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ids ids = {0};
    struct buf scratch = {0};
    struct file f;
    uint64_t at = 0;
    int rc = 0;
    if (size < 1)
        return 0;
    err_clear();
    if (data[0] == 'E') {
        if ((rc = tfrecord_parse(&ids, data + 1, size - 1)) == 0)
            write_again(&ids);
    } else if (file_open(&f, scratch_file("x.tfrecord", data + 1, size - 1)) == 0) {
        while (rc == 0 && at < f.bytes)
            rc = tfrecord_read(&ids, &scratch, &f, &at);
        file_close(&f);
    }
    need(rc == 0 || err_text()[0] != '\0');
    ids_release(&ids);
    buf_release(&scratch);
    return 0;
}
