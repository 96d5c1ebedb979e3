#ifndef PRATTLE_WEIGHTS_HUB_HTTP_H
#define PRATTLE_WEIGHTS_HUB_HTTP_H
/* One HTTP request and its answer. Redirects are answers like others: who asks decides. Proxies and
 * certificates are as libcurl's environment variables have them. */
#include "weights/hub/answer.h"

#include <stdbool.h>

struct http_request {
    const char *url;
    bool head_only;      /* HEAD in place of GET */
    const char *token;   /* sent as Authorization: Bearer; NULL: none */
    uint64_t from;       /* ask for the bytes from here on */
    const char *if_etag; /* and only of the file with this ETag; NULL: any */
    double stall_s;      /* environment.h */
    /* For a status of 200 or 206 alone: before the first byte of the body, and for each part of it.
     * Other than 0 ends the request, which returns that. */
    int (*begin)(void *user, const struct answer_head *a);
    int (*add)(void *user, const void *bytes, size_t n);
    void *user;
};

/* Why there is no whole answer: HTTP_MAY_PASS: it ended early or stalled; HTTP_UNREACHED: no
 * connection, which may pass only where there was one before. */
enum http_failure { HTTP_LASTS, HTTP_MAY_PASS, HTTP_UNREACHED };

/*
 * Returns 0 if an answer has arrived as a whole, whatever its status; a callback's code;
 * ERR_INTERRUPTED; ERR_MISSING: there is no libcurl; ERR_IO: *why is set.
 */
int http_send(struct answer_head *a, enum http_failure *why, const struct http_request *q);

#endif
