#ifndef PRATTLE_MODEL_KERNELS_LANES_DEFINE_H
#define PRATTLE_MODEL_KERNELS_LANES_DEFINE_H
/* What the three forms of lanes.h share. */

/* Every function over lanes is inlined into the kernel that calls it, also without optimization:
 * its intrinsics exist only under that file's instruction set. */
#define LANES static inline __attribute__((always_inline))

enum { LANES_N = 16 };

#endif
