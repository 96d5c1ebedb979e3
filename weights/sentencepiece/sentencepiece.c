#include "weights/sentencepiece/sentencepiece.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/part.h"
#include "weights/sentencepiece/face.h"

#include <stdio.h>
#include <string.h>

enum { WHY_BYTES = 200 };

const char *const sentencepiece_names[] = {"tokenizer.model", "spiece.model", NULL};

/* A message that begins with its first piece. */
bool sentencepiece_is_file(const char *path, const char *head, size_t n)
{
    return n > 0 && head[0] == '\n' && text_ends_in(path, ".model");
}

/* ---- the part with the library ---- */

static const struct part library_part = {.what = "a SentencePiece model",
                                         .verb = "needs",
                                         .name = "sentencepiece",
                                         .library = "libsentencepiece",
                                         .build = "g++ libsentencepiece-dev",
                                         .run = "libsentencepiece0",
                                         .entry = SENTENCEPIECE_ENTRY};

/* Once a process. */
static int find_face(const struct sentencepiece_face **out)
{
    static const struct sentencepiece_face *found;
    const struct sentencepiece_face *(*function)(void);
    int rc = found == NULL ? part_open(&library_part, &function) : 0;
    if (found == NULL && rc == 0)
        found = function();
    *out = found;
    return rc;
}

/* ---- a tokenizer of it ---- */

struct open_model {
    const struct sentencepiece_face *face;
    void *model;
};

static void close_model(void *user)
{
    struct open_model *m = user;
    m->face->close(m->model);
    mem_free(m);
}

static int take_ids(void *user, const int *ids, size_t n)
{
    return n == 0 ? 0 : ids_add(user, ids, n);
}

static int encode_text(void *user, struct ids *out, const char *text, size_t n, enum piece_text as)
{
    const struct open_model *m = user;
    int rc = m->face->encode(m->model, text, n, (int)as, take_ids, out);
    return rc == -1 && err_last() != ERR_NOMEM
               ? err_set(ERR_FORMAT, "libsentencepiece cannot encode the text")
               : rc;
}

/* Texts and bytes of all pieces, one after another; piece i of the list is told where they are. */
static int read_pieces(struct piece *list, struct buf *texts, const struct open_model *m, int n)
{
    int rc = 0;
    for (int i = 0; i < n && rc == 0; i++) {
        const char *bytes = NULL;
        enum sentencepiece_kind kind = SENTENCEPIECE_TEXT;
        const char *text = m->face->piece(m->model, i, &bytes, &list[i].n, &kind);
        if (text == NULL)
            return err_set(ERR_NOMEM, "no memory for the pieces of a SentencePiece model");
        list[i].special = kind == SENTENCEPIECE_SPECIAL;
        if (kind == SENTENCEPIECE_UNUSED)
            list[i].n = 0;
        if ((rc = buf_add(texts, text, strlen(text) + 1)) == 0 && list[i].n > 0)
            rc = buf_add(texts, bytes, list[i].n);
    }
    const char *at = texts->data;
    for (int i = 0; i < n && rc == 0; i++) {
        list[i].text = at;
        list[i].bytes = at + strlen(at) + 1;
        at = list[i].bytes + list[i].n;
    }
    return rc;
}

static int check_size(int n, const struct config *c, const struct progress *p)
{
    if (c == NULL || n == c->n_vocab)
        return 0;
    if (n > c->n_vocab)
        return err_set(ERR_MISMATCH, "it has %d pieces, the model %d tokens", n, c->n_vocab);
    progress_note(p, "the tokenizer has %d tokens, the model %d: ids from %d on have no text", n,
                  c->n_vocab, n);
    return 0;
}

/* m is the tokenizer's from then on. */
static int make_tokenizer(struct tokenizer **out, struct open_model *m, const char *bytes, size_t n,
                          const struct config *c, const struct progress *p)
{
    const int count = m->face->count(m->model), end = m->face->end(m->model);
    struct piece *list = mem_array((size_t)count, sizeof *list);
    struct buf texts = {0};
    int rc = list == NULL ? ERR_NOMEM : check_size(count, c, p);
    if (rc == 0)
        rc = read_pieces(list, &texts, m, count);
    const struct piece_vocab all = {.n_tokens = count,
                                    .list = list,
                                    .eos =
                                        c != NULL && c->eos_token_id >= 0 ? c->eos_token_id : end,
                                    .add_prefix_space = m->face->adds_space(m->model) != 0,
                                    .file = bytes,
                                    .n_file = n,
                                    .encode = encode_text,
                                    .close = close_model,
                                    .user = m};
    if (rc == 0)
        rc = tokenizer_new_pieces(out, &all);
    else
        close_model(m);
    mem_free(list);
    buf_release(&texts);
    return rc;
}

int sentencepiece_open(struct tokenizer **out, const char *bytes, size_t n, const struct config *c,
                       const struct progress *p)
{
    char why[WHY_BYTES], shown[WHY_BYTES];
    const struct sentencepiece_face *face;
    int rc = find_face(&face);
    if (rc != 0)
        return rc;
    struct open_model *m = mem_alloc(sizeof *m);
    if (m == NULL)
        return ERR_NOMEM;
    m->face = face;
    if ((m->model = face->open(bytes, n, why, sizeof why)) == NULL) {
        mem_free(m);
        return err_set(ERR_FORMAT, "libsentencepiece does not take the file: %s",
                       file_show(shown, sizeof shown, why));
    }
    return make_tokenizer(out, m, bytes, n, c, p);
}
