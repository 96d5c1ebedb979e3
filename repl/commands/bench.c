#include "repl/bench/suite.h"
#include "repl/commands/commands.h"

int cmd_bench(struct repl *r, const struct call *c)
{
    return bench_run(r, c->words, c->n);
}
