#ifndef PRATTLE_WEIGHTS_HUB_ANSWER_H
#define PRATTLE_WEIGHTS_HUB_ANSWER_H
/*
 * The head of an HTTP answer, and what the Hub says in it about a file: X-Repo-Commit,
 * X-Linked-Etag (SHA-256 of a large file), X-Linked-Size, ETag (git's hash of a small one),
 * X-Error-Code. A field with a value that cannot be is taken for absent.
 */
#include "weights/hub/name.h"

#include <stdint.h>

enum { HUB_ETAG_BYTES = 129, ANSWER_LOCATION_BYTES = 8192, ANSWER_ERROR_BYTES = 64 };

struct answer_head {
    int status;
    char commit[HUB_COMMIT_BYTES];
    char etag[HUB_ETAG_BYTES];   /* without quotes; safe as the name of a file */
    char linked[HUB_ETAG_BYTES]; /* the same of X-Linked-Etag */
    int64_t linked_bytes, bytes; /* X-Linked-Size, Content-Length; -1: not said */
    int64_t from, to, of;        /* Content-Range; -1: not said; of alone: "bytes * /123" */
    double retry_after_s;        /* Retry-After; -1: not said. A date counts from Date, or now */
    int64_t date, retry_at;      /* Date, and Retry-After as a date, in Unix time; -1: not said */
    bool encoded;                /* Content-Encoding other than identity */
    char location[ANSWER_LOCATION_BYTES];
    char error[ANSWER_ERROR_BYTES]; /* X-Error-Code */
};

/* Before the first line. */
void answer_head_init(struct answer_head *a);
/* A line of n bytes, with or without its end. The line with the status begins an answer anew. */
void answer_head_line(struct answer_head *a, const char *line, size_t n);
/* The hash by which the Hub names the file, or "". */
const char *answer_head_etag(const struct answer_head *a);

#endif
