#include "train/data/gunzip.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

enum { GZIP_ONLY = 16 + MAX_WBITS };

int gunzip_open(struct gunzip *g, long (*next)(void *user, const void **bytes), void *user)
{
    *g = (struct gunzip){.next = next, .user = user, .inside = true};
    g->z = mem_array(1, sizeof *g->z);
    if (g->z == NULL)
        return ERR_NOMEM;
    if (inflateInit2(g->z, GZIP_ONLY) == Z_OK)
        return 0;
    mem_free(g->z);
    g->z = NULL;
    return err_set(ERR_NOMEM, "no memory to unpack");
}

void gunzip_close(struct gunzip *g)
{
    if (g->z == NULL)
        return;
    inflateEnd(g->z);
    mem_free(g->z);
    *g = (struct gunzip){0};
}

static int set_why(struct gunzip *g, const char *why)
{
    g->why = why;
    return ERR_FORMAT;
}

/* More packed bytes where there are none left; *got false: at their end. */
static int take_packed(struct gunzip *g, bool *got)
{
    const void *bytes = NULL;
    *got = g->z->avail_in > 0;
    if (*got)
        return 0;
    const long n = g->next(g->user, &bytes);
    if (n < 0)
        return set_why(g, NULL);
    g->z->next_in = (z_const Bytef *)bytes;
    g->z->avail_in = (uInt)n;
    *got = n > 0;
    return 0;
}

/* Behind a member: another one, or zeros to the end. */
static int begin_member(struct gunzip *g)
{
    struct z_stream_s *z = g->z;
    const bool padded = *z->next_in == 0;
    for (; z->avail_in > 0 && *z->next_in == 0; z->next_in++)
        z->avail_in--;
    if (z->avail_in == 0)
        return 0;
    if (padded || *z->next_in != 0x1f)
        return set_why(g, "behind its end there are bytes that gzip did not write");
    g->inside = true;
    return inflateReset(z) == Z_OK ? 0 : set_why(g, "it is damaged");
}

static int inflate_some(struct gunzip *g)
{
    const int rc = inflate(g->z, Z_NO_FLUSH);
    if (rc == Z_STREAM_END)
        g->inside = false;
    if (rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR)
        return 0;
    if (rc == Z_MEM_ERROR)
        return set_why(g, "there is no memory for it");
    const char *said = g->z->msg == NULL ? "" : g->z->msg;
    return set_why(g, strcmp(said, "incorrect data check") == 0     ? "its checksum is wrong"
                      : strcmp(said, "incorrect length check") == 0 ? "its length is wrong"
                      : *said == '\0'                               ? "it is damaged"
                                                                    : said);
}

int gunzip_read(struct gunzip *g, char *dst, size_t n, size_t *got)
{
    bool more = true;
    int rc = 0;
    *got = 0;
    while (rc == 0 && *got < n) {
        rc = take_packed(g, &more);
        if (rc != 0 || !more)
            break;
        if (!g->inside) {
            rc = begin_member(g);
            continue;
        }
        const size_t room = n - *got < UINT_MAX ? n - *got : UINT_MAX;
        g->z->next_out = (Bytef *)dst + *got;
        g->z->avail_out = (uInt)room;
        rc = inflate_some(g);
        *got += room - g->z->avail_out;
    }
    return rc == 0 && !more && g->inside ? set_why(g, "it is cut off") : rc;
}
