#include "train/prepare/wiki_call.h"

#include <string.h>

const char *wiki_at(const struct wiki_call *c, int i)
{
    return i < c->n ? c->at[i] : "";
}

const char *wiki_named(const struct wiki_call *c, const char *key)
{
    for (int i = 0; i < c->n_named; i++)
        if (strcmp(c->named[i].key, key) == 0)
            return c->named[i].value;
    return "";
}

int wiki_add_number(struct buf *out, const char *digits)
{
    const char *first = digits + (*digits == '-' || *digits == '+');
    const size_t n = strspn(first, "0123456789");
    int rc = 0;
    if (n < 4)
        return buf_str(out, digits);
    rc = buf_add(out, digits, (size_t)(first - digits));
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            rc = buf_char(out, ',');
        if (rc == 0)
            rc = buf_char(out, first[i]);
    }
    return rc == 0 ? buf_str(out, first + n) : rc;
}
