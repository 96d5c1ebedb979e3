#ifndef PRATTLE_REPL_COMMANDS_SYSTEMS_H
#define PRATTLE_REPL_COMMANDS_SYSTEMS_H
/*
 * For those who come from another program: each option of its published commands and
 * configurations, and what it is called here.
 */

struct system_option {
    const char *system;
    const char *option; /* as it is written there */
    /* Settings of a run ("schedule.warmup"), options ("--top_k") and commands (":save"), separated
     * by ", "; "": none. */
    const char *here;
    const char *note; /* what is different, or why there is nothing */
};
/* Row i, NULL past the end. */
const struct system_option *system_option_at(int i);

#endif
