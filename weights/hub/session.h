#ifndef PRATTLE_WEIGHTS_HUB_SESSION_H
#define PRATTLE_WEIGHTS_HUB_SESSION_H
/* Requests to one endpoint with patience: redirects are followed, and what may pass is tried again.
 */
#include "model/base/progress.h"
#include "weights/hub/http.h"

struct hub_session {
    char *endpoint, *token; /* owned; token NULL: none */
    double stall_s;
    double wait_s; /* before the second try; each further one waits twice as long */
    int tries;     /* in a row without a byte of a body */
    bool reached;  /* there was an answer */
    const struct progress *progress;
};
/* By the environment. ERR_UNSUPPORTED: offline. */
int hub_session_open(struct hub_session *s, const struct progress *p);
void hub_session_close(struct hub_session *s);

struct hub_reply {
    struct answer_head head;
    char *url;     /* that gave it, redirects followed; owned */
    bool may_pass; /* it failed, and another try may succeed */
};
void hub_reply_release(struct hub_reply *r);

/*
 * Send q, whose url and token are set here: from url, following redirects. The token goes to the
 * endpoint's scheme, host and port alone, and no redirect leads from https to http. A
 * redirect to another address with X-Repo-Commit and an ETag is the last answer to HEAD.
 *
 * returns  0: the last answer, whatever its status but 408, 429 and 5xx; ERR_IO: one of those, or
 * no answer; a callback's code; ERR_FORMAT: a redirect without end or to no http address. Release r
 * in any case.
 */
int hub_session_send(struct hub_session *s, struct hub_reply *r, const char *url,
                     struct http_request *q);
/* The same with tries again, after a while or after the answer's Retry-After; without callbacks. */
int hub_session_ask(struct hub_session *s, struct hub_reply *r, const char *url,
                    struct http_request *q);
/* Wait after try number `failed`, 1 for the first, as err_text says why. ERR_IO, the message kept:
 * it was the last; ERR_INTERRUPTED. asked_s: Retry-After, or -1. */
int hub_session_wait(struct hub_session *s, int failed, double asked_s);

#endif
