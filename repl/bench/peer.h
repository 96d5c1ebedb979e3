#ifndef PRATTLE_REPL_BENCH_PEER_H
#define PRATTLE_REPL_BENCH_PEER_H
/*
 * Other programs at the work that is measured, in turns with this one. The environment names them:
 *
 *   PEER_LLAMA  a llama-bench, of llama.cpp: decode and prefill, of the model itself as F16 GGUF
 *   PEER_TORCH  a python with PyTorch: decode, prefill and training of a GPT-2 of the model's shape
 *               with random weights, in float32 (peer_torch.py)
 */
#include "model/model.h"

enum peer { PEER_LLAMA, PEER_TORCH, N_PEERS };
enum peer_work { PEER_DECODE, PEER_PREFILL, PEER_TRAIN, PEER_TRAIN_BF16 };

/* Those that the environment names; the file of the model is written when it is first needed. */
struct peers {
    const struct model *model;
    const char *programs[N_PEERS]; /* NULL: not named */
    char *gguf;                    /* NULL: not written yet */
};

void peers_init(struct peers *p, const struct model *m);
void peers_release(struct peers *p); /* removes the file */
/* The head of a column of what is measured here divided by what the peer does. */
const char *peer_head(enum peer peer);

/* Tokens a second of a peer: at `length` tokens, in training in `batch` windows each; 0 if it is
 * not named, or does no such work. ERR_IO: it failed, or printed no speed. */
int peer_measure(struct peers *p, enum peer peer, enum peer_work work, int batch, int length,
                 double *tokens_per_s);

#endif
