#ifndef PRATTLE_TESTS_THIN_H
#define PRATTLE_TESTS_THIN_H
/* The sanitizers make everything many times slower, and what they look for shows in a few cases as
 * in all: large products of settings are thinned for them, and whole in the other builds. */
#include <stdbool.h>

#ifdef __SANITIZE_ADDRESS__
enum { THIN = true };
#else
enum { THIN = false };
#endif

/* Of n cases those that run, at least: for what is counted. */
static inline int thin_count(int n, int of)
{
    return THIN ? n / of : n;
}

/* Whether case number n runs: each, or one of so many. With a number that has no divisor in common
 * with how many values each setting has, every value of each still runs. */
static inline bool thin_runs(int n, int of)
{
    return !THIN || n % of == 0;
}

#endif
