#ifndef PRATTLE_REPL_TERMINAL_DURATION_H
#define PRATTLE_REPL_TERMINAL_DURATION_H

/* "3 h 20 min", "12 s", into out; returns out. */
const char *duration_text(char out[24], double s);
/* "1.3 ms", "0.21 s", "112.7 s", into out; returns out. */
const char *duration_short(char out[16], double s);

#endif
