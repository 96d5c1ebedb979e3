#ifndef PRATTLE_MODEL_KERNELS_KERNELS_TABLES_H
#define PRATTLE_MODEL_KERNELS_KERNELS_TABLES_H
/* The tables that kernels.c chooses from; those of instruction sets hold only what
 * differs from the portable one's functions, and may be compiled out by
 * -DNO_ISA_KERNELS. */
#include "model/kernels/kernels.h"

#if defined(__x86_64__) && !defined(NO_ISA_KERNELS)
#define KERNELS_X86 1
#endif

extern const struct kernels kernels_portable;
extern const struct kernels kernels_avx2;
extern const struct kernels kernels_avx512;

/* The entries that each table has of its own. */
#define MATRIX_KERNELS                                                                             \
    .tile_f16 = tile_f16, .tile_f32 = tile_f32, .row_f16 = row_f16, .row_f32 = row_f32,            \
    .pack = pack, .burn = burn

#endif
