/*
 * :bench, how fast this model runs here: each figure beside the machine's own limit, measured in
 * the same round. Figures are medians of several rounds and ratios are medians of ratios, so that
 * they hold where the machine's speed drifts. Operations are 2 for each weight that is multiplied,
 * and attention's.
 */
#include "repl/commands/commands.h"

#include "repl/commands/bench_spec.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/par.h"
#include "model/base/progress.h"
#include "model/kernels/kernels.h"
#include "model/kernels/peak.h"
#include "repl/bench/bench.h"
#include "repl/bench/spec_texts.h"
#include "repl/terminal/table_fit.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <stdio.h>
#include <string.h>

static int bench_limits(struct bench *b)
{
    struct rounds fma = {0}, stream = {0};
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        rounds_add(&fma, peak_fma_flops() * 1e-9, 0);
        rounds_add(&stream, bench_stream_limit(b->repl->model) * 1e-9, 0);
    }
    int rc = bench_report(b, "limit: fp32 multiply-adds", &fma, "GFLOP/s", NULL);
    return rc == 0 ? bench_report(b, "limit: reading fp16", &stream, "GB/s", NULL) : rc;
}

static const struct {
    const char *name;
    int (*run)(struct bench *b);
} benches[] = {
    {"limits", bench_limits},
    {"decode", bench_decode},
    {"prefill", bench_prefill},
    {"score", bench_score},
    {"batch", bench_batch},
    {"loop", bench_loop},
    {"speculate", bench_speculate},
    {"stream", bench_stream},
    {"sampling", bench_sampling},
    {"tokenizer", bench_tokenizer},
    {"start", bench_start},
    {"train", bench_train}, /* the last: what it needs most memory for */
};
enum { N_BENCHES = sizeof benches / sizeof *benches };

const char *cmd_bench_word(int i)
{
    return i < N_BENCHES ? benches[i].name : spec_texts[i - N_BENCHES].name;
}

static int refuse_word(const char *word)
{
    for (int i = 0; *word != '\0' && spec_texts[i].name != NULL; i++)
        if (strncmp(spec_texts[i].name, word, strlen(word)) == 0)
            return err_set(ERR_RANGE, "there is no benchmark or file %s; did you mean %s?",
                           file_quote(word), spec_texts[i].name);
    return err_set(ERR_RANGE,
                   "there is no benchmark or file %s; give limits, decode, prefill, score, "
                   "batch, loop, speculate, stream, sampling, tokenizer, start, train, "
                   "train=BATCHxLENGTH, or a text for the tokenizer",
                   file_quote(word));
}

/* train=BATCHxLENGTH. */
static bool is_size(const char *word, struct bench_size *size)
{
    char more;
    return sscanf(word, "train=%9dx%9d%c", &size->batch, &size->length, &more) == 2;
}

static int add_size(struct bench *b, struct bench_size size)
{
    if (b->n_sizes == BENCH_SIZES)
        return err_set(ERR_RANGE, "at most %d sizes of a training step at once", BENCH_SIZES);
    b->sizes[b->n_sizes++] = size;
    return 0;
}

static int set_file(struct bench *b, const char *file)
{
    if (b->file != NULL)
        return err_set(ERR_RANGE, "give one text for the tokenizer: %s or %s", file_quote(b->file),
                       file_quote(file));
    b->file = file;
    return 0;
}

/* Which are asked for, as bits; a word that is no name is the tokenizer's text. */
static int choose_benches(struct bench *b, char *const *words, int n, unsigned *chosen)
{
    struct bench_size size;
    int rc = 0;
    *chosen = 0;
    for (int i = 0; i < n && rc == 0; i++) {
        int k = 0;
        while (k < N_BENCHES && strcmp(words[i], benches[k].name) != 0)
            k++;
        if (k < N_BENCHES)
            *chosen |= 1u << k;
        else if (is_size(words[i], &size))
            rc = add_size(b, size);
        else
            rc = file_exists(words[i]) ? set_file(b, words[i]) : refuse_word(words[i]);
    }
    if (b->n_sizes > 0)
        *chosen |= 1u << (N_BENCHES - 1);
    if (*chosen == 0)
        *chosen = (1u << N_BENCHES) - 1;
    return rc;
}

enum { MIN_AND_MAX = 1 << 3 | 1 << 4, SHARE_OF = 1 << 5 | 1 << 6 }; /* of begin_table's columns */

/* A program's table names the model in each row; a person's has it above. */
static bool names_rows(const struct bench *b)
{
    const enum table_format format = (enum table_format)b->repl->options.settings.call.format;
    return format == TABLE_CSV || format == TABLE_JSON;
}

/* The table's columns; a peer that is named has one. */
static void begin_table(struct bench *b)
{
    static const char *const heads[] = {"what", "median", "unit", "min", "max", "share", "of"};
    int n = sizeof heads / sizeof *heads;
    memcpy(b->heads, heads, sizeof heads);
    for (int i = 0; i < N_PEERS; i++)
        if (b->peers.programs[i] != NULL)
            b->heads[b->peer_columns[i] = n++] = peer_head((enum peer)i);
    if (names_rows(b)) {
        b->heads[b->weights_column = n++] = "dtype";
        b->heads[b->cache_column = n++] = "cache_dtype";
        b->heads[b->model_column = n++] = "model";
    }
    table_init(&b->table, b->heads, n);
}

static void print_table(const struct bench *b)
{
    enum table_format format = (enum table_format)b->repl->options.settings.call.format;
    struct buf out = {0};
    char precision[ENGINE_PRECISION];
    engine_precision(precision, &b->repl->engine);
    if (!names_rows(b))
        wrap_say(stdout, "", "%s, %s, %d threads, %s kernels", b->repl->model->name, precision,
                 par_threads(), kernels_name());
    enum table_fit fit = TABLE_WHOLE;
    int rc = format == TABLE_TEXT && term_is(stdout)
                 ? table_fit(&b->table, MIN_AND_MAX, SHARE_OF, term_width(stdout) - 1, &out, &fit)
                 : table_format(&b->table, format, &out);
    if (rc == 0)
        fwrite(out.data, 1, out.n, stdout);
    if (fit != TABLE_WHOLE)
        wrap_say(stdout, term_dim(stdout), "wider terminals and `--format csv` also show %s",
                 fit == TABLE_LESS_SPARE ? "min and max" : "min, max and shares");
    buf_release(&out);
}

int cmd_bench(struct repl *r, const struct call *c)
{
    struct bench b = {.repl = r};
    unsigned chosen;
    if (c->n > 0 && bench_is_spec(c->words[0]))
        return bench_use_spec(r, c);
    if (c->n > 0 && strcmp(c->words[0], "history") == 0)
        return bench_use_history(r, c);
    int rc = command_check_options(r, "bench", "format");
    if (rc == 0)
        rc = choose_benches(&b, c->words, c->n, &chosen);
    if (rc != 0)
        return rc;
    if (r->model == NULL && !repl_finds_model(r))
        rc = repl_load(r, "random:gpt2", r->options.settings.sampler.seed);
    else
        rc = repl_need_model(r);
    if (rc == 0)
        rc = repl_ready(r, BENCH_TEXTS);
    if (rc != 0)
        return rc;
    peers_init(&b.peers, r->model);
    begin_table(&b);
    for (int i = 0; i < N_BENCHES && rc == 0; i++)
        if (chosen & 1u << i && (rc = progress_step(NULL, "", 0, 0)) == 0)
            rc = benches[i].run(&b);
    if (b.table.n_rows > 0)
        print_table(&b); /* after an interrupt too: what there is */
    peers_release(&b.peers);
    table_release(&b.table);
    return rc;
}
