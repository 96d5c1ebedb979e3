#include "repl/bench/peer.h"

#include "model/base/child.h"
#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/kernels/blas.h"
#include "repl/bench/peer_script.h"
#include "weights/save.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NUMBER = 16, MOST_ARGUMENTS = 16 };

static const struct {
    const char *name, *head, *variable;
} table[N_PEERS] = {[PEER_LLAMA] = {"llama.cpp", "/ llama.cpp", "PEER_LLAMA"},
                    [PEER_TORCH] = {"PyTorch", "/ PyTorch", "PEER_TORCH"}};

const char *peer_head(enum peer peer)
{
    return table[peer].head;
}

void peers_init(struct peers *p, const struct model *m)
{
    *p = (struct peers){.model = m};
    for (int i = 0; i < N_PEERS; i++) {
        const char *program = getenv(table[i].variable);
        p->programs[i] = program != NULL && *program != '\0' ? program : NULL;
    }
}

void peers_release(struct peers *p)
{
    if (p->gguf != NULL)
        unlink(p->gguf);
    mem_free(p->gguf);
    *p = (struct peers){0};
}

static int write_gguf(struct peers *p)
{
    const char *folder = getenv("TMPDIR");
    /* llama.cpp wants an output matrix, and knows F16 weights. */
    const struct save_config how = {.convert = true, .dtype = DTYPE_F16, .compat = true};
    char *path =
        mem_sprintf("%s/prattle-peer-%d.gguf", folder == NULL ? "/tmp" : folder, (int)getpid());
    int rc = path == NULL ? ERR_NOMEM : weights_convert(p->model->source, path, 1, &how, NULL);
    if (rc == 0)
        p->gguf = path;
    else
        mem_free(path);
    return rc;
}

/* {"avg_ts": 71.3, ...} in a list of one. */
static int read_llama(double *out, const struct buf *printed)
{
    json_t *list;
    int rc = json_read_text(&list, buf_text(printed), printed->n);
    if (rc != 0)
        return rc;
    *out = 0;
    rc = json_take_number(json_array_get(list, 0), "avg_ts", 0, INFINITY, out);
    json_decref(list);
    return rc;
}

/* argv begins with the program: a python of a virtual environment finds it by that. */
static int run_peer(const struct peers *p, enum peer peer, const char *const argv[], const char *in,
                    struct buf *printed)
{
    return child_run(printed, table[peer].variable, p->programs[peer], (char *const *)argv, in,
                     CHILD_KEEPS);
}

static int run_llama(struct peers *p, enum peer_work work, int length, double *out)
{
    char threads[NUMBER], n[NUMBER];
    int rc = p->gguf == NULL ? write_gguf(p) : 0;
    if (rc != 0)
        return rc;
    snprintf(threads, sizeof threads, "%d", par_threads());
    snprintf(n, sizeof n, "%d", length);
    const bool decodes = work == PEER_DECODE;
    const char *argv[] = {
        p->programs[PEER_LLAMA], "-m", p->gguf,           "-t", threads, "-r", "1", "-p",
        decodes ? "0" : n,       "-n", decodes ? n : "0", "-o", "json",  NULL};
    struct buf printed = {0};
    rc = run_peer(p, PEER_LLAMA, argv, NULL, &printed);
    if (rc == 0)
        rc = read_llama(out, &printed);
    buf_release(&printed);
    return rc;
}

static int run_torch(struct peers *p, enum peer_work work, int batch, int length, double *out)
{
    static const char *const works[] = {[PEER_DECODE] = "decode",
                                        [PEER_PREFILL] = "prefill",
                                        [PEER_TRAIN] = "train",
                                        [PEER_TRAIN_BF16] = "train-bf16"};
    const struct config *c = &p->model->config;
    const int sizes[] = {par_threads(), c->n_layer, c->n_head, c->n_embd,
                         c->n_vocab,    c->n_ctx,   batch,     length};
    enum { N_SIZES = sizeof sizes / sizeof *sizes };
    char text[N_SIZES][NUMBER];
    const char *argv[MOST_ARGUMENTS] = {p->programs[PEER_TORCH], "-", works[work]};
    for (int i = 0; i < N_SIZES; i++) {
        snprintf(text[i], NUMBER, "%d", sizes[i]);
        argv[3 + i] = text[i];
    }
    if (blas_open() != 0) /* says to PyTorch's OpenBLAS, too, which kernels to take */
        err_clear();
    struct buf printed = {0};
    int rc = run_peer(p, PEER_TORCH, argv, peer_script, &printed);
    *out = 0;
    if (rc == 0 && sscanf(buf_text(&printed), "%lf", out) != 1)
        *out = 0;
    buf_release(&printed);
    return rc;
}

int peer_measure(struct peers *p, enum peer peer, enum peer_work work, int batch, int length,
                 double *tokens_per_s)
{
    *tokens_per_s = 0;
    if (p->programs[peer] == NULL || (peer == PEER_LLAMA && work >= PEER_TRAIN))
        return 0;
    int rc = peer == PEER_LLAMA ? run_llama(p, work, length, tokens_per_s)
                                : run_torch(p, work, batch, length, tokens_per_s);
    if (rc == 0 && !(*tokens_per_s > 0 && isfinite(*tokens_per_s)))
        rc = err_set(ERR_IO, "it printed no speed");
    if (rc != 0 && rc != ERR_INTERRUPTED && rc != ERR_NOMEM)
        rc = err_wrap("%s does not measure %s", table[peer].variable, table[peer].name);
    return rc;
}
