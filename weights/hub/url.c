#include "weights/hub/url.h"

#include "model/base/err.h"
#include "model/base/file_show.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* An address in its parts, borrowed from it. */
struct origin {
    bool https;
    const char *host;
    size_t n_host;
    int port;
    const char *rest; /* from the path on */
};

static bool read_port(int *port, const char *digits, size_t n)
{
    if (n == 0)
        return true;
    if (n > 5)
        return false;
    *port = 0;
    for (size_t i = 0; i < n; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        *port = *port * 10 + (digits[i] - '0');
    }
    return *port > 0 && *port < 65536;
}

/* "host", "host:80", "[::1]:80" */
static bool read_authority(struct origin *o, const char *text, size_t n)
{
    if (memchr(text, '@', n) != NULL || memchr(text, '\\', n) != NULL)
        return false;
    const char *bracket = n > 0 && text[0] == '[' ? memchr(text, ']', n) : NULL;
    const size_t from = bracket == NULL ? 0 : (size_t)(bracket - text);
    const char *colon = memchr(text + from, ':', n - from);
    o->host = text;
    o->n_host = colon == NULL ? n : (size_t)(colon - text);
    if (o->n_host == 0 || (bracket != NULL && o->n_host != from + 1))
        return false;
    return colon == NULL || read_port(&o->port, colon + 1, n - o->n_host - 1);
}

static bool read_origin(struct origin *o, const char *url)
{
    for (const char *p = url; *p != '\0'; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f)
            return false;
    *o = (struct origin){.https = strncasecmp(url, "https://", 8) == 0};
    if (!o->https && strncasecmp(url, "http://", 7) != 0)
        return false;
    const char *authority = url + (o->https ? 8 : 7);
    const size_t n = strcspn(authority, "/?#");
    o->port = o->https ? 443 : 80;
    o->rest = authority + n;
    return read_authority(o, authority, n);
}

bool url_is_valid(const char *url)
{
    struct origin o;
    return read_origin(&o, url);
}

bool url_is_https(const char *url)
{
    struct origin o;
    return read_origin(&o, url) && o.https;
}

bool url_same_origin(const char *a, const char *b)
{
    struct origin x, y;
    return read_origin(&x, a) && read_origin(&y, b) && x.https == y.https && x.port == y.port &&
           x.n_host == y.n_host && strncasecmp(x.host, y.host, x.n_host) == 0;
}

/* The part of base before what location replaces. */
static size_t count_kept(const struct origin *o, const char *base, const char *location)
{
    if (strncmp(location, "//", 2) == 0)
        return (size_t)(strstr(base, "//") - base);
    if (location[0] == '/')
        return (size_t)(o->rest - base);
    size_t n = strcspn(o->rest, "?#");
    if (location[0] == '?' || location[0] == '#' || location[0] == '\0')
        return (size_t)(o->rest - base) + n;
    while (n > 0 && o->rest[n - 1] != '/')
        n--;
    return (size_t)(o->rest - base) + n;
}

int url_join(struct buf *out, const char *base, const char *location)
{
    struct origin o;
    const size_t before = out->n;
    int rc = 0;
    if (!read_origin(&o, base))
        return err_set(ERR_FORMAT, "%s is not an http or https address", file_quote(base));
    if (!url_is_valid(location) && strcspn(location, ":") >= strcspn(location, "/?#")) {
        const size_t kept = count_kept(&o, base, location);
        rc = buf_add(out, base, kept);
        if (rc == 0 && o.rest[0] != '/' && kept == (size_t)(o.rest - base) && location[0] != '/')
            rc = buf_char(out, '/');
    }
    if (rc == 0)
        rc = buf_str(out, location);
    if (rc == 0 && url_is_valid(out->data + before))
        return 0;
    out->n = before;
    if (out->data != NULL)
        out->data[before] = '\0';
    return rc != 0
               ? rc
               : err_set(ERR_FORMAT, "%s is not an http or https address", file_quote(location));
}

int url_quote(struct buf *out, const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    int rc = 0;
    for (const char *p = text; *p != '\0' && rc == 0; p++)
        rc = strchr(plain, *p) != NULL ? buf_char(out, *p)
                                       : buf_printf(out, "%%%02X", (unsigned)(unsigned char)*p);
    return rc;
}

const char *url_host(char out[80], const char *url)
{
    struct origin o;
    if (!read_origin(&o, url))
        return file_show(out, 80, url);
    snprintf(out, 80, "%.*s", (int)strcspn(o.host, "/?#"), o.host);
    return out;
}
