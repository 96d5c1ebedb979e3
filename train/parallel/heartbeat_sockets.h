#ifndef PRATTLE_TRAIN_PARALLEL_HEARTBEAT_SOCKETS_H
#define PRATTLE_TRAIN_PARALLEL_HEARTBEAT_SOCKETS_H
/* The sockets of heartbeat.c; none of them blocks or is inherited. */
#include <netinet/in.h>
#include <stdbool.h>

enum { HEARTBEAT_CONNECT_MS = 3000, HEARTBEAT_BEGIN = 16 };

void heartbeat_close(int *fd); /* -1 afterwards */
void heartbeat_set_quick(int fd);
/* Where others can reach this host: its own way first, which those of this host take. Returns how
 * many there are, at most max. */
int heartbeat_list_addresses(struct sockaddr_in6 *out, int max, in_port_t port, bool here);
/* Listen by TCP, by all families at once where there is IPv6. ERR_IO. */
int heartbeat_bind(int *fd, bool here, in_port_t *port);
/* A connection by TCP; -1: none. */
int heartbeat_connect(const struct sockaddr_in6 *a);
/* By UDP, between the addresses and ports of a listener and of a connection to it; -1: none. */
int heartbeat_bind_datagrams(int tcp);
int heartbeat_connect_datagrams(int tcp);
/* Have the kernel drop datagrams that are not of n bytes with this begin, so that they take neither
 * time nor the room of others. begin [HEARTBEAT_BEGIN] */
void heartbeat_filter_datagrams(int fd, const unsigned char *begin, size_t n);

#endif
