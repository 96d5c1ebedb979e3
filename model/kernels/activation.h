#ifndef PRATTLE_MODEL_KERNELS_ACTIVATION_H
#define PRATTLE_MODEL_KERNELS_ACTIVATION_H
/*
 * The one list of the feed-forward's activations. A row has the enumerator's suffix, the NAME of
 * the functions v_NAME and v_NAME_grad in functions.h, a title for people, and the names that
 * transformers uses, the first of which is written to files.
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

/* The activation of one of transformers' names; false, and *a unchanged, if there is none. */
bool activation_find(enum activation *a, const char *name);
/* The name written to files: "gelu_new". */
const char *activation_name(enum activation a);
/* The title: "exact GELU". */
const char *activation_title(enum activation a);
/* All names, "gelu_new, ..., quick_gelu or tanh", in out [size]. Returns out. */
char *activation_names(char *out, size_t size);

enum { ACTIVATION_NAMES_BYTES = 200 }; /* room enough for activation_names */

#endif
