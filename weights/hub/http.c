#include "weights/hub/http.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/progress.h"
#include "weights/hub/curl.h"
#include "weights/hub/url.h"

enum { POLL_MS = 100, LEAST_BYTES = 1024, MOST_UNREAD = 1 << 16 };

/* The connections that are open, for the next request to the same host. */
static CURLM *connections;

/* A request under way. */
struct exchange {
    const struct http_request *q;
    const struct curl_calls *curl;
    CURL *easy;
    struct curl_slist *fields;
    struct answer_head *head;
    bool begun;       /* begin was called */
    size_t unread;    /* bytes of a body that nobody wants: of an error or a redirect */
    int rc;           /* of a callback */
    uint64_t arrived; /* bytes of head and body */
    uint64_t seen;    /* of those at `since` */
    double since;
};

static size_t take_head(char *line, size_t size, size_t n, void *user)
{
    struct exchange *x = user;
    answer_head_line(x->head, line, size * n);
    x->arrived += size * n;
    return size * n;
}

static size_t take_body(char *bytes, size_t size, size_t n, void *user)
{
    struct exchange *x = user;
    const struct http_request *q = x->q;
    n *= size;
    x->arrived += n;
    if (x->head->status != 200 && x->head->status != 206) /* its end is not waited for */
        return (x->unread += n) <= MOST_UNREAD ? n : n + 1;
    if (!x->begun && q->begin != NULL)
        x->rc = q->begin(q->user, x->head);
    x->begun = true;
    if (x->rc == 0 && q->add != NULL)
        x->rc = q->add(q->user, bytes, n);
    return x->rc == 0 ? n : n + 1; /* which ends the transfer */
}

static int add_field(struct exchange *x, char *text)
{
    struct curl_slist *more = text == NULL ? NULL : x->curl->slist_append(x->fields, text);
    mem_free(text);
    if (more == NULL)
        return ERR_NOMEM;
    x->fields = more;
    return 0;
}

static int add_fields(struct exchange *x)
{
    const struct http_request *q = x->q;
    /* What arrives are the bytes that the hash is of. */
    int rc = add_field(x, mem_strdup("Accept-Encoding: identity"));
    if (rc == 0 && q->token != NULL)
        rc = add_field(x, mem_sprintf("Authorization: Bearer %s", q->token));
    if (rc == 0 && q->from > 0)
        rc = add_field(x, mem_sprintf("Range: bytes=%llu-", (unsigned long long)q->from));
    if (rc == 0 && q->from > 0 && q->if_etag != NULL)
        rc = add_field(x, mem_sprintf("If-Range: \"%s\"", q->if_etag));
    return rc == 0 ? 0 : err_set(ERR_NOMEM, "no memory for a request");
}

static int set_options(struct exchange *x)
{
    __typeof__(x->curl->easy_setopt) set = x->curl->easy_setopt;
    int bad = set(x->easy, CURLOPT_URL, x->q->url) != CURLE_OK;
    bad |= set(x->easy, CURLOPT_NOBODY, x->q->head_only ? 1L : 0L) != CURLE_OK;
    bad |= set(x->easy, CURLOPT_HTTPHEADER, x->fields) != CURLE_OK;
    bad |= set(x->easy, CURLOPT_USERAGENT, "prattle") != CURLE_OK;
    bad |= set(x->easy, CURLOPT_FOLLOWLOCATION, 0L) != CURLE_OK;
    bad |= set(x->easy, CURLOPT_NOSIGNAL, 1L) != CURLE_OK;
    bad |= set(x->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) != CURLE_OK;
    bad |= set(x->easy, CURLOPT_HEADERFUNCTION, take_head) != CURLE_OK;
    bad |= set(x->easy, CURLOPT_HEADERDATA, x) != CURLE_OK;
    bad |= set(x->easy, CURLOPT_WRITEFUNCTION, take_body) != CURLE_OK;
    bad |= set(x->easy, CURLOPT_WRITEDATA, x) != CURLE_OK;
    return bad ? err_set(ERR_NOMEM, "no memory for a request") : 0;
}

static int open_exchange(struct exchange *x)
{
    int rc = curl_open(&x->curl);
    if (rc != 0)
        return rc;
    x->easy = x->curl->easy_init();
    if (connections == NULL)
        connections = x->curl->multi_init();
    rc = x->easy == NULL || connections == NULL ? err_set(ERR_NOMEM, "no memory for a request")
                                                : add_fields(x);
    if (rc == 0)
        rc = set_options(x);
    if (rc == 0 && x->curl->multi_add_handle(connections, x->easy) != CURLM_OK)
        rc = err_set(ERR_NOMEM, "no memory for a request");
    return rc;
}

static void close_exchange(struct exchange *x)
{
    if (x->curl == NULL)
        return;
    if (connections != NULL && x->easy != NULL)
        x->curl->multi_remove_handle(connections, x->easy);
    x->curl->easy_cleanup(x->easy);
    x->curl->slist_free_all(x->fields);
}

/* Whether too little has arrived for too long. */
static bool has_stalled(struct exchange *x)
{
    const double now = clock_s();
    if (now - x->since < x->q->stall_s)
        return false;
    const bool stalled = x->arrived - x->seen < LEAST_BYTES;
    x->seen = x->arrived;
    x->since = now;
    return stalled;
}

static enum http_failure failure_of(CURLcode result)
{
    switch (result) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
        return HTTP_UNREACHED;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_OUT_OF_MEMORY:
        return HTTP_LASTS;
    default:
        return HTTP_MAY_PASS;
    }
}

/* Until the answer is there; *result is libcurl's. */
static int run_exchange(struct exchange *x, CURLcode *result, enum http_failure *why)
{
    char host[80];
    int running = 1, left;
    *result = CURLE_RECV_ERROR;
    x->since = clock_s();
    while (running > 0) {
        if (interrupt_pending())
            return err_set(ERR_INTERRUPTED, "interrupted");
        if (x->curl->multi_perform(connections, &running) != CURLM_OK)
            break;
        if (running > 0 && has_stalled(x)) {
            *why = HTTP_MAY_PASS;
            return err_set(ERR_IO, "%s sent nothing, or next to nothing, for %g s",
                           url_host(host, x->q->url), x->q->stall_s);
        }
        if (running > 0)
            x->curl->multi_poll(connections, NULL, 0, POLL_MS, NULL);
    }
    for (const CURLMsg *m; (m = x->curl->multi_info_read(connections, &left)) != NULL;)
        if (m->msg == CURLMSG_DONE)
            *result = m->data.result;
    return 0;
}

int http_send(struct answer_head *a, enum http_failure *why, const struct http_request *q)
{
    char host[80];
    CURLcode result = CURLE_OK;
    struct exchange x = {.q = q, .head = a};
    *why = HTTP_LASTS;
    answer_head_init(a);
    int rc = open_exchange(&x);
    if (rc == 0)
        rc = run_exchange(&x, &result, why);
    if (rc == 0 && x.rc != 0) {
        rc = x.rc;
    } else if (rc == 0 && result != CURLE_OK && x.unread <= MOST_UNREAD) {
        *why = failure_of(result);
        rc = err_set(ERR_IO, "%s: %s", url_host(host, q->url), x.curl->easy_strerror(result));
    } else if (rc == 0 && !x.begun && q->begin != NULL && (a->status == 200 || a->status == 206)) {
        rc = q->begin(q->user, a); /* of an empty body */
    }
    close_exchange(&x);
    return rc;
}
