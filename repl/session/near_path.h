#ifndef PRATTLE_REPL_SESSION_NEAR_PATH_H
#define PRATTLE_REPL_SESSION_NEAR_PATH_H

/* What may have been meant by a path that there is not: its folder with the entry there whose name
 * is nearest, in new memory. NULL: there is the path, or nothing near it. */
char *near_path(const char *typed);
/* err_text with the question whether that was meant, where it says that there is no such file.
 * Returns rc. */
int near_path_explain(int rc, const char *typed);

#endif
