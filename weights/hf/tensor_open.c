#include "weights/hf/tensor_open.h"

#include "weights/hf/safetensors.h"
#include "weights/tensors/sniff.h"
#include "weights/torch/pickle_stream.h"
#include "weights/torch/torch.h"

#include <string.h>

static int sniff_torch(bool *torch, const struct file *f)
{
    char first[32] = {0};
    const size_t n = f->bytes < sizeof first ? (size_t)f->bytes : sizeof first;
    int rc = sniff_refuse(f);
    if (rc == 0)
        rc = file_read_at(f, first, 0, n);
    *torch = text_ends_in(f->path, ".bin") || text_ends_in(f->path, ".pt") ||
             text_ends_in(f->path, ".pth") || memcmp(first, "PK", 2) == 0 ||
             pickle_is_stream(first, n);
    return rc == 0 ? 0 : file_wrap(f->path);
}

int tensor_file_open_file(struct tensor_file *f, struct file file)
{
    bool torch;
    int rc = sniff_torch(&torch, &file);
    if (rc == 0)
        return torch ? torch_open_file(f, file) : safetensors_open_file(f, file);
    file_close(&file);
    *f = (struct tensor_file){.file.fd = -1};
    return rc;
}
