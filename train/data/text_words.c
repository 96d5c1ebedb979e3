#include "train/data/text_words.h"

#include "model/base/err.h"
#include "train/data/markup.h"
#include "train/data/text_reader.h"

static int check_kinds(const struct data_sources *s, uint64_t *total_bytes)
{
    char shown[256];
    int rc = 0;
    for (size_t i = 0; i < s->n && rc == 0; i++) {
        const struct data_source *source = &s->list[i];
        struct file f;
        if (source->kind != DATA_TEXT && source->kind != DATA_JSON_LINES)
            rc = err_set(ERR_FORMAT, "%s has tokens; a tokenizer is trained on text",
                         file_show(shown, sizeof shown, source->path));
        else if ((rc = file_open(&f, source->path)) == 0) {
            *total_bytes += f.bytes;
            file_close(&f);
        }
    }
    return rc;
}

int text_words_read(struct bpe_words *w, const char *paths, const struct progress *p)
{
    struct data_sources sources;
    struct text_reader reader;
    struct buf chunk = {0};
    uint64_t total = 0;
    size_t source = 0;
    bool ends;
    int rc = data_sources_find(&sources, paths);
    if (rc != 0)
        return rc;
    left_out_note(&sources.left_out, p);
    markup_note(&sources, false, p);
    /* Without a separator of the reader's: bpe_words_add takes <|endoftext|> alone out,
     * where the reader would take line breaks beside it too. */
    text_reader_init(&reader, sources.list, sources.n, "");
    rc = check_kinds(&sources, &total);
    while (rc == 0 && (rc = text_reader_next(&reader, &chunk, &ends, &source)) == 0 &&
           source < sources.n)
        if ((rc = progress_step(p, "reading", text_reader_bytes(&reader), total)) == 0)
            rc = bpe_words_add(w, buf_text(&chunk), chunk.n);
    text_reader_release(&reader);
    data_sources_release(&sources);
    buf_release(&chunk);
    return rc;
}
