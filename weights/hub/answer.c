#include "weights/hub/answer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

void answer_head_init(struct answer_head *a)
{
    *a = (struct answer_head){
        .linked_bytes = -1, .bytes = -1, .from = -1, .to = -1, .of = -1, .retry_after_s = -1};
    a->date = a->retry_at = -1;
}

/* A whole number at the beginning of text; -1: there is none, or it is too large. */
static int64_t read_number(const char **text)
{
    const size_t n = strspn(*text, "0123456789");
    int64_t value = 0;
    if (n == 0 || n > 18)
        return -1;
    for (size_t i = 0; i < n; i++)
        value = value * 10 + (*(*text)++ - '0');
    return value;
}

static int64_t whole_number(const char *text)
{
    const int64_t value = read_number(&text);
    return *text == '\0' ? value : -1;
}

/* "abc" or W/"abc", which becomes the name of a file. */
static void read_etag(char out[HUB_ETAG_BYTES], const char *text)
{
    size_t n = strlen(text);
    if (strncmp(text, "W/", 2) == 0) {
        text += 2;
        n -= 2;
    }
    if (n >= 2 && text[0] == '"' && text[n - 1] == '"') {
        text++;
        n -= 2;
    }
    out[0] = '\0';
    if (n == 0 || n >= HUB_ETAG_BYTES || text[0] == '.')
        return;
    for (size_t i = 0; i < n; i++)
        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._+=",
                   text[i]) == NULL)
            return;
    memcpy(out, text, n);
    out[n] = '\0';
}

/* "bytes 5-9/10", "bytes * /10" without the blank */
static void read_range(struct answer_head *a, const char *text)
{
    a->from = a->to = a->of = -1;
    if (strncasecmp(text, "bytes ", 6) != 0)
        return;
    text += 6;
    int64_t from = -1, to = -1;
    if (*text == '*') {
        text++;
    } else {
        from = read_number(&text);
        if (from < 0 || *text++ != '-' || (to = read_number(&text)) < from)
            return;
    }
    if (*text++ != '/')
        return;
    a->of = whole_number(text);
    if (from >= 0 && a->of > to) {
        a->from = from;
        a->to = to;
    }
}

/* The three forms of RFC 9110, 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37
 * GMT", "Sun Nov  6 08:49:37 1994". Unix time; -1: no date. */
static int64_t read_date(const char *text)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char month[4];
    struct tm tm = {0};
    const bool found = sscanf(text, "%*3[A-Za-z], %2d %3s %4d %2d:%2d:%2d GMT", &tm.tm_mday, month,
                              &tm.tm_year, &tm.tm_hour, &tm.tm_min, &tm.tm_sec) == 6 ||
                       sscanf(text, "%*9[A-Za-z], %2d-%3s-%2d %2d:%2d:%2d GMT", &tm.tm_mday, month,
                              &tm.tm_year, &tm.tm_hour, &tm.tm_min, &tm.tm_sec) == 6 ||
                       sscanf(text, "%*3[A-Za-z] %3s %2d %2d:%2d:%2d %4d", month, &tm.tm_mday,
                              &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &tm.tm_year) == 6;
    const char *at = found && strlen(month) == 3 ? strstr(months, month) : NULL;
    if (at == NULL || (at - months) % 3 != 0 || tm.tm_mday < 1 || tm.tm_mday > 31 ||
        tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60 || tm.tm_year < 0)
        return -1;
    tm.tm_mon = (int)(at - months) / 3;
    if (tm.tm_year >= 1900)
        tm.tm_year -= 1900;
    else if (tm.tm_year < 70) /* of two digits */
        tm.tm_year += 100;
    return (int64_t)timegm(&tm);
}

/* Seconds, or a date: of the Hub's own clock where it says what that is. */
static void read_retry(struct answer_head *a, const char *value)
{
    a->retry_after_s = (double)whole_number(value);
    a->retry_at = a->retry_after_s < 0 ? read_date(value) : -1;
}

static void count_retry(struct answer_head *a)
{
    if (a->retry_at < 0)
        return;
    const int64_t left = a->retry_at - (a->date >= 0 ? a->date : (int64_t)time(NULL));
    a->retry_after_s = left > 0 ? (double)left : 0;
}

static void read_field(struct answer_head *a, const char *name, const char *value)
{
    if (strcasecmp(name, "X-Repo-Commit") == 0 && hub_is_commit(value))
        snprintf(a->commit, sizeof a->commit, "%s", value);
    else if (strcasecmp(name, "ETag") == 0)
        read_etag(a->etag, value);
    else if (strcasecmp(name, "X-Linked-Etag") == 0)
        read_etag(a->linked, value);
    else if (strcasecmp(name, "X-Linked-Size") == 0)
        a->linked_bytes = whole_number(value);
    else if (strcasecmp(name, "Content-Length") == 0)
        a->bytes = whole_number(value);
    else if (strcasecmp(name, "Content-Range") == 0)
        read_range(a, value);
    else if (strcasecmp(name, "Retry-After") == 0)
        read_retry(a, value);
    else if (strcasecmp(name, "Date") == 0)
        a->date = read_date(value);
    else if (strcasecmp(name, "Content-Encoding") == 0)
        a->encoded = strcasecmp(value, "identity") != 0;
    else if (strcasecmp(name, "Location") == 0 && strlen(value) < sizeof a->location)
        snprintf(a->location, sizeof a->location, "%s", value);
    else if (strcasecmp(name, "X-Error-Code") == 0 && strlen(value) < sizeof a->error)
        snprintf(a->error, sizeof a->error, "%s", value);
    count_retry(a);
}

void answer_head_line(struct answer_head *a, const char *line, size_t n)
{
    char text[ANSWER_LOCATION_BYTES + 64];
    while (n > 0 && (line[n - 1] == '\r' || line[n - 1] == '\n' || line[n - 1] == ' '))
        n--;
    if (n >= sizeof text || memchr(line, '\0', n) != NULL)
        return;
    memcpy(text, line, n);
    text[n] = '\0';
    if (strncmp(text, "HTTP/", 5) == 0) {
        const char *status = text + strcspn(text, " ");
        status += strspn(status, " ");
        answer_head_init(a);
        const int64_t number = read_number(&status);
        a->status = number >= 100 && number < 1000 ? (int)number : 0;
        return;
    }
    char *colon = strchr(text, ':');
    if (colon == NULL)
        return;
    *colon++ = '\0';
    read_field(a, text, colon + strspn(colon, " \t"));
}

const char *answer_head_etag(const struct answer_head *a)
{
    return a->linked[0] != '\0' ? a->linked : a->etag;
}
