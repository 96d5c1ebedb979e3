#ifndef PRATTLE_REPL_COMMANDS_TYPED_NAME_H
#define PRATTLE_REPL_COMMANDS_TYPED_NAME_H

/* Returns rc; where the sentence is that there is no such setting, and names none that is near, it
 * says which page of help lists them. */
int typed_name_explain(int rc, const char *topic);

/* Returns rc; where the sentence is that a run has no such setting, and another program has it
 * (systems.h), it says what that is called here. */
int typed_name_of_system(int rc);

#endif
