#ifndef PRATTLE_TESTS_HUB_ANSWER_H
#define PRATTLE_TESTS_HUB_ANSWER_H
/* What the Hub of hub_server.h answers a request. */
#include <stdbool.h>

struct fault {
    char method[8], part[128], name[16], argument[256];
    int left; /* 0: always */
    bool spent;
};

struct hub_server;
struct request {
    struct hub_server *server;
    const char *root; /* of the server, as is the port */
    int port;
    int fd;
    char method[8], path[1024], host[128], range[64], token[128];
    struct fault fault; /* name "": none */
};

/* Answer the request with its fault; the connection stays open. */
void hub_answer(struct request *q);

#endif
