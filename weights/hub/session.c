#include "weights/hub/session.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "weights/hub/environment.h"
#include "weights/hub/url.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double FIRST_WAIT_S = 1, MOST_WAIT_S = 30, MOST_ASKED_S = 300;
enum { TRIES = 6, MOST_REDIRECTS = 8 };

int hub_session_open(struct hub_session *s, const struct progress *p)
{
    *s = (struct hub_session){
        .stall_s = hub_stall_s(), .wait_s = FIRST_WAIT_S, .tries = TRIES, .progress = p};
    if (hub_is_offline())
        return err_set(ERR_UNSUPPORTED, "downloads are off (--offline or HF_HUB_OFFLINE)");
    if ((s->endpoint = hub_endpoint()) == NULL)
        return err_last();
    const int rc = hub_token(&s->token);
    if (rc != 0)
        hub_session_close(s);
    return rc;
}

void hub_session_close(struct hub_session *s)
{
    mem_free(s->endpoint);
    mem_free(s->token);
    s->endpoint = s->token = NULL;
}

void hub_reply_release(struct hub_reply *r)
{
    mem_free(r->url);
    r->url = NULL;
}

int hub_session_wait(struct hub_session *s, int failed, double asked_s)
{
    char why[256];
    double wait = s->wait_s * exp2(failed - 1);
    if (failed >= s->tries)
        return err_last();
    wait = asked_s >= 0 ? asked_s : wait < MOST_WAIT_S ? wait : MOST_WAIT_S;
    if (wait > MOST_ASKED_S)
        return err_set(ERR_IO, "%s, and asks to wait %.0f s; try again then", err_text(), wait);
    snprintf(why, sizeof why, "%s", err_text());
    progress_note(s->progress, "%s; trying again in %g s (%d of %d)", why, wait, failed + 1,
                  s->tries);
    for (const double end = clock_s() + wait; clock_s() < end;) {
        if (interrupt_pending())
            return err_set(ERR_INTERRUPTED, "interrupted");
        const double left = end - clock_s();
        clock_sleep_s(left < 0.1 ? left > 0 ? left : 0 : 0.1);
    }
    return 0;
}

static bool may_pass(int status)
{
    return status == 408 || status == 429 || (status >= 500 && status < 600);
}

static int send_once(struct hub_session *s, struct hub_reply *r, struct http_request *q)
{
    char host[80];
    enum http_failure why;
    const int rc = http_send(&r->head, &why, q), status = r->head.status;
    s->reached |= status != 0;
    r->may_pass = why == HTTP_MAY_PASS || (why == HTTP_UNREACHED && s->reached);
    if (rc != 0 || !may_pass(status))
        return rc;
    r->may_pass = true;
    url_host(host, q->url);
    return status == 429 ? err_set(ERR_IO, "%s has had too many requests (HTTP 429)", host)
                         : err_set(ERR_IO, "%s answers HTTP %d", host, status);
}

static bool is_redirect(const struct answer_head *a)
{
    const int s = a->status;
    return (s == 301 || s == 302 || s == 303 || s == 307 || s == 308) && a->location[0] != '\0';
}

/* Whether the answer is about the file, which lies elsewhere. A redirect to a path of the same host
 * is about the request: what ETag it has is its own. */
static bool says_file(const struct answer_head *a)
{
    return a->commit[0] != '\0' && answer_head_etag(a)[0] != '\0' && url_is_valid(a->location);
}

/* The next address; ERR_FORMAT: it is none to go to. */
static int follow_redirect(struct hub_reply *r)
{
    struct buf next = {0};
    char shown[80];
    int rc = url_join(&next, r->url, r->head.location);
    if (rc == ERR_FORMAT)
        rc = err_wrap("%s redirects", url_host(shown, r->url));
    if (rc == 0 && url_is_https(r->url) && !url_is_https(next.data))
        rc = err_set(ERR_FORMAT, "%s redirects from https to http, which is not followed",
                     url_host(shown, r->url));
    if (rc == 0) {
        mem_free(r->url);
        if ((r->url = mem_strdup(next.data)) == NULL)
            rc = ERR_NOMEM;
    }
    buf_release(&next);
    return rc;
}

int hub_session_send(struct hub_session *s, struct hub_reply *r, const char *url,
                     struct http_request *q)
{
    *r = (struct hub_reply){.url = mem_strdup(url)};
    if (r->url == NULL)
        return ERR_NOMEM;
    q->stall_s = s->stall_s;
    for (int hop = 0; hop <= MOST_REDIRECTS; hop++) {
        q->url = r->url;
        q->token = s->token != NULL && url_same_origin(r->url, s->endpoint) ? s->token : NULL;
        int rc = send_once(s, r, q);
        if (rc != 0 || !is_redirect(&r->head) || (q->head_only && says_file(&r->head)))
            return rc;
        if ((rc = follow_redirect(r)) != 0)
            return rc;
    }
    char shown[80];
    return err_set(ERR_FORMAT, "%s redirects without end", url_host(shown, r->url));
}

int hub_session_ask(struct hub_session *s, struct hub_reply *r, const char *url,
                    struct http_request *q)
{
    for (int failed = 1;; failed++) {
        int rc = hub_session_send(s, r, url, q);
        if (rc == 0 || !r->may_pass)
            return rc;
        if ((rc = hub_session_wait(s, failed, r->head.retry_after_s)) != 0)
            return rc;
        hub_reply_release(r);
    }
}
