#include "repl/session/hostfile.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file_show.h"
#include "repl/session/hostfile_line.h"

#include <ifaddrs.h>
#include <stdio.h>
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

static int refuse_words(const struct host_line *l)
{
    char shown[160], other[160];
    return err_set(ERR_FORMAT, "%s behind %s is not understood: slots=2 is, for 2 processes there",
                   file_show(other, sizeof other, l->unknown),
                   file_show(shown, sizeof shown, l->name));
}

/* mpirun takes what is no number for -1. */
static int check_number(const struct host_line *l, enum host_key key, const char *name)
{
    char shown[160];
    if (host_line_number(l, key) >= 0)
        return 0;
    return err_set(ERR_FORMAT, "%s of %s must be a whole number from 1 on, as in %s=%s", name,
                   file_show(shown, sizeof shown, l->name), name, key == HOST_PORT ? "22" : "2");
}

static int refuse_again(const struct host_line *l)
{
    char shown[160], other[40] = "= twice";
    const int first = host_line_key_length(l->first), again = host_line_key_length(l->again);
    if (first != again || memcmp(l->first, l->again, (size_t)first) != 0)
        snprintf(other, sizeof other, "= and %.*s=", again, l->again);
    return err_set(ERR_FORMAT, "%s has %.*s%s in its line: one is enough",
                   file_show(shown, sizeof shown, l->name), first, l->first, other);
}

static int check_words(const struct host_line *l)
{
    if (l->unknown != NULL)
        return refuse_words(l);
    if (l->again != NULL)
        return refuse_again(l);
    int rc = check_number(l, HOST_SLOTS, "slots");
    if (rc == 0)
        rc = check_number(l, HOST_MAX_SLOTS, "max_slots");
    return rc == 0 ? check_number(l, HOST_PORT, "port") : rc;
}

/* mpirun takes the end of a line as Windows has it for a word. */
static int check_end(const char *host)
{
    return host[strcspn(host, "#\r\n")] == '\r'
               ? err_set(ERR_FORMAT, "its lines end as those of Windows do, in CR LF: save it with "
                                     "LF alone")
               : 0;
}

/* Slots that lines of one name have from text up to `end`, one of each line without a number. */
static long count_named(const char *text, const char *end, const struct host_line *l)
{
    struct host_line other;
    long slots = 0;
    size_t n;
    for (const char *line; (line = hostfile_next(&text, &n)) != NULL && line < end;)
        if (n == strlen(l->name) && memcmp(line, l->name, n) == 0) {
            host_line_read(&other, line, n);
            const long number = host_line_number(&other, HOST_SLOTS);
            slots += number > 0 ? number : 1;
        }
    return slots;
}

/* mpirun counts the lines of a host, unless a later one has a number. */
static int check_slots(const char *all, const char *host, const struct host_line *l)
{
    char shown[160];
    const long before = count_named(all, host, l), own = host_line_number(l, HOST_SLOTS),
               most = host_line_number(l, HOST_MAX_SLOTS),
               slots = own > 0      ? own
                       : before > 0 ? before + 1
                                    : 0;
    if (own > 0 && before > 0)
        return err_set(ERR_FORMAT, "%s has slots= in its second line: one line has all of a host",
                       file_show(shown, sizeof shown, l->name));
    return most == 0 || slots <= most
               ? 0
               : err_set(ERR_FORMAT, "max_slots of %s is %ld, less than its slots (%ld)",
                         file_show(shown, sizeof shown, l->name), most, slots);
}

static int line_number(const char *all, const char *host)
{
    int n = 1;
    for (; all < host; all++)
        n += *all == '\n';
    return n;
}

/* Another name of a host whose line `other` is. */
static int refuse_alias(const char *all, const char *other, const struct host_line *l)
{
    char shown[160];
    return err_set(ERR_FORMAT,
                   "%s is the host of line %d too, and has slots=: one line has all of "
                   "a host",
                   file_show(shown, sizeof shown, l->name), line_number(all, other));
}

int hostfile_check_own(const char *text, enum own_host (*find)(void *arg, const char *host),
                       void *arg)
{
    const char *all = text, *first = NULL;
    char shown[160];
    size_t n;
    for (const char *host; (host = hostfile_next(&text, &n)) != NULL;) {
        struct host_line l;
        host_line_read(&l, host, n);
        const enum own_host own = find(arg, l.name);
        int rc = 0;
        if (own == HOST_HIDDEN)
            rc = err_set(ERR_FORMAT,
                         "%s is this host, but mpirun would take it for another: name it localhost",
                         file_show(shown, sizeof shown, l.name));
        else if (own == HOST_OWN && first != NULL && host_line_number(&l, HOST_SLOTS) > 0)
            rc = refuse_alias(all, first, &l);
        if (rc != 0)
            return err_wrap("line %d", line_number(all, host));
        if (own == HOST_OWN && first == NULL)
            first = host;
    }
    return 0;
}

static enum own_host find_own(void *arg, const char *host)
{
    return own_host_of_text(arg, host);
}

static int check_own(const char *text)
{
    struct ifaddrs *own;
    if (getifaddrs(&own) != 0)
        return err_errno("cannot read this host's addresses");
    const int rc = hostfile_check_own(text, find_own, own);
    freeifaddrs(own);
    return rc;
}

/* red and red.lan are one to mpirun. */
static int check_domain(const char *all, const char *host, const struct host_line *l)
{
    const char *text = all;
    size_t n;
    if (host_line_number(l, HOST_SLOTS) == 0)
        return 0;
    for (const char *line; (line = hostfile_next(&text, &n)) != NULL && line < host;)
        if (host_is_same(line, n, l->name))
            return refuse_alias(all, line, l);
    return 0;
}

static int check_name(const struct host_line *l)
{
    char shown[160];
    return *l->name != '-' && strchr(l->name, '=') == NULL
               ? 0
               : err_set(ERR_FORMAT, "%s is not a host's name",
                         file_show(shown, sizeof shown, l->name));
}

int hostfile_check(const char *text)
{
    const char *all = text;
    bool any = false;
    size_t n;
    for (const char *host; (host = hostfile_next(&text, &n)) != NULL; any = true) {
        struct host_line l;
        host_line_read(&l, host, n);
        int rc = check_end(host);
        if (rc == 0)
            rc = check_name(&l);
        if (rc == 0)
            rc = check_words(&l);
        if (rc == 0)
            rc = check_slots(all, host, &l);
        if (rc == 0)
            rc = check_domain(all, host, &l);
        if (rc != 0)
            return err_wrap("line %d", line_number(all, host));
    }
    return any ? check_own(all)
               : err_set(ERR_FORMAT,
                         "no host is named: a line for each, such as localhost slots=2");
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
            named = host_is_same(host, length, names[i]);
        if (!named)
            rc = buf_printf(out, "%.*s\n", (int)strcspn(host, "\n"), host);
    }
    return rc;
}

/* Of all lines; *every: each has a number of slots. */
static void count_places(const char *text, double *lines, double *slots, bool *every)
{
    size_t n;
    *lines = *slots = 0;
    *every = true;
    for (const char *host; (host = hostfile_next(&text, &n)) != NULL; ++*lines) {
        struct host_line l;
        host_line_read(&l, host, n);
        const long number = host_line_number(&l, HOST_SLOTS);
        *every &= number > 0;
        *slots += number > 0 ? (double)number : 0;
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
