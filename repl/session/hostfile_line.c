#include "repl/session/hostfile_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char BLANK[] = " \t";

/* mpirun's names of each: its slots and their most, and the user and port of ssh. */
static const char *const names[HOST_KEYS][12] = {
    {"slots", "cpu", "count"},
    {"max_slots", "max-slots", "slots-max", "slots_max", "cpu-max", "cpu_max", "max-cpu", "max_cpu",
     "count-max", "count_max", "max-count", "max_count"},
    {"username", "user-name", "user_name"},
    {"port"},
};

static int find_key(const char *key, size_t n)
{
    for (int i = 0; i < HOST_KEYS; i++)
        for (size_t j = 0; j < sizeof names[i] / sizeof *names[i] && names[i][j] != NULL; j++)
            if (n == strlen(names[i][j]) && memcmp(key, names[i][j], n) == 0)
                return i;
    return -1;
}

/* A word KEY=VALUE with blanks about the sign or not, from text on. Returns what is behind it;
 * NULL: it is none. */
static const char *read_word(const char *text, size_t *n, const char **value)
{
    *n = strspn(text, "abcdefghijklmnopqrstuvwxyz_-");
    const char *at = text + *n + strspn(text + *n, BLANK);
    if (*n == 0 || *at++ != '=')
        return NULL;
    *value = at + strspn(at, BLANK);
    if (**value == '=')
        return NULL;
    at = *value + strcspn(*value, BLANK);
    return at + strspn(at, BLANK);
}

void host_line_read(struct host_line *l, const char *host, size_t n)
{
    const char *value, *keys[HOST_KEYS];
    size_t length;
    *l = (struct host_line){.text = ""};
    snprintf(l->name, sizeof l->name, "%.*s", (int)n, host);
    snprintf(l->text, sizeof l->text, "%.*s", (int)strcspn(host, "#\r\n"), host);
    n = n < strlen(l->text) ? n : strlen(l->text);
    for (const char *at = l->text + n + strspn(l->text + n, BLANK), *next; *at != '\0'; at = next) {
        next = read_word(at, &length, &value);
        const int key = next == NULL ? -1 : find_key(at, length);
        if (key < 0) {
            l->unknown = at;
            return;
        }
        if (l->values[key] != NULL && l->again == NULL) {
            l->first = keys[key];
            l->again = at;
        }
        keys[key] = at;
        l->values[key] = value;
    }
}

long host_line_number(const struct host_line *l, enum host_key key)
{
    const char *value = l->values[key];
    char *end;
    if (value == NULL)
        return 0;
    const long number = strtol(value, &end, 10);
    return number > 0 && end > value && strchr(BLANK, *end) != NULL ? number : -1;
}

int host_line_key_length(const char *word)
{
    return (int)strcspn(word, " \t=");
}

bool host_is_same(const char *a, size_t n, const char *b)
{
    const size_t short_a = strcspn(a, ".") < n ? strcspn(a, ".") : n, short_b = strcspn(b, ".");
    return n == strlen(b) ? memcmp(a, b, n) == 0
                          : short_a == short_b && memcmp(a, b, short_a) == 0 &&
                                (short_a == n || b[short_b] == '\0');
}
