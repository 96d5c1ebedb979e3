#ifndef PRATTLE_TESTS_NOTES_H
#define PRATTLE_TESTS_NOTES_H
/* What work had to note (struct progress): zeroed memory of the caller, for .user beside .note. */
struct notes {
    int n;
    char first[512], last[512];
    char all[4096]; /* a line each */
};
void notes_take(void *user, const char *text);

#endif
