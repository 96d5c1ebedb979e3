#ifndef PRATTLE_TESTS_HUB_SERVER_H
#define PRATTLE_TESTS_HUB_SERVER_H
/*
 * A Hub on the loopback: ROOT/ORG/NAME/FILE is served as /ORG/NAME/resolve/REVISION/FILE, the way
 * huggingface.co does; /api/models/ORG/NAME/revision/REVISION lists its files. *.safetensors, *.bin
 * and *.gguf are large files, whose bytes another host has
 * (127.0.0.2, under /cdn/). /NAME redirects to /openai-community/NAME. The one commit is
 * HUB_COMMIT, and "main" and "old" are its branch and tag.
 *
 * Faults are rules of words, of which the first that fits a request and is not used up is for it:
 *
 *     METHOD PART TIMES FAULT [ARGUMENT]
 *
 * METHOD - is any, PART a part of the path, TIMES 0 always. Faults:
 *
 *     drop N         N bytes of the body, then the end
 *     stall N        the same, then nothing
 *     slow N         N bytes at a time, 10 ms between
 *     status N       that status; "429 2" with Retry-After
 *     error N:CODE   that status with X-Error-Code
 *     norange        all bytes where some are asked for
 *     cut N          the same, and of these the first N
 *     endless N      status N, and a body without an end
 *     skew N         a range that begins N bytes later
 *     redirect U     to the address U
 *     detour         a redirect to the same path, with X-Repo-Commit and an ETag of its own
 *     other          other bytes, with their own ETag
 *     swap           other bytes, with the same ETag
 *     length N       Content-Length is N
 *     size N         X-Linked-Size is N
 *     hash H         the ETags are H
 *     commit C       X-Repo-Commit is C
 *     nocommit       no X-Repo-Commit
 *     encoded        Content-Encoding: gzip
 */
#include <stddef.h>

#define HUB_COMMIT "607a30d783dfa663caf39e06633721c8d4cfcd7e"

struct hub_server;
/* Serve root until hub_server_close. log: a file to which each request is appended, "METHOD PATH
 * HOST RANGE TOKEN" with - for what is not there; NULL: none. Aborts where it cannot listen. */
struct hub_server *hub_server_open(const char *root, const char *log);
void hub_server_close(struct hub_server *s);
int hub_server_port(const struct hub_server *s);
/* Add a rule; NULL takes all away. */
void hub_server_fault(struct hub_server *s, const char *rule);
/* Requests since the last call. */
int hub_server_requests(struct hub_server *s);
/* The last request that had this part in its line of the log; "" where there was none. Valid until
 * the next call. */
const char *hub_server_seen(struct hub_server *s, const char *part);

#endif
