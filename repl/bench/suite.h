#ifndef PRATTLE_REPL_BENCH_SUITE_H
#define PRATTLE_REPL_BENCH_SUITE_H
/*
 * How fast this model runs here, each figure beside the machine's own limit
 * measured next to it. Medians of several rounds; ratios are medians of ratios, so
 * that they hold where the machine's speed drifts. Operations are counted as the
 * README says: 2 a weight that is multiplied, and attention's.
 */
struct repl;

/* The i-th bench, NULL past the last. */
const char *bench_name(int i);
/* Those that the words name, all without a word; prints a table, of what there is after an
 * interrupt too. */
int bench_run(struct repl *r, char *const *words, int n);

#endif
