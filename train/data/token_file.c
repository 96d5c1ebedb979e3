#include "train/data/token_file.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/rng.h"
#include "model/base/sha256.h"
#include "model/gpt2_vocab.h"
#include "train/data/megatron.h"
#include "train/data/npy.h"
#include "train/data/source.h"
#include "train/data/token_copy.h"
#include "train/data/working_file.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum {
    NAME_BYTES = 200, /* of a path in a sentence */
    READ_BYTES = 16384,
    CHECK_IDS = 1 << 16,
    CHECK_PLACES = 1024, /* of a file too big to be read whole */
    RUN_IDS = 8,         /* generated ids that count up */
    GENERATED_DOCUMENT = 1024,
    LLMC_HEADER_BYTES = 1024
};

static int set_file_error(int code, const char *path, const char *what)
{
    char shown[NAME_BYTES];
    return err_set(code, "%s %s", file_show(shown, sizeof shown, path), what);
}

/* What sentences call it. */
static const char *file_name(const struct token_file *f)
{
    return f->format == TOKENS_GENERATED ? "generated" : f->file.path;
}

/* One document, until a check knows better. */
static int set_one_document(struct token_file *f)
{
    if ((f->documents = mem_array(2, sizeof *f->documents)) == NULL)
        return ERR_NOMEM;
    f->n_documents = 1;
    f->documents[1] = f->n_tokens;
    return 0;
}

static int open_nanogpt(struct token_file *f, const char *path)
{
    char shown[NAME_BYTES];
    int rc = file_open(&f->file, path);
    if (rc != 0)
        return rc;
    if (f->file.bytes % 2 != 0)
        return err_set(ERR_FORMAT,
                       "%s has %" PRIu64 " bytes, expected an even number: a .bin file without "
                       "header and .idx has 2 bytes per token",
                       file_show(shown, sizeof shown, path), f->file.bytes);
    f->width = 2;
    f->n_tokens = f->file.bytes / 2;
    return set_one_document(f);
}

static int open_llmc(struct token_file *f, const char *path)
{
    static const struct {
        int32_t magic, version;
        int width;
    } known[] = {{LLMC_GPT2, 1, 2}, {LLMC_LLAMA3, 7, 4}};
    char shown[NAME_BYTES];
    int32_t head[3];
    int rc = file_open(&f->file, path);
    if (rc == 0)
        rc = file_read_at(&f->file, head, 0, sizeof head);
    if (rc != 0)
        return rc;
    size_t k = head[0] == known[1].magic ? 1 : 0;
    file_show(shown, sizeof shown, path);
    if (head[0] != known[k].magic)
        return err_set(ERR_FORMAT, "%s begins with %" PRId32 ", expected llm.c's magic %" PRId32,
                       shown, head[0], known[0].magic);
    if (head[1] != known[k].version)
        return err_set(ERR_UNSUPPORTED, "%s is of llm.c's version %" PRId32 ", expected %" PRId32,
                       shown, head[1], known[k].version);
    f->width = known[k].width;
    f->offset = LLMC_HEADER_BYTES;
    f->n_tokens = head[2] < 0 ? 0 : (uint64_t)head[2];
    uint64_t expected = LLMC_HEADER_BYTES + f->n_tokens * (uint64_t)f->width;
    if (head[2] < 0 || f->file.bytes != expected)
        return err_set(ERR_FORMAT,
                       "%s has %" PRIu64 " bytes, expected %" PRIu64 " for a header and %" PRId32
                       " tokens",
                       shown, f->file.bytes, expected, head[2]);
    return set_one_document(f);
}

int token_file_generate(struct token_file *f, uint64_t n, uint64_t seed, int n_vocab)
{
    *f = (struct token_file){
        .format = TOKENS_GENERATED, .file.fd = -1, .seed = seed, .end = TOKEN_NONE};
    f->n_tokens = n;
    f->n_vocab = n_vocab;
    if (n_vocab < 1)
        return err_set(ERR_MISSING, "data=generated needs a model for its vocabulary: load one");
    if (n < 1 || n > GENERATED_MOST)
        return err_set(ERR_RANGE, "generated_tokens must be 1 to %" PRIu64 ", not %" PRIu64,
                       GENERATED_MOST, n);
    f->n_documents = (n - 1) / GENERATED_DOCUMENT + 1;
    f->documents = mem_array(f->n_documents + 1, sizeof *f->documents);
    if (f->documents == NULL)
        return ERR_NOMEM;
    for (uint64_t i = 0; i < f->n_documents; i++)
        f->documents[i] = i * GENERATED_DOCUMENT;
    f->documents[f->n_documents] = n;
    return 0;
}

static int open_megatron(struct token_file *f, const char *path)
{
    struct megatron m = {.file.fd = -1};
    int rc = megatron_open(&m, path);
    f->file = m.file;
    f->width = m.width;
    f->n_tokens = m.n_tokens;
    f->n_documents = m.n_documents;
    f->documents = m.documents;
    f->seconds = m.seconds;
    return rc;
}

static int open_npy(struct token_file *f, const char *path)
{
    struct npy a;
    int rc = file_open(&f->file, path);
    if (rc == 0)
        rc = npy_read(&a, &f->file);
    if (rc != 0)
        return rc;
    if (a.rank != 1 || a.kind == 'U')
        return set_file_error(ERR_UNSUPPORTED, path,
                              "is not a one-dimensional array of whole numbers");
    f->width = a.kind == 'i' ? -a.width : a.width;
    f->offset = a.offset;
    f->n_tokens = a.shape[0];
    return set_one_document(f);
}

static int open_copy(struct token_file *f, const char *path, token_id separator,
                     const struct progress *p)
{
    char *folder = working_folder(p);
    struct token_copy copy = {.fd = -1};
    int rc = folder == NULL ? err_last() : 0;
    if (rc == 0)
        rc = file_open(&f->file, path);
    if (rc == 0)
        rc = f->format == TOKENS_PICKLE ? token_copy_lists(&copy, &f->file, folder, separator, p)
                                        : token_copy_records(&copy, &f->file, folder, p);
    if (rc == 0) {
        close(f->file.fd);
        f->file.fd = copy.fd;
        f->file.bytes = copy.n_tokens * sizeof(token_id);
        f->n_tokens = copy.n_tokens;
        f->n_documents = copy.n_documents;
        f->documents = copy.documents;
    }
    f->width = -(int)sizeof(token_id);
    mem_free(folder);
    return rc;
}

int token_file_open(struct token_file *f, enum token_format format, const char *path,
                    token_id separator, const struct progress *p)
{
    *f = (struct token_file){
        .format = format, .file.fd = -1, .end = TOKEN_NONE, .least = 0, .most = TOKEN_NONE};
    int rc = format == TOKENS_MEGATRON  ? open_megatron(f, path)
             : format == TOKENS_NANOGPT ? open_nanogpt(f, path)
             : format == TOKENS_LLMC    ? open_llmc(f, path)
             : format == TOKENS_NPY     ? open_npy(f, path)
                                        : open_copy(f, path, separator, p);
    if (rc == 0 && f->n_tokens == 0)
        rc = set_file_error(ERR_FORMAT, path, "has no tokens");
    if (rc != 0)
        token_file_close(f);
    return rc;
}

void token_file_close(struct token_file *f)
{
    if (f == NULL)
        return;
    file_close(&f->file);
    mem_free(f->documents);
    mem_free(f->seconds);
    *f = (struct token_file){.file.fd = -1};
}

static int64_t read_element(const unsigned char *at, int width)
{
    uint16_t u16;
    int16_t i16;
    uint32_t u32;
    int32_t i32;
    int64_t i64;
    switch (width) {
    case 1:
        return *at;
    case -1:
        return (signed char)*at;
    case 2:
        return memcpy(&u16, at, sizeof u16), u16;
    case -2:
        return memcpy(&i16, at, sizeof i16), i16;
    case 4:
        return memcpy(&u32, at, sizeof u32), u32;
    case -4:
        return memcpy(&i32, at, sizeof i32), i32;
    default:
        return memcpy(&i64, at, sizeof i64), i64;
    }
}

static int refuse_id(const struct token_file *f, uint64_t at, int64_t id, int n_vocab)
{
    char shown[NAME_BYTES];
    file_show(shown, sizeof shown, file_name(f));
    if (n_vocab <= 0)
        return err_set(ERR_RANGE,
                       "%s: token %" PRIu64 " is %" PRId64
                       ", which is not a token ID: expected 0 to "
                       "%" PRId32,
                       shown, at, id, INT32_MAX);
    return err_set(ERR_RANGE,
                   "%s: token %" PRIu64 " is %" PRId64 ", expected 0 to %d with this "
                   "vocabulary; was it made with another tokenizer?",
                   shown, at, id, n_vocab - 1);
}

static void generate_ids(const struct token_file *f, token_id *out, uint64_t first, size_t n)
{
    uint32_t words[4] = {0};
    uint64_t made = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        uint64_t run = (first + i) / RUN_IDS;
        if (run != made)
            rng_words(words, f->seed, 0, made = run);
        uint64_t start = (uint64_t)words[0] << 32 | words[1];
        out[i] = (token_id)((start % (unsigned)f->n_vocab + (first + i) % RUN_IDS) %
                            (unsigned)f->n_vocab);
    }
}

int token_file_read(const struct token_file *f, token_id *out, uint64_t first, size_t n,
                    int n_vocab)
{
    if (f->format == TOKENS_GENERATED) {
        generate_ids(f, out, first, n);
        return 0;
    }
    unsigned char raw[READ_BYTES];
    size_t bytes = (size_t)(f->width < 0 ? -f->width : f->width);
    int64_t limit = n_vocab > 0 ? n_vocab : (int64_t)INT32_MAX + 1;
    for (size_t done = 0; done < n;) {
        size_t part = n - done < sizeof raw / bytes ? n - done : sizeof raw / bytes;
        uint64_t at = first + done;
        int rc = file_read_at(&f->file, raw, f->offset + at * bytes, part * bytes);
        if (rc != 0)
            return rc;
        for (size_t i = 0; i < part; i++) {
            int64_t id = read_element(raw + i * bytes, f->width);
            if (id < 0 || id >= limit)
                return refuse_id(f, at + i, id, n_vocab);
            out[done + i] = (token_id)id;
        }
        done += part;
    }
    return 0;
}

/* Documents end behind each eos among n ids at `at`, or begin with it; room grows by doubling. */
static int find_documents(struct token_file *f, uint64_t *cap, const token_id *ids, uint64_t at,
                          size_t n, token_id eos)
{
    const uint64_t behind = f->format == TOKENS_LLMC ? 0 : 1;
    for (size_t i = 0; i < n; i++) {
        const uint64_t next = at + i + behind;
        if (ids[i] != eos || next == 0 || next == f->n_tokens)
            continue;
        if (f->n_documents + 1 == *cap) {
            uint64_t *more = mem_grow(f->documents, *cap * sizeof *more, 2 * *cap * sizeof *more);
            if (more == NULL)
                return ERR_NOMEM;
            f->documents = more;
            *cap *= 2;
        }
        f->documents[f->n_documents++] = next;
        f->documents[f->n_documents] = f->n_tokens;
    }
    return 0;
}

/* Ids at `at` into the digest, the range and the documents. */
static int digest_ids(struct token_file *f, struct sha256 *hash, token_id *ids, uint64_t at,
                      size_t n, int n_vocab)
{
    int rc = token_file_read(f, ids, at, n, n_vocab);
    if (rc != 0)
        return rc;
    sha256_add(hash, ids, n * sizeof *ids);
    for (size_t i = 0; i < n; i++) {
        f->least = ids[i] < f->least ? ids[i] : f->least;
        f->most = ids[i] > f->most ? ids[i] : f->most;
    }
    return 0;
}

/* The token that separates documents, as far as it is known before the ids are. */
static token_id find_separator(const struct token_file *f, token_id eos)
{
    switch (f->format) {
    case TOKENS_NANOGPT:
    case TOKENS_LLMC:
        return eos == TOKEN_NONE ? GPT2_END_OF_TEXT : eos;
    case TOKENS_NPY:
        return eos;
    default:
        return TOKEN_NONE;
    }
}

static int check_ids(struct token_file *f, struct sha256 *hash, token_id *ids, int n_vocab,
                     const struct progress *p)
{
    uint64_t blocks = (f->n_tokens - 1) / CHECK_IDS + 1, cap = 2;
    uint64_t places = f->whole ? blocks : CHECK_PLACES;
    int rc = 0;
    f->least = INT32_MAX;
    for (uint64_t i = 0; i < places && rc == 0; i++) {
        /* The last block is always read: it shows whether the file is all there. */
        uint64_t block = places == 1 ? 0 : (blocks - 1) * i / (places - 1);
        uint64_t at = block * CHECK_IDS, left = f->n_tokens - at;
        size_t n = left < CHECK_IDS ? (size_t)left : CHECK_IDS;
        rc = digest_ids(f, hash, ids, at, n, n_vocab);
        if (rc == 0 && f->whole && f->end != TOKEN_NONE)
            rc = find_documents(f, &cap, ids, at, n, f->end);
        if (rc == 0)
            rc = progress_step(p, "checking tokens", i + 1, places);
    }
    return rc;
}

/* Ids of another vocabulary than GPT-2's: the documents found are none. Where a file of llm.c
 * begins with the greatest of its ids, that separates them; else they are not known. */
static int separate_others(struct token_file *f, token_id *ids, const struct progress *p)
{
    struct sha256 none;
    token_id first = TOKEN_NONE;
    int rc = f->format == TOKENS_LLMC ? token_file_read(f, &first, 0, 1, 0) : 0;
    f->end = first == f->most ? first : TOKEN_NONE;
    f->n_documents = 1;
    f->documents[1] = f->n_tokens;
    if (rc != 0 || f->end == TOKEN_NONE || (rc = sha256_init(&none)) != 0)
        return rc;
    rc = check_ids(f, &none, ids, 0, p);
    sha256_release(&none);
    return rc;
}

int token_file_check(struct token_file *f, int n_vocab, token_id eos, bool whole,
                     const struct progress *p)
{
    const uint64_t width = (uint64_t)(f->width < 0 ? -f->width : f->width);
    struct sha256 hash;
    int rc = sha256_init(&hash);
    if (rc != 0)
        return rc;
    if (f->format == TOKENS_GENERATED) {
        const uint64_t what[3] = {f->n_tokens, f->seed, (uint64_t)f->n_vocab};
        f->least = 0;
        f->most = f->n_vocab - 1;
        f->whole = true;
        sha256_add(&hash, what, sizeof what);
    } else {
        token_id *ids = mem_array(CHECK_IDS, sizeof *ids);
        f->whole = whole || f->n_tokens <= DATA_WHOLE_BYTES / width;
        f->end = find_separator(f, eos);
        rc = ids == NULL ? ERR_NOMEM : check_ids(f, &hash, ids, n_vocab, p);
        if (rc == 0 && eos == TOKEN_NONE && f->end != TOKEN_NONE && f->most != f->end)
            rc = separate_others(f, ids, p);
        mem_free(ids);
        /* Only there: what is read whole has the digest that checkpoints know. */
        if (rc == 0 && !f->whole)
            sha256_add(&hash, f->sum, strlen(f->sum));
    }
    sha256_end(&hash, f->digest);
    sha256_release(&hash);
    return rc;
}
