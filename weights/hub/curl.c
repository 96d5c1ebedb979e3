#include "weights/hub/curl.h"

#include "model/base/err.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static struct curl_calls calls;

static const struct {
    const char *name;
    size_t offset;
} names[] = {
#define CALL(function)                                                                             \
    {                                                                                              \
        "curl_" #function, offsetof(struct curl_calls, function)                                   \
    }
    CALL(global_init),    CALL(easy_init),  CALL(easy_cleanup),     CALL(easy_setopt),
    CALL(easy_strerror),  CALL(multi_init), CALL(multi_add_handle), CALL(multi_remove_handle),
    CALL(multi_perform),  CALL(multi_poll), CALL(multi_info_read),  CALL(slist_append),
    CALL(slist_free_all),
#undef CALL
};

static int read_calls(void *library)
{
    struct curl_calls found = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *function = dlsym(library, names[i].name);
        if (function == NULL)
            return err_set(ERR_UNSUPPORTED, "libcurl has no %s; prattle needs 7.66 or newer",
                           names[i].name);
        memcpy((char *)&found + names[i].offset, &function, sizeof function);
    }
    if (found.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(ERR_IO, "libcurl does not start");
    calls = found;
    return 0;
}

int curl_open(const struct curl_calls **out)
{
    /* Both have the same functions; they differ in what they encrypt with. */
    static const char *const files[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    void *library = NULL;
    *out = &calls;
    if (calls.global_init != NULL)
        return 0;
    for (size_t i = 0; i < sizeof files / sizeof *files && library == NULL; i++)
        library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    return library != NULL
               ? read_calls(library)
               : err_set(ERR_MISSING, "downloading needs libcurl: install it (Debian and "
                                      "Ubuntu: apt-get install libcurl4)");
}
