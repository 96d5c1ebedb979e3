#ifndef PRATTLE_REPL_BENCH_PEER_SCRIPT_H
#define PRATTLE_REPL_BENCH_PEER_SCRIPT_H

/* The text of peer_torch.py, of which the Makefile makes peer_script.c. */
extern const char peer_script[];

#endif
