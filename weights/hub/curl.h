#ifndef PRATTLE_WEIGHTS_HUB_CURL_H
#define PRATTLE_WEIGHTS_HUB_CURL_H
/*
 * libcurl, opened when the first request is made: with the two dozen libraries behind it, it would
 * take longer to load than the rest of the program.
 */
#include <curl/curl.h>

struct curl_calls {
    __typeof__(curl_global_init) *global_init;
    __typeof__(curl_easy_init) *easy_init;
    __typeof__(curl_easy_cleanup) *easy_cleanup;
    CURLcode (*easy_setopt)(CURL *curl, CURLoption option, ...);
    __typeof__(curl_easy_strerror) *easy_strerror;
    __typeof__(curl_multi_init) *multi_init;
    __typeof__(curl_multi_add_handle) *multi_add_handle;
    __typeof__(curl_multi_remove_handle) *multi_remove_handle;
    __typeof__(curl_multi_perform) *multi_perform;
    __typeof__(curl_multi_poll) *multi_poll;
    __typeof__(curl_multi_info_read) *multi_info_read;
    __typeof__(curl_slist_append) *slist_append;
    __typeof__(curl_slist_free_all) *slist_free_all;
};

/* The library's functions, for as long as the program runs. ERR_MISSING: it is not installed, and
 * how to. */
int curl_open(const struct curl_calls **out);

#endif
