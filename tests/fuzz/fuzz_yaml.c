/* yaml_read_pairs on any bytes, as settings files and as training configurations: it ends,
 * and what it refuses it explains. */
#include "model/base/err.h"
#include "model/base/yaml_pairs.h"
#include "train/data/mixture.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *user, const struct yaml_pair *p)
{
    size_t *bytes = user;
    *bytes += strlen(p->name) + (p->text == NULL ? 0 : strlen(p->text));
    return 0;
}

/* Of mixtures of data, in any list. */
static const struct yaml_item *item_of(const char *section, const char *name)
{
    static const struct yaml_item source = {
        .keys = mixture_keys, .check = mixture_check_value, .write = mixture_write_entry};
    (void)section;
    (void)name;
    return &source;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct yaml_shape shapes[] = {
        {0}, {.sections = true, .lists = true}, {.sections = true, .lists = true, .item = item_of}};
    for (int i = 0; i < 3; i++) {
        size_t bytes = 0;
        err_clear();
        if (yaml_read_pairs("f", (const char *)data, size, shapes[i], take, &bytes) != 0 &&
            strncmp(err_text(), "f line ", 7) != 0)
            abort();
        /* Nothing expands: a comma of a list is escaped at most once. */
        if (bytes > 64 + 4 * size)
            abort();
    }
    return 0;
}
