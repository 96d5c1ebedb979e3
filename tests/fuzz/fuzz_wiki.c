/*
 * Wiki text out of any bytes, and dumps of it. The first byte says which: what comes of it has no
 * more bytes than its templates can show, and is the same each time.
 */
#include "model/base/err.h"
#include "tests/lib/need.h"
#include "tests/lib/scratch.h"
#include "train/prepare/kinds.h"
#include "train/prepare/wiki_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_wiki_text(const char *text, size_t n)
{
    struct buf one = {0}, two = {0};
    need(wiki_text(&one, text, n, NULL) == 0);
    need(wiki_text(&two, text, n, NULL) == 0);
    need(one.n == two.n && (one.n == 0 || memcmp(one.data, two.data, one.n) == 0));
    need(one.n <= 64 * n + 64);
    buf_release(&one);
    buf_release(&two);
}

/* All documents of a file of this name; of a dump each has a title and a text. */
static void read_file(const char *name, const uint8_t *data, size_t size)
{
    struct data_source source = {.path = (char *)scratch_file(name, data, size)};
    struct text_reader r;
    struct kinds k;
    struct buf document = {0};
    size_t at = 0;
    bool ends = true;
    int rc = 0;
    text_reader_init(&r, &source, 1, "");
    kinds_use(&k, &r, "text");
    err_clear();
    while (rc == 0 && at == 0)
        if ((rc = text_reader_next(&r, &document, &ends, &at)) == 0 && at == 0) {
            need(document.n > 0 || !ends);
            need(!kinds_is_wiki(&k, &r) || memchr(document.data, '\n', document.n) != NULL);
        }
    need(rc == 0 || err_text()[0] != '\0');
    text_reader_release(&r);
    kinds_release(&k);
    buf_release(&document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    if (data[0] == '<' || data[0] == 'x')
        read_file("x.xml", data + (data[0] == 'x'), size - (data[0] == 'x'));
    else if (data[0] == ',')
        read_file("x.csv", data + 1, size - 1);
    else
        read_wiki_text((const char *)data, size);
    return 0;
}
