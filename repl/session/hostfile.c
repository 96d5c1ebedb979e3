#include "repl/session/hostfile.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *hostfile_next(const char **text, size_t *n)
{
    while (**text != '\0') {
        const char *line = *text + strspn(*text, " \t");
        const size_t all = strcspn(line, "\n");
        *text = line + all + (line[all] != '\0');
        *n = strcspn(line, " \t\r\n#");
        if (*n > 0)
            return line;
    }
    return NULL;
}

static const char BLANK[] = " \t";

/* A word KEY=VALUE of a host's line, with blanks about the sign or not, from text on. Returns what
 * is behind it; NULL: it is none. */
static const char *read_word(const char *text, const char **key, size_t *n, const char **value)
{
    *key = text;
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

/* The words behind a host's name, up to the end of its line or a comment, put into line. */
static const char *find_words(char line[160], const char *host, size_t n)
{
    snprintf(line, 160, "%.*s", (int)strcspn(host, "#\r\n"), host);
    n = n < strlen(line) ? n : strlen(line);
    return line + n + strspn(line + n, BLANK);
}

/* What mpirun has for slots. */
static const char *const slot_keys[] = {"slots", "cpu", "count"};
enum { N_SLOT_KEYS = sizeof slot_keys / sizeof *slot_keys };

static bool is_one_of(const char *const *keys, size_t n_keys, const char *key, size_t n)
{
    for (size_t i = 0; i < n_keys; i++)
        if (n == strlen(keys[i]) && memcmp(key, keys[i], n) == 0)
            return true;
    return false;
}

/* The value of slots=; NULL: there is none. */
static const char *find_slots(char line[160], const char *host, size_t n)
{
    const char *key, *value, *slots = NULL;
    size_t length;
    for (const char *at = find_words(line, host, n); at != NULL && *at != '\0';) {
        at = read_word(at, &key, &length, &value);
        if (at != NULL && is_one_of(slot_keys, N_SLOT_KEYS, key, length))
            slots = value;
    }
    return slots;
}

static int refuse_words(const char *host, size_t n, const char *words)
{
    char name[64], shown[160], other[160];
    snprintf(name, sizeof name, "%.*s", (int)n, host);
    return err_set(ERR_FORMAT, "%s behind %s is not understood: slots=2 is, for 2 processes there",
                   file_show(other, sizeof other, words), file_show(shown, sizeof shown, name));
}

/* Those that mpirun has, by its slots and their most, and by the user and port of ssh. */
static bool is_known(const char *key, size_t n)
{
    static const char *const others[] = {"slots-max", "slots_max", "max-slots", "max_slots",
                                         "cpu-max",   "cpu_max",   "max-cpu",   "max_cpu",
                                         "count-max", "count_max", "max-count", "max_count",
                                         "username",  "user-name", "user_name", "port"};
    return is_one_of(slot_keys, N_SLOT_KEYS, key, n) ||
           is_one_of(others, sizeof others / sizeof *others, key, n);
}

static int check_words(const char *host, size_t n)
{
    char line[160];
    const char *key, *value;
    size_t length;
    for (const char *at = find_words(line, host, n), *next; *at != '\0'; at = next)
        if ((next = read_word(at, &key, &length, &value)) == NULL || !is_known(key, length))
            return refuse_words(host, n, at);
    return 0;
}

/* mpirun takes what is no number for -1. */
static int check_slots(const char *host, size_t n)
{
    char line[160], name[64], shown[160], *end;
    const char *slots = find_slots(line, host, n);
    if (slots == NULL ||
        (strtol(slots, &end, 10) > 0 && end > slots && strchr(" \t", *end) != NULL))
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)n, host);
    return err_set(ERR_FORMAT, "slots of %s must be a whole number from 1 on, as in slots=2",
                   file_show(shown, sizeof shown, name));
}

/* mpirun takes the end of a line as Windows has it for a word. */
static int check_end(const char *host)
{
    return host[strcspn(host, "#\r\n")] == '\r'
               ? err_set(ERR_FORMAT, "its lines end as those of Windows do, in CR LF: save it with "
                                     "LF alone")
               : 0;
}

/* Whether one of the lines from text up to `end` names it. */
static bool is_named(const char *text, const char *end, const char *host, size_t n)
{
    size_t length;
    for (const char *line; (line = hostfile_next(&text, &length)) != NULL && line < end;)
        if (length == n && memcmp(line, host, n) == 0)
            return true;
    return false;
}

/* mpirun counts the lines of a host, unless a later one has a number. */
static int check_again(const char *all, const char *host, size_t n)
{
    char line[160], name[64], shown[160];
    if (find_slots(line, host, n) == NULL || !is_named(all, host, host, n))
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)n, host);
    return err_set(ERR_FORMAT, "%s has slots= in its second line: one line has all of a host",
                   file_show(shown, sizeof shown, name));
}

int hostfile_check(const char *text)
{
    const char *all = text;
    char name[64], shown[160];
    size_t n;
    bool any = false;
    for (const char *host; (host = hostfile_next(&text, &n)) != NULL;) {
        int rc = check_end(host);
        any = true;
        if (rc == 0)
            rc = check_words(host, n);
        if (rc == 0)
            rc = check_slots(host, n);
        if (rc == 0)
            rc = check_again(all, host, n);
        if (rc != 0)
            return rc;
        if (*host != '-' && memchr(host, '=', n) == NULL)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)n, host);
        return err_set(ERR_FORMAT, "%s is not a host's name", file_show(shown, sizeof shown, name));
    }
    return any ? 0
               : err_set(ERR_FORMAT,
                         "no host is named: a line for each, such as localhost slots=2");
}

bool hostfile_is_same(const char *a, size_t n, const char *b)
{
    const size_t short_a = strcspn(a, ".") < n ? strcspn(a, ".") : n, short_b = strcspn(b, ".");
    return n == strlen(b) ? memcmp(a, b, n) == 0
                          : short_a == short_b && memcmp(a, b, short_a) == 0 &&
                                (short_a == n || b[short_b] == '\0');
}

bool hostfile_has_many(const char *text)
{
    size_t n, first_n;
    const char *first = hostfile_next(&text, &first_n), *host;
    while (first != NULL && (host = hostfile_next(&text, &n)) != NULL)
        if (n != first_n || memcmp(host, first, n) != 0)
            return true;
    return false;
}

int hostfile_without(struct buf *out, const char *text, const char *const *names, int n)
{
    size_t length;
    int rc = 0;
    for (const char *host; rc == 0 && (host = hostfile_next(&text, &length)) != NULL;) {
        bool named = false;
        for (int i = 0; i < n && !named; i++)
            named = hostfile_is_same(host, length, names[i]);
        if (!named)
            rc = buf_printf(out, "%.*s\n", (int)strcspn(host, "\n"), host);
    }
    return rc;
}

/* Of all lines; *every: each has a number of slots. */
static void count_places(const char *text, double *lines, double *slots, bool *every)
{
    char line[160];
    size_t n;
    *lines = *slots = 0;
    *every = true;
    for (const char *host; (host = hostfile_next(&text, &n)) != NULL; ++*lines) {
        const char *number = find_slots(line, host, n);
        *every &= number != NULL;
        *slots += number != NULL ? (double)strtol(number, NULL, 10) : 0;
    }
}

double hostfile_share(const char *left, const char *all)
{
    double lines, slots, left_lines, left_slots;
    bool every, left_every;
    count_places(all, &lines, &slots, &every);
    count_places(left, &left_lines, &left_slots, &left_every);
    return every && slots > 0 ? left_slots / slots : lines > 0 ? left_lines / lines : 1;
}
