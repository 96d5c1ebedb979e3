#ifndef PRATTLE_TESTS_OPENS_H
#define PRATTLE_TESTS_OPENS_H
/* How often the files of a folder are opened, as the kernel counts. */

/* From here on. */
int opens_watch(const char *folder);
/* How often the file was opened since; no other one more than once. Ends the watch. */
int opens_count(int watch, const char *name);
/* The same, whatever the others. */
int opens_count_of(int watch, const char *name);

#endif
