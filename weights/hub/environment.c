#include "weights/hub/environment.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/hub/url.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double STALL_S = 10;
enum { MAX_TOKEN = 4096 };

static bool set_offline;
static const struct progress *set_progress;

/* An empty variable counts as none. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

static bool variable_is_true(const char *name)
{
    static const char *const words[] = {"1", "on", "yes", "true"};
    const char *value = variable(name);
    for (size_t i = 0; value != NULL && i < sizeof words / sizeof *words; i++)
        if (strcasecmp(value, words[i]) == 0)
            return true;
    return false;
}

/* The variable that "$NAME" or "${NAME}" at text means, and the length of that; NULL: none is set.
 */
static const char *read_reference(size_t *n, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    const bool braced = text[1] == '{';
    const char *from = text + 1 + braced;
    const size_t length = braced ? strcspn(from, "}") : strspn(from, plain);
    *n = (size_t)(from - text) + length + braced;
    if (length == 0 || (braced && from[length] == '\0'))
        return NULL;
    char *name = mem_sprintf("%.*s", (int)length, from);
    const char *value = name == NULL ? NULL : getenv(name);
    mem_free(name);
    return value;
}

/* "~/x" and "$HOME/x", as Python's expanduser and expandvars have them: what is not set stays. */
static char *expand_path(const char *path)
{
    struct buf out = {0};
    char *text = file_expand(path);
    int rc = text == NULL ? ERR_NOMEM : 0;
    for (const char *at = text; rc == 0 && *at != '\0';) {
        size_t n = 1;
        const char *value = *at == '$' ? read_reference(&n, at) : NULL;
        n = value == NULL ? 1 : n;
        rc = value == NULL ? buf_char(&out, *at) : buf_str(&out, value);
        at += n;
    }
    mem_free(text);
    char *expanded = rc == 0 ? mem_strdup(buf_text(&out)) : NULL;
    buf_release(&out);
    return expanded;
}

static char *home_path(const char *name)
{
    const char *home = variable("HF_HOME"), *cache = variable("XDG_CACHE_HOME"),
               *user = variable("HOME");
    char *folder = home != NULL    ? expand_path(home)
                   : cache != NULL ? mem_sprintf("%s/huggingface", cache)
                   : user != NULL  ? mem_sprintf("%s/.cache/huggingface", user)
                                   : NULL;
    if (folder == NULL) {
        if (home == NULL && cache == NULL && user == NULL)
            err_set(ERR_MISSING, "neither HOME nor HF_HOME is set");
        return NULL;
    }
    char *path = file_join(folder, name);
    mem_free(folder);
    return path;
}

char *hub_cache_path(void)
{
    const char *path = variable("HF_HUB_CACHE");
    if (path == NULL)
        path = variable("HUGGINGFACE_HUB_CACHE");
    char *cache = path != NULL ? expand_path(path) : home_path("hub");
    if (cache == NULL || !file_exists(cache) || file_is_folder(cache))
        return cache;
    err_set(ERR_FORMAT,
            "the Hugging Face cache is %s, which is a file; HF_HUB_CACHE and HF_HOME "
            "name folders",
            file_quote(cache));
    mem_free(cache);
    return NULL;
}

char *hub_endpoint(void)
{
    const char *value = variable("HF_ENDPOINT");
    char *endpoint = mem_strdup(value == NULL ? "https://huggingface.co" : value);
    if (endpoint == NULL)
        return NULL;
    for (size_t n = strlen(endpoint); n > 0 && endpoint[n - 1] == '/'; n--)
        endpoint[n - 1] = '\0';
    if (url_is_valid(endpoint))
        return endpoint;
    err_set(ERR_RANGE,
            "HF_ENDPOINT must be an address as https://huggingface.co is, without a user's name, "
            "not %s",
            file_quote(endpoint));
    mem_free(endpoint);
    return NULL;
}

/* Cut blanks off both ends. */
static int trim_token(char **out, const char *text, const char *from)
{
    static const char BLANKS[] = " \t\r\n";
    text += strspn(text, BLANKS);
    size_t n = strlen(text);
    while (n > 0 && strchr(BLANKS, text[n - 1]) != NULL)
        n--;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] <= ' ' || (unsigned char)text[i] >= 0x7f)
            return err_set(
                ERR_FORMAT,
                "the token of %s has a space or a control character in it; it must be one "
                "word",
                file_quote(from));
    if (n == 0)
        return 0;
    return (*out = mem_sprintf("%.*s", (int)n, text)) == NULL ? ERR_NOMEM : 0;
}

int hub_token(char **out)
{
    *out = NULL;
    const char *token = variable("HF_TOKEN"), *named = variable("HF_TOKEN_PATH");
    if (variable_is_true("HF_HUB_DISABLE_IMPLICIT_TOKEN"))
        return 0; /* nor one of the environment: Python sends what its caller gives it alone */
    if (token != NULL)
        return trim_token(out, token, "HF_TOKEN");
    if ((token = variable("HUGGING_FACE_HUB_TOKEN")) != NULL) /* its name of old */
        return trim_token(out, token, "HUGGING_FACE_HUB_TOKEN");
    char *path = named != NULL ? expand_path(named) : home_path("token");
    if (path == NULL)
        return err_last() == ERR_MISSING ? 0 : ERR_NOMEM;
    struct buf text = {0};
    int rc = file_read_all(&text, path, MAX_TOKEN);
    if (rc == 0)
        rc = trim_token(out, buf_text(&text), path);
    else if (rc == ERR_MISSING)
        rc = 0;
    buf_release(&text);
    mem_free(path);
    return rc;
}

bool hub_is_offline(void)
{
    return set_offline || variable_is_true("HF_HUB_OFFLINE") ||
           variable_is_true("TRANSFORMERS_OFFLINE");
}

void hub_set_offline(bool offline)
{
    set_offline = offline;
}

void hub_set_progress(const struct progress *p)
{
    set_progress = p;
}

const struct progress *hub_progress(const struct progress *p)
{
    return p != NULL ? p : set_progress;
}

double hub_stall_s(void)
{
    const char *value = variable("HF_HUB_DOWNLOAD_TIMEOUT");
    char *end;
    const double s = value == NULL ? STALL_S : strtod(value, &end);
    return s > 0 && s <= 1e6 ? s : STALL_S;
}
