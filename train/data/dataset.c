/*
 * A stream is put together in two sides, what is trained on and what is held out. Files are added
 * one after another, the documents of each are split between the sides, and runs of documents of
 * one file that lie side by side there are one part. Both sides share the files, which the last to
 * close closes.
 */
#include "train/data/dataset.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/sha256.h"
#include "model/base/words.h"
#include "train/data/characters.h"
#include "train/data/markup.h"
#include "train/data/text_cache.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

static const char END_OF_TEXT[] = "<|endoftext|>";

/* The files of one stream, until the last part of it is closed. */
struct data_files {
    struct token_file *list; /* [n]; owned */
    size_t n;
    atomic_int users;
};

struct data_part {
    uint64_t start; /* in the stream */
    uint64_t first; /* in the file */
    uint64_t n;
    size_t file;
};

int data_config_init(struct data_config *c)
{
    *c = (struct data_config){
        .validation_fraction = 0.05, .completion_only_loss = true, .shuffle = true};
    c->generated_tokens = 1 << 20;
    c->data = mem_strdup("");
    c->validation = mem_strdup("");
    c->document_separator = mem_strdup(END_OF_TEXT);
    c->lines.field = mem_strdup(TEXT_FIELD);
    c->lines.prompt_template = mem_strdup(PAIRS_PROMPT);
    c->lines.completion_template = mem_strdup(PAIRS_COMPLETION);
    if (c->data != NULL && c->validation != NULL && c->document_separator != NULL &&
        c->lines.field != NULL && c->lines.prompt_template != NULL &&
        c->lines.completion_template != NULL)
        return 0;
    data_config_release(c);
    return ERR_NOMEM;
}

void data_config_release(struct data_config *c)
{
    mem_free(c->data);
    mem_free(c->validation);
    mem_free(c->document_separator);
    mem_free(c->lines.field);
    mem_free(c->lines.prompt_template);
    mem_free(c->lines.completion_template);
    *c = (struct data_config){0};
}

static void files_drop(struct data_files *f)
{
    if (f == NULL || atomic_fetch_sub(&f->users, 1) > 1)
        return;
    for (size_t i = 0; i < f->n; i++)
        token_file_close(&f->list[i]);
    mem_free(f->list);
    mem_free(f);
}

void dataset_close(struct dataset *d)
{
    if (d == NULL)
        return;
    files_drop(d->files);
    mem_free(d->name);
    mem_free(d->parts);
    mem_free(d->documents);
    mem_free(d->completions);
    mem_free(d->sources);
    mixture_release(&d->mixture);
    *d = (struct dataset){0};
}

/* The n sources from `first` on that are texts: one set of ids. */
static size_t count_texts(const struct data_sources *s, size_t first)
{
    size_t n = 0;
    while (first + n < s->n && data_kind_is_text(s->list[first + n].kind))
        n++;
    return n;
}

/* The setting's word for none: a value left empty is easily overlooked. */
static bool has_separator(const struct data_config *c)
{
    return *c->document_separator != '\0' && strcmp(c->document_separator, "file") != 0;
}

static int open_sources(struct data_files *f, const struct data_sources *s,
                        const struct data_config *c, const struct tokenizer *t,
                        const struct progress *p)
{
    static const enum token_format formats[] = {
        [DATA_MEGATRON] = TOKENS_MEGATRON, [DATA_NANOGPT] = TOKENS_NANOGPT,
        [DATA_LLMC] = TOKENS_LLMC,         [DATA_TFRECORD] = TOKENS_TFRECORD,
        [DATA_PICKLE] = TOKENS_PICKLE,     [DATA_NPY] = TOKENS_NPY};
    const token_id end = t == NULL ? TOKEN_NONE : tokenizer_eos(t);
    char *separator = words_undo_escapes(has_separator(c) ? c->document_separator : "");
    struct pairs pairs;
    const struct text_form form = {
        .separator = separator, .field = c->lines.field, .pairs = &pairs, .special = c->special};
    int rc = pairs_init(&pairs, c->lines.prompt_template, c->lines.completion_template);
    if (rc == 0 && separator == NULL)
        rc = ERR_NOMEM;
    for (size_t i = 0; i < s->n && rc == 0; f->n += rc == 0) {
        size_t texts = count_texts(s, i);
        if (texts > 0)
            rc = text_cache_open(&f->list[f->n], &s->list[i], texts, &form, t, p);
        else
            rc = token_file_open(&f->list[f->n], formats[s->list[i].kind], s->list[i].path, end, p);
        i += texts > 0 ? texts : 1;
    }
    pairs_release(&pairs);
    mem_free(separator);
    return rc;
}

static int grow_files(struct data_files *f, size_t more)
{
    struct token_file *list = mem_grow(f->list, f->n * sizeof *list, (f->n + more) * sizeof *list);
    if (list == NULL)
        return ERR_NOMEM;
    f->list = list;
    return 0;
}

/* All files that `paths` names, checked, behind those there are. */
static int files_add(struct data_files *f, const char *paths, const struct data_config *c,
                     const struct tokenizer *t, int n_vocab, const struct progress *p)
{
    struct data_sources sources = {0};
    bool generated = strcmp(paths, "generated") == 0;
    size_t first = f->n;
    int rc = generated ? 0 : data_sources_find(&sources, paths);
    if (rc == 0) {
        left_out_note(&sources.left_out, p);
        markup_note(&sources, false, p);
        rc = grow_files(f, generated ? 1 : sources.n);
    }
    if (rc == 0 && generated)
        rc = token_file_generate(&f->list[f->n++], (uint64_t)c->generated_tokens, c->seed, n_vocab);
    else if (rc == 0)
        rc = open_sources(f, &sources, c, t, p);
    for (size_t i = first; rc == 0 && i < f->n; i++)
        rc = token_file_check(&f->list[i], n_vocab, t == NULL ? TOKEN_NONE : tokenizer_eos(t),
                              c->whole, p);
    data_sources_release(&sources);
    return rc;
}

/* One side of a stream while it is put together. */
struct side {
    struct dataset *d;
    struct buf parts, documents, completions; /* as in the dataset */
};

static int side_begin(struct side *s, struct data_files *files)
{
    uint64_t zero = 0;
    atomic_fetch_add(&files->users, 1);
    s->d->files = files;
    return buf_add(&s->documents, &zero, sizeof zero);
}

/* Where the loss of the document begins that is added last. Before the first one with a prompt, all
 * begin it with themselves. */
static int side_add_completion(struct side *s, uint64_t prompt)
{
    struct dataset *d = s->d;
    const uint64_t *begin = (const uint64_t *)(void *)s->documents.data + d->n_documents;
    const uint64_t completion = *begin + prompt;
    int rc = 0;
    if (prompt > 0 && s->completions.n == 0)
        rc = buf_add(&s->completions, s->documents.data, d->n_documents * sizeof *begin);
    d->n_prompt += prompt;
    return rc == 0 && d->n_prompt > 0 ? buf_add(&s->completions, &completion, sizeof completion)
                                      : rc;
}

/* n ids of a file from `first` on: a document, whose first ids are a prompt. */
static int side_add(struct side *s, size_t file, uint64_t first, uint64_t n, uint64_t prompt)
{
    struct dataset *d = s->d;
    struct data_part *last =
        d->n_parts == 0 ? NULL : (struct data_part *)s->parts.data + d->n_parts - 1;
    struct data_part part = {d->n_tokens, first, n, file};
    int rc = 0;
    if (n == 0)
        return 0;
    if (last != NULL && last->file == file && last->first + last->n == first)
        last->n += n;
    else if ((rc = buf_add(&s->parts, &part, sizeof part)) == 0)
        d->n_parts++;
    if (rc != 0 || (rc = side_add_completion(s, prompt)) != 0)
        return rc;
    d->n_tokens += n;
    d->n_documents++;
    return buf_add(&s->documents, &d->n_tokens, sizeof d->n_tokens);
}

/* Which tokens are drawn how often, whatever their paths. */
static void digest_mixture(struct sha256 *h, const struct dataset *d)
{
    for (size_t i = 0; i < d->mixture.n; i++) {
        const struct mixture_entry *e = &d->mixture.list[i];
        const struct data_source_range *s = &d->sources[e->source];
        const uint64_t places[] = {(uint64_t)e->source, s->first, s->n_tokens};
        const double said[] = {isnan(e->weight) ? -1 : e->weight, e->from, e->until};
        sha256_add(h, places, sizeof places);
        sha256_add(h, said, sizeof said);
    }
}

/* What the side is becomes the dataset's own, with its identity. */
static int side_end(struct side *s, const char *name, int n_vocab)
{
    struct dataset *d = s->d;
    struct sha256 h;
    d->parts = (struct data_part *)s->parts.data;
    d->documents = (uint64_t *)s->documents.data;
    d->n_vocab = n_vocab;
    d->name = mem_strdup(name);
    d->completions = (uint64_t *)s->completions.data;
    s->parts = s->documents = s->completions = (struct buf){0};
    int rc = d->name == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && (rc = sha256_init(&h)) == 0) {
        for (size_t i = 0; i < d->files->n; i++)
            sha256_add(&h, d->files->list[i].digest, sizeof d->files->list[i].digest);
        sha256_add(&h, d->parts, d->n_parts * sizeof *d->parts);
        sha256_add(&h, d->documents, (d->n_documents + 1) * sizeof *d->documents);
        if (d->completions != NULL)
            sha256_add(&h, d->completions, d->n_documents * sizeof *d->completions);
        digest_mixture(&h, d);
        sha256_end(&h, d->identity);
        sha256_release(&h);
    }
    return rc;
}

static void count_files(const struct data_files *f, size_t first, uint64_t *tokens,
                        uint64_t *documents)
{
    *tokens = *documents = 0;
    for (size_t i = first; i < f->n; i++) {
        *tokens += f->list[i].n_tokens;
        *documents += f->list[i].n_documents;
    }
}

/* The ids of a document that the loss does not count. */
static uint64_t count_prompt(const struct token_file *f, uint64_t document, bool counts)
{
    return f->prompts && counts ? f->seconds[document] - f->documents[document] : 0;
}

/* Deal the documents of the files from `first` on to the two sides. */
static int split_files(struct side *train, struct side *held, const struct data_files *f,
                       size_t first_file, double fraction, bool completion_only)
{
    uint64_t tokens, documents, at = 0, k = 0;
    count_files(f, first_file, &tokens, &documents);
    bool tail = (uint64_t)((double)documents * fraction) == 0;
    uint64_t cut = tail ? (uint64_t)((double)tokens * fraction) : 0;
    uint64_t kept = tokens - (cut > 1 ? cut : 0); /* one token alone has nothing that follows */
    int rc = 0;
    for (size_t i = first_file; i < f->n; i++)
        for (uint64_t j = 0; j < f->list[i].n_documents && rc == 0; j++, k++) {
            uint64_t first = f->list[i].documents[j], n = f->list[i].documents[j + 1] - first;
            bool out =
                !tail && (uint64_t)((double)(k + 1) * fraction) > (uint64_t)((double)k * fraction);
            uint64_t left = kept > at ? kept - at : 0, mine = out ? 0 : n < left ? n : left;
            const uint64_t prompt = count_prompt(&f->list[i], j, completion_only);
            rc = side_add(train, i, first, mine, prompt < mine ? prompt : mine);
            if (rc == 0)
                rc = side_add(held, i, first + mine, n - mine, prompt > mine ? prompt - mine : 0);
            at += n;
        }
    return rc;
}

/* How a stream is put together. */
struct stream {
    struct data_files *files;
    struct side sides[2]; /* what is trained on, what is held out */
    double fraction;
    const struct data_config *config;
    const struct tokenizer *tokenizer;
    int n_vocab;
    const struct progress *progress;
};

/* What `paths` names, behind what there is. */
static int stream_add(struct stream *s, const char *paths)
{
    size_t first = s->files->n;
    int rc = files_add(s->files, paths, s->config, s->tokenizer, s->n_vocab, s->progress);
    return rc == 0 ? split_files(&s->sides[0], &s->sides[1], s->files, first, s->fraction,
                                 s->config->completion_only_loss)
                   : rc;
}

/* Each source once, one after another. */
static int stream_add_mixture(struct stream *s, const struct mixture *m)
{
    struct dataset *d = s->sides[0].d;
    int rc =
        (d->sources = mem_array((size_t)m->n_sources, sizeof *d->sources)) == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < m->n_sources && rc == 0; i++) {
        char *paths = data_list_path(mixture_path(m, i));
        d->sources[i].first = d->n_tokens;
        rc = paths == NULL ? ERR_NOMEM : stream_add(s, paths);
        d->sources[i].n_tokens = d->n_tokens - d->sources[i].first;
        mem_free(paths);
    }
    return rc;
}

/* Put together what `paths` names; what is held out goes to the second side. */
static int open_stream(struct stream *s, const char *paths)
{
    struct mixture *m = &s->sides[0].d->mixture;
    int rc = s->config->mixture ? mixture_parse(m, paths) : 0;
    if (rc != 0)
        return err_wrap("data");
    if ((s->files = mem_alloc(sizeof *s->files)) == NULL)
        return ERR_NOMEM;
    s->files->users = 1;
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = side_begin(&s->sides[i], s->files);
    if (rc == 0)
        rc = m->n > 0 ? stream_add_mixture(s, m) : stream_add(s, paths);
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = side_end(&s->sides[i], paths, s->n_vocab);
    for (int i = 0; i < 2; i++) {
        buf_release(&s->sides[i].parts);
        buf_release(&s->sides[i].documents);
        buf_release(&s->sides[i].completions);
    }
    files_drop(s->files);
    return rc;
}

/* A separator of the user's own that is never found is a slip of the keys more often than not. */
static void note_separator(const struct data_config *c, const struct data_files *f,
                           const struct progress *p)
{
    char shown[80];
    bool texts = false, cut = false;
    for (size_t i = 0; i < f->n; i++) {
        const bool text = f->list[i].n_texts > 0 && !f->list[i].json_lines;
        texts |= text;
        cut |= text && f->list[i].n_documents > f->list[i].n_texts;
    }
    if (texts && !cut && has_separator(c) && strcmp(c->document_separator, END_OF_TEXT) != 0)
        progress_note(p, "document_separator %s cuts none of the texts: each is one document",
                      file_show(shown, sizeof shown, c->document_separator));
}

/* As a separator that is never found. */
static void note_pairs(const struct data_config *c, const struct data_files *f,
                       const struct progress *p)
{
    const struct data_lines *l = &c->lines;
    char shown[80];
    bool texts = false, found = *l->prompt_template == '\0' ||
                                (strcmp(l->prompt_template, PAIRS_PROMPT) == 0 &&
                                 strcmp(l->completion_template, PAIRS_COMPLETION) == 0);
    for (size_t i = 0; i < f->n; i++) {
        texts |= f->list[i].n_texts > 0;
        found |= f->list[i].prompts;
    }
    if (texts && !found)
        progress_note(p,
                      "prompt_template and completion_template name no field of the data, which is "
                      "read as texts (field %s)",
                      file_show(shown, sizeof shown, l->field));
}

int dataset_open(struct dataset *train, struct dataset *validation, const struct data_config *c,
                 const struct tokenizer *t, int n_vocab, const struct progress *p)
{
    *train = *validation = (struct dataset){0};
    double fraction = c->validation_fraction;
    bool separate = *c->validation != '\0';
    struct dataset none = {0};
    struct data_config other = *c; /* borrows its texts */
    struct stream s = {.sides = {{.d = train}, {.d = validation}},
                       .fraction = separate ? 0 : fraction,
                       .config = c,
                       .tokenizer = t,
                       .n_vocab = n_vocab,
                       .progress = p};
    int rc = 0;
    if (!(fraction >= 0 && fraction < 1))
        rc = err_set(ERR_RANGE, "validation_fraction must be 0 to less than 1, not %g", fraction);
    if (rc == 0)
        rc = open_stream(&s, c->data);
    if (rc == 0)
        note_separator(c, train->files, p);
    if (rc == 0)
        note_pairs(c, train->files, p);
    if (rc == 0)
        rc = characters_note(train->files->list, train->files->n, t, p);
    if (rc == 0 && separate) {
        dataset_close(validation);
        other.seed++; /* what is generated to measure on is not what is trained on */
        other.mixture = false;
        s.sides[0] = (struct side){.d = validation};
        s.sides[1] = (struct side){.d = &none};
        s.config = &other;
        rc = open_stream(&s, c->validation);
        if (rc != 0)
            err_wrap("validation data");
        dataset_close(&none);
    }
    if (rc != 0) {
        dataset_close(train);
        dataset_close(validation);
        return rc;
    }
    return 0;
}

int dataset_open_whole(struct dataset *d, const char *paths, const struct data_lines *lines,
                       const struct tokenizer *t, int n_vocab, const struct progress *p)
{
    struct data_config c;
    struct dataset none = {0};
    int rc = data_config_init(&c);
    if (rc != 0)
        return rc;
    struct data_config data = c; /* borrows its texts */
    data.data = (char *)paths;
    data.validation_fraction = 0;
    data.whole = true;
    data.lines = *lines;
    rc = dataset_open(d, &none, &data, t, n_vocab, p);
    dataset_close(&none);
    data_config_release(&c);
    return rc;
}

/* The part in which id `first` of the stream lies. */
static size_t find_part(const struct dataset *d, uint64_t first)
{
    size_t low = 0, high = d->n_parts;
    while (high - low > 1) { /* parts[low].start <= first */
        size_t middle = low + (high - low) / 2;
        *(d->parts[middle].start <= first ? &low : &high) = middle;
    }
    return low;
}

/* The document in which id `first` of the stream lies. */
static uint64_t find_document(const struct dataset *d, uint64_t first)
{
    uint64_t low = 0, high = d->n_documents;
    while (high - low > 1) { /* documents[low] <= first */
        const uint64_t middle = low + (high - low) / 2;
        *(d->documents[middle] <= first ? &low : &high) = middle;
    }
    return low;
}

void dataset_prompts(const struct dataset *d, uint64_t first, size_t n,
                     void (*f)(void *user, size_t i), void *user)
{
    if (d->completions == NULL || n == 0)
        return;
    for (uint64_t k = find_document(d, first), at = first; at < first + n; at = d->documents[++k])
        for (; at < d->completions[k] && at < first + n; at++)
            f(user, (size_t)(at - first));
}

bool dataset_begins_with_end(const struct dataset *d, uint64_t first)
{
    return first < d->n_tokens &&
           d->files->list[d->parts[find_part(d, first)].file].format == TOKENS_LLMC;
}

int dataset_read(const struct dataset *d, token_id *out, uint64_t first, size_t n)
{
    if (first > d->n_tokens || n > d->n_tokens - first)
        return err_set(ERR_RANGE, "tokens %llu to %llu are not among the %llu of the data",
                       (unsigned long long)first, (unsigned long long)first + n,
                       (unsigned long long)d->n_tokens);
    for (size_t i = find_part(d, first); n > 0; i++) {
        const struct data_part *part = &d->parts[i];
        uint64_t at = first - part->start, left = part->n - at;
        size_t take = left < n ? (size_t)left : n;
        int rc =
            token_file_read(&d->files->list[part->file], out, part->first + at, take, d->n_vocab);
        if (rc != 0)
            return rc;
        out += take;
        first += take;
        n -= take;
    }
    return 0;
}

void dataset_summary(const struct dataset *d, struct data_summary *out)
{
    static const char *const names[] = {
        [TOKENS_MEGATRON] = "Megatron",  [TOKENS_NANOGPT] = "nanoGPT",      [TOKENS_LLMC] = "llm.c",
        [TOKENS_TFRECORD] = "TFRecord",  [TOKENS_PICKLE] = "pickled lists", [TOKENS_NPY] = "NumPy",
        [TOKENS_GENERATED] = "generated"};
    const struct data_files *f = d->files;
    *out = (struct data_summary){
        .least = INT32_MAX, .most = TOKEN_NONE, .whole = true, .bounds = true, .end = TOKEN_NONE};
    size_t unbound = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct token_file *t = &f->list[i];
        const char *format = t->json_lines    ? "JSON lines"
                             : t->n_texts > 0 ? "text"
                                              : names[t->format];
        out->format = out->format == NULL || strcmp(out->format, format) == 0 ? format : "several";
        out->files += t->n_texts > 0 ? t->n_texts : 1;
        out->least = t->least < out->least ? t->least : out->least;
        out->most = t->most > out->most ? t->most : out->most;
        out->whole &= t->whole;
        if (t->format != TOKENS_NANOGPT && t->format != TOKENS_LLMC)
            continue;
        out->bounds &= t->whole && t->end != TOKEN_NONE;
        out->end = unbound++ == 0 || out->end == t->end ? t->end : TOKEN_NONE;
    }
}
