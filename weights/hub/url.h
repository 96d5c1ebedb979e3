#ifndef PRATTLE_WEIGHTS_HUB_URL_H
#define PRATTLE_WEIGHTS_HUB_URL_H
/* Addresses (RFC 3986), as far as redirects need them. */
#include "model/base/buf.h"

/* Whether it is http:// or https://, a host and maybe a port, without a user's name, blanks or
 * control characters. */
bool url_is_valid(const char *url);
/* Whether both have the same scheme, host and port. */
bool url_same_origin(const char *a, const char *b);
bool url_is_https(const char *url);
/* What `location` means in an answer from `base`, appended to out. ERR_FORMAT: no http or https
 * address. */
int url_join(struct buf *out, const char *base, const char *location);
/* Append text with all but letters, digits and -._~ as %XX. */
int url_quote(struct buf *out, const char *text);
/* "huggingface.co", "127.0.0.1:8000" for messages; out. */
const char *url_host(char out[80], const char *url);

#endif
