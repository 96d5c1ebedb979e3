/* hf_config_parse on any bytes: what it accepts is a shape that can be, and is written
 * and read back as itself. */
#include "model/base/err.h"
#include "weights/hf/hf_config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config c, back;
    err_clear();
    if (hf_config_parse(&c, (const char *)data, size) != 0) {
        if (err_text()[0] == '\0')
            abort();
        return 0;
    }
    struct buf text = {0}, again = {0};
    if ((c.head_size == 0 && c.n_embd % c.n_head != 0) ||
        params_bytes(&c, DTYPE_F32) < 4 * config_params(&c) ||
        hf_config_write(&text, &c, DTYPE_F16) != 0 ||
        hf_config_parse(&back, buf_text(&text), text.n) != 0 ||
        hf_config_write(&again, &back, DTYPE_F16) != 0 ||
        strcmp(buf_text(&text), buf_text(&again)) != 0)
        abort();
    buf_release(&text);
    buf_release(&again);
    return 0;
}
