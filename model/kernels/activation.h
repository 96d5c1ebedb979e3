#ifndef PRATTLE_MODEL_KERNELS_ACTIVATION_H
#define PRATTLE_MODEL_KERNELS_ACTIVATION_H
/*
 * The activations of the feed-forward, the one list: each row has the enum's word, the functions
 * v_NAME and v_NAME_grad of functions.h, how people call it, and transformers' names for it, the
 * first of which is written to files.
 */
#include <stdbool.h>
#include <stddef.h>

#define EACH_ACTIVATION(ROW)                                                                       \
    ROW(GELU_TANH, gelu_tanh, "tanh GELU", "gelu_new", "gelu_pytorch_tanh", "gelu_fast",           \
        "gelu_accurate", "gelu_python_tanh")                                                       \
    ROW(GELU_ERF, gelu_erf, "exact GELU", "gelu", "gelu_python")                                   \
    ROW(RELU, relu, "ReLU", "relu")                                                                \
    ROW(SILU, silu, "SiLU", "silu", "swish")                                                       \
    ROW(QUICK_GELU, quick_gelu, "quick GELU", "quick_gelu")                                        \
    ROW(TANH, tanh, "tanh activation", "tanh")

#define ACTIVATION_WORD(WORD, name, ...) ACTIVATION_##WORD,
enum activation { EACH_ACTIVATION(ACTIVATION_WORD) N_ACTIVATIONS };
#undef ACTIVATION_WORD

/* false, and *a untouched, where no activation has this name. */
bool activation_find(enum activation *a, const char *name);
const char *activation_name(enum activation a);
/* As people call it: "exact GELU". */
const char *activation_title(enum activation a);
/* All names, "gelu_new, ..., quick_gelu or tanh", in out; returns out. */
char *activation_names(char *out, size_t size);

enum { ACTIVATION_NAMES_BYTES = 200 }; /* room enough for activation_names */

#endif
