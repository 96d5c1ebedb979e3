/* What comes before the first answer: the program's start, and text made tokens. */
#include "repl/bench/bench.h"

#include "model/base/child.h"
#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/save.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Text for the tokenizer: the file given, else the vocabulary in a row. */
static int text_to_encode(struct bench *b, struct buf *text)
{
    const struct tokenizer *t = b->repl->model->tokenizer;
    if (b->file != NULL)
        return file_read_all(text, b->file, 1 << 30);
    int rc = 0;
    /* The first look at as many as there are finds whether any has a text. */
    const uint32_t n = (uint32_t)tokenizer_size(t);
    for (uint32_t i = 0; text->n < 4 << 20 && rc == 0 && (i < 4 * n || text->n > 0); i++) {
        token_id id = (token_id)(i * 2654435761u % n);
        rc = tokenizer_is_special(t, id) ? 0 : tokenizer_decode(t, text, &id, 1);
    }
    return rc;
}

int bench_tokenizer(struct bench *b)
{
    struct rounds rate = {0};
    struct buf text = {0};
    if (b->repl->model->tokenizer == NULL)
        return 0;
    int rc = text_to_encode(b, &text);
    for (int i = 0; i < BENCH_ROUNDS && rc == 0; i++) {
        struct ids ids = {0};
        double start = clock_s();
        rc = tokenizer_encode(b->repl->model->tokenizer, &ids, text.data, text.n, ENCODE_TEXT);
        rounds_add(&rate, (double)text.n / (clock_s() - start) * 1e-6, 0);
        ids_release(&ids);
    }
    buf_release(&text);
    return rc == 0 ? bench_report(b, "encoding text, one core", &rate, "MB/s", NULL) : rc;
}

/* Run this program, what it prints into out. */
static int run_program(char *const argv[], struct buf *out)
{
    return child_run(out, "prattle", "/proc/self/exe", argv, NULL, CHILD_SHOWS);
}

/* Seconds from the start on a file to the first token. */
static int time_start(char *path, double *wall_s)
{
    char *argv[] = {"prattle",          "generate", "--model",  path,  "--ids", "0",
                    "--max-new-tokens", "1",        "--output", "ids", NULL};
    struct buf out = {0};
    double start = clock_s();
    int rc = run_program(argv, &out);
    *wall_s = clock_s() - start;
    buf_release(&out);
    return rc;
}

/* The most memory it has had when the prompt stands. */
static int peak_at_prompt(char *path, double *bytes)
{
    char *argv[] = {"prattle", "devices", "--model", path, NULL};
    struct buf out = {0};
    int rc = run_program(argv, &out);
    const char *row = rc == 0 ? strstr(buf_text(&out), "peak memory") : NULL;
    double megabytes;
    if (row != NULL && sscanf(row, "peak memory %lf MB", &megabytes) == 1)
        *bytes = megabytes * 1e6;
    else if (rc == 0)
        rc = err_set(ERR_UNSUPPORTED, "this system does not say how much memory a program had");
    buf_release(&out);
    return rc;
}

int bench_start(struct bench *b)
{
    const struct model *m = b->repl->model;
    const char *temp = getenv("TMPDIR");
    char *path =
        mem_sprintf("%s/prattle-bench-%d.gguf", temp == NULL ? "/tmp" : temp, (int)getpid());
    struct save_config how = {.convert = true, .dtype = DTYPE_F16};
    struct rounds wall = {0}, memory = {0};
    if (path == NULL)
        return ERR_NOMEM;
    int rc = weights_convert(m->source, path, 1, &how, NULL);
    for (int i = -1; i < BENCH_ROUNDS && rc == 0; i++) {
        double wall_s = 0, peak_bytes = 0;
        rc = time_start(path, &wall_s);
        if (rc == 0)
            rc = peak_at_prompt(path, &peak_bytes);
        if (i < 0) /* the first warms the page cache */
            continue;
        rounds_add(&wall, wall_s, 0);
        rounds_add(&memory, (peak_bytes - 2.0 * (double)config_params(&m->config)) * 1e-6, 0);
    }
    unlink(path);
    mem_free(path);
    if (rc == 0)
        rc = bench_report(b, "start to the first token, F16 GGUF", &wall, "s", NULL);
    return rc == 0 ? bench_report(b, "peak memory beyond the fp16 weights", &memory, "MB", NULL)
                   : rc;
}
