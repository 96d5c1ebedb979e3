/* A line of JSON out of any bytes: what is taken of it without a tree is what jansson reads. */
#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/json_line.h"
#include "tests/lib/need.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf out = {0};
    json_t *value = NULL;
    bool got = false;
    err_clear();
    need(json_line_text(&out, &got, (const char *)data, size, "text") == 0);
    need(got || out.n == 0);
    if (got) {
        need(json_read_line(&value, (const char *)data, size) == 0);
        const json_t *text = json_object_get(value, "text");
        need(json_is_string(text) && json_string_length(text) == out.n);
        need(memcmp(json_string_value(text), buf_text(&out), out.n) == 0);
    }
    json_decref(value);
    buf_release(&out);
    return 0;
}
