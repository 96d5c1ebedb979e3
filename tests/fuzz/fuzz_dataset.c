/*
 * Data for training out of any bytes. The first says which reader gets the rest: an index
 * (its length in the next two) with its ids, ids alone, a text, JSON lines, or, packed, a text
 * (P) or lists and records of ids (Q). What is accepted can be read to its end and is what its
 * bounds say.
 */
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "tests/lib/need.h"
#include "tests/lib/scratch.h"
#include "train/data/dataset.h"
#include "train/data/text_reader.h"
#include "train/data/token_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { V = 1000, SEVERAL = 64 };
static const char end[] = "<|endoftext|>";

static void read_ids(const char *path)
{
    struct data_config c;
    struct dataset d, v;
    token_id ids[SEVERAL];
    need(data_config_init(&c) == 0);
    mem_free(c.data);
    need((c.data = mem_strdup(path)) != NULL);
    c.validation_fraction = 0.25;
    err_clear();
    if (dataset_open(&d, &v, &c, NULL, V, NULL) != 0) {
        need(err_text()[0] != '\0' && d.files == NULL && v.files == NULL);
    } else {
        const struct dataset *sides[] = {&d, &v};
        for (int i = 0; i < 2; i++) {
            const struct dataset *s = sides[i];
            for (uint64_t k = 0; k < s->n_documents; k++)
                need(s->documents[k] < s->documents[k + 1]);
            need(s->documents[0] == 0 && s->documents[s->n_documents] == s->n_tokens);
            for (uint64_t at = 0; at < s->n_tokens; at += SEVERAL) {
                uint64_t left = s->n_tokens - at, n = left < SEVERAL ? left : SEVERAL;
                need(dataset_read(s, ids, at, (size_t)n) == 0);
                for (uint64_t k = 0; k < n; k++)
                    need(ids[k] >= 0 && ids[k] < V);
            }
        }
    }
    dataset_close(&d);
    dataset_close(&v);
    data_config_release(&c);
}

/* All documents, pairs of lines by these or NULL; whole: they are the text, byte for byte, where it
 * is taken and is not UTF-16. */
static void read_text(const char *path, enum data_kind kind, bool packed, const char *separator,
                      const struct pairs *pairs, const uint8_t *data, size_t size)
{
    struct data_source source = {.path = (char *)path, .kind = kind, .packed = packed};
    struct text_reader r;
    struct buf piece = {0}, document = {0};
    bool whole = kind == DATA_TEXT && !packed && *separator == '\0', ends = true;
    bool utf16 =
        size >= 2 && (memcmp(data, "\xff\xfe", 2) == 0 || memcmp(data, "\xfe\xff", 2) == 0);
    size_t at = 0, mark = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    text_reader_init(&r, &source, 1, separator);
    r.pairs = pairs;
    int rc = 0;
    err_clear();
    while (rc == 0 && at == 0) {
        rc = text_reader_next(&r, &piece, &ends, &at);
        if (rc != 0 || at != 0)
            continue;
        need(buf_add(&document, piece.data, piece.n) == 0);
        need(text_reader_bytes(&r) <= size);
        if (ends && !whole) {
            need(packed || document.n > 0);
            need(packed || kind != DATA_TEXT ||
                 memmem(document.data, document.n, separator, strlen(separator)) == NULL);
            document.n = 0;
        }
    }
    need(rc == 0 || err_text()[0] != '\0');
    if (whole && rc == 0 && !utf16)
        need(document.n == size - mark &&
             (size == mark || memcmp(document.data, data + mark, size - mark) == 0));
    buf_release(&piece);
    buf_release(&document);
    text_reader_release(&r);
}

static void read_lines(const char *path, const uint8_t *data, size_t size)
{
    static const char *const templates[][2] = {{PAIRS_PROMPT, PAIRS_COMPLETION},
                                               {"{a}:{b}", " {c}"}};
    read_text(path, DATA_JSON_LINES, false, end, NULL, data, size);
    for (int i = 0; i < 2; i++) {
        struct pairs pairs;
        need(pairs_init(&pairs, templates[i][0], templates[i][1]) == 0);
        read_text(path, DATA_JSON_LINES, false, end, &pairs, data, size);
        pairs_release(&pairs);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    size_t index = (size_t)data[1] | (size_t)data[2] << 8;
    const uint8_t *rest = data + 3;
    size -= 3;
    index = index < size ? index : size;
    switch (data[0] == 'P' ? -1 : data[0] == 'Q' ? -2 : data[0] % 4) {
    case -2:
        read_ids(scratch_file("x.pack", rest, size));
        break;
    case -1:
        read_text(scratch_file("x.pack", rest, size), DATA_TEXT, true, end, NULL, rest, size);
        break;
    case 0:
        scratch_file("x.idx", rest, index);
        read_ids(scratch_file("x.bin", rest + index, size - index));
        break;
    case 1:
        unlink(scratch_file("x.idx", rest, 0));
        read_ids(scratch_file("x.bin", rest, size));
        break;
    case 2:
        read_text(scratch_file("x.txt", rest, size), DATA_TEXT, false, "", NULL, rest, size);
        read_text(scratch_file("x.txt", rest, size), DATA_TEXT, false, end, NULL, rest, size);
        break;
    default:
        read_lines(scratch_file("x.jsonl", rest, size), rest, size);
    }
    return 0;
}
