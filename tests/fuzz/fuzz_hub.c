/*
 * What a server says: the lines of an HTTP head, the address that it redirects to, an index of
 * shards; and names, which users type. What is accepted cannot lead out of the cache's folder, nor
 * a token to another host.
 */
#include "model/base/err.h"
#include "model/base/mem.h"
#include "tests/lib/need.h"
#include "tests/lib/scratch.h"
#include "weights/hub/answer.h"
#include "weights/hub/gguf_files.h"
#include "weights/hub/model_files.h"
#include "weights/hub/url.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define COMMIT "607a30d783dfa663caf39e06633721c8d4cfcd7e"

static bool is_safe_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

static void check_address(const char *location)
{
    static const char *const bases[] = {"https://hub.co:8443/a/b?c", "http://127.0.0.1"};
    for (size_t i = 0; i < 2; i++) {
        struct buf url = {0};
        if (url_join(&url, bases[i], location) == 0) {
            need(url_is_valid(url.data));
            need(strpbrk(url.data, " \t\r\n") == NULL);
            /* Whose origin it is, it has in front. */
            if (url_same_origin(url.data, bases[i]))
                need(strncasecmp(url.data, bases[i], i == 0 ? 14 : 16) == 0);
        }
        buf_release(&url);
    }
}

static void read_head(const char *text, size_t n)
{
    struct answer_head a;
    answer_head_init(&a);
    while (n > 0) {
        const char *end = memchr(text, '\n', n);
        const size_t line = end == NULL ? n : (size_t)(end - text) + 1;
        answer_head_line(&a, text, line);
        text += line;
        n -= line;
    }
    need(a.status == 0 || (a.status >= 100 && a.status < 1000));
    need(a.commit[0] == '\0' || hub_is_commit(a.commit));
    need(a.etag[0] == '\0' || is_safe_name(a.etag));
    need(a.linked[0] == '\0' || is_safe_name(a.linked));
    need(a.bytes >= -1 && a.linked_bytes >= -1 && a.retry_after_s >= -1);
    need((a.from == -1 && a.to == -1) || (a.from >= 0 && a.from <= a.to && a.to < a.of));
    check_address(a.location);
}

static void read_index(const char *text, size_t n)
{
    struct hub_file_list l;
    char folder[PATH_MAX + 64];
    snprintf(folder, sizeof folder, "%s/snapshots/" COMMIT, scratch_of_process()->folder);
    need(file_make_folder(folder) == 0);
    scratch_file("snapshots/" COMMIT "/index.json", text, n);
    const struct hub_repository r = {.folder = (char *)scratch_of_process()->folder};
    err_clear();
    if (hub_index_files(&l, &r, COMMIT, "index.json") != 0) {
        need(err_text()[0] != '\0');
        return;
    }
    for (int i = 0; i < l.n; i++)
        need(is_safe_name(l.names[i]));
    hub_file_list_release(&l);
}

static void read_list(const char *text, size_t n)
{
    struct hub_file_list l;
    err_clear();
    if (hub_gguf_read(&l, text, n) != 0) {
        need(err_text()[0] != '\0');
        return;
    }
    for (int i = 0; i < l.n; i++)
        need(is_safe_name(l.names[i]) && (i == 0 || strcmp(l.names[i - 1], l.names[i]) <= 0));
    hub_file_list_release(&l);
}

static void read_name(const char *text)
{
    struct hub_name n;
    if (hub_name_read(&n, text) != 0)
        return;
    need(strlen(n.id) < HUB_ID_BYTES && strstr(n.id, "--") == NULL && strstr(n.id, "..") == NULL);
    need(n.id[0] != '/' && n.id[0] != '.' && n.id[0] != '-');
    need(n.revision[0] != '/' && strstr(n.revision, "..") == NULL && n.revision[0] != '.');
    need(n.file[0] == '\0' || is_safe_name(n.file));
    need(strspn(n.quant, "/.@:") == 0);
    need(strstr(n.revision, "//") == NULL && strstr(n.revision, "/.") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const char *bytes = (const char *)data + 1;
    const size_t n = size - 1;
    char *text = mem_sprintf("%.*s", (int)n, bytes);
    need(text != NULL);
    switch (data[0]) {
    case 'h':
        read_head(bytes, n);
        break;
    case 'i':
        read_index(bytes, n);
        break;
    case 'l':
        read_list(bytes, n);
        break;
    case 'n':
        read_name(text);
        break;
    default:
        check_address(text);
    }
    mem_free(text);
    return 0;
}
