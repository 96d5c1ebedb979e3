#ifndef PRATTLE_MODEL_KERNELS_KERNELS_TABLES_H
#define PRATTLE_MODEL_KERNELS_KERNELS_TABLES_H
/*
 * All tables of one instruction set. kernels.c starts each set as a copy of the set below it,
 * which the set's own fill function then overwrites. -DNO_ISA_KERNELS leaves portable alone.
 */
#include "model/kernels/attention_kernels.h"
#include "model/kernels/bf16_kernels.h"
#include "model/kernels/matrix_kernels.h"
#include "model/kernels/optimizer_kernels.h"
#include "model/kernels/peak_kernels.h"
#include "model/kernels/row_kernels.h"
#include "model/kernels/sampling_kernels.h"
#include "model/kernels/training_kernels.h"

#include <stdbool.h>

#if defined(__x86_64__) && !defined(NO_ISA_KERNELS)
#define KERNELS_X86 1
#endif

struct kernels {
    const char *name;
    struct matrix_kernels matrix;
    struct bf16_kernels bf16;
    struct row_kernels row;
    struct attention_kernels attention;
    struct sampling_kernels sampling;
    struct training_kernels training;
    struct optimizer_kernels optimizer;
    struct peak_kernels peak;
};

void kernels_portable_fill(struct kernels *k); /* every entry */
void kernels_avx2_fill(struct kernels *k);
void kernels_avx512_fill(struct kernels *k);
void kernels_amx_fill(struct kernels *k);
/* Ask the system for AMX's registers; whether this process may use them. */
bool kernels_amx_request(void);

#endif
