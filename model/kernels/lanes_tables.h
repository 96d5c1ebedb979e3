#ifndef PRATTLE_MODEL_KERNELS_LANES_TABLES_H
#define PRATTLE_MODEL_KERNELS_LANES_TABLES_H
/* All kernels over the lanes of lanes.h, and their tables. */
#include "model/kernels/kernels_tables.h"
#include "model/kernels/lanes_attention.h"
#include "model/kernels/lanes_optimizer.h"
#include "model/kernels/lanes_peak.h"
#include "model/kernels/lanes_rows.h"
#include "model/kernels/lanes_sampling.h"
#include "model/kernels/lanes_training.h"

/* Overwrite every table of k but the matrices'; vector_floats and fma_loop are of the peak's. */
static inline void fill_lane_tables(struct kernels *k, int vector_floats,
                                    double (*fma_loop)(long rounds))
{
    k->row = row_table;
    k->attention = attention_table;
    k->sampling = sampling_table;
    k->training = training_table;
    k->optimizer = optimizer_table;
    k->peak = (struct peak_kernels){
        .lanes = vector_floats, .fma_loop = fma_loop, .sum_lines = sum_lines};
}

#endif
