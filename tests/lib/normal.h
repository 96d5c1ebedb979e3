#ifndef PRATTLE_TESTS_NORMAL_H
#define PRATTLE_TESTS_NORMAL_H
#include <stdint.h>

/*
 * Standard normal number `counter` of (seed, stream), by Box and Muller in double precision; 2i
 * and 2i + 1 share one pair of uniforms. Other numbers than rng_normals': the data of tests does
 * not change with what is tested.
 */
float normal_number(uint64_t seed, uint64_t stream, uint64_t counter);

#endif
