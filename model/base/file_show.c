#include "model/base/file_show.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <utf8proc.h>

/* Below LEAST_TO_COUNT bytes there is no room to say how long a cut text is. */
enum { LONGEST_VISIBLE = 255, LONGEST_QUOTE = 120, LEAST_TO_COUNT = 48 };

/* Bytes of the first character of s; *safe: it may go to a terminal unescaped. */
static size_t next_character(const char *s, bool *safe)
{
    utf8proc_int32_t c;
    utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)s, -1, &c);
    *safe = n > 0 && utf8proc_category(c) != UTF8PROC_CATEGORY_CC &&
            utf8proc_category(c) != UTF8PROC_CATEGORY_CF;
    return n > 0 ? (size_t)n : 1;
}

/* Bytes of s after escaping. */
static size_t visible_bytes(const char *s)
{
    size_t all = 0;
    while (*s != '\0') {
        bool safe;
        size_t bytes = next_character(s, &safe);
        all += safe ? bytes : 4 * bytes;
        s += bytes;
    }
    return all;
}

const char *file_show(char *out, size_t n, const char *s)
{
    char cut[32] = "";
    size_t at = 0, all = visible_bytes(s), room = n - 1;
    if (all > room) {
        snprintf(cut, sizeof cut, n < LEAST_TO_COUNT ? "..." : "... (%zu bytes)", strlen(s));
        room -= strlen(cut);
    }
    while (*s != '\0') {
        bool safe;
        size_t bytes = next_character(s, &safe), need = safe ? bytes : 4 * bytes;
        if (at + need > room)
            break;
        for (size_t i = 0; i < bytes && !safe; i++)
            at += (size_t)snprintf(out + at, 5, "\\x%02x", (unsigned char)s[i]);
        if (safe) {
            memcpy(out + at, s, bytes);
            at += bytes;
        }
        s += bytes;
    }
    memcpy(out + at, cut, strlen(cut) + 1);
    return out;
}

const char *file_word(char *out, size_t n, const char *path)
{
    const bool plain = strpbrk(path, " \t\n'\"\\$&;()*?<>|#`!") == NULL && *path != '\0';
    const char *quote = strchr(path, '\'') == NULL ? "'" : "\"";
    if (plain || (*quote == '"' && strpbrk(path, "\"\\$`!") != NULL) || n < 8)
        return file_show(out, n, path);
    out[0] = *quote;
    file_show(out + 1, n - 2, path);
    strcat(out, quote);
    return out;
}

char *file_visible(const char *s)
{
    size_t all = visible_bytes(s), n = (all < LONGEST_VISIBLE ? all : LONGEST_VISIBLE) + 1;
    char *out = mem_alloc(n < 8 ? 8 : n);
    if (out != NULL)
        file_show(out, n < 8 ? 8 : n, s);
    return out;
}

const char *file_quote(const char *s)
{
    static _Thread_local char quotes[4][LONGEST_QUOTE + 1];
    static _Thread_local unsigned next;
    return file_show(quotes[next++ % 4], sizeof quotes[0], s);
}

int file_wrap(const char *path)
{
    char shown[LONGEST_VISIBLE + 1];
    return err_wrap("cannot load %s", file_show(shown, sizeof shown, path));
}

/* A name that is not there is seen. */
static char *name_of(const char *path)
{
    return file_visible(*path == '\0' ? "\"\"" : path);
}

int file_fails(const char *verb, const char *path)
{
    int saved = errno;
    char *shown = name_of(path);
    errno = saved;
    int rc = err_errno("cannot %s %s", verb, shown == NULL ? "file" : shown);
    mem_free(shown);
    return rc;
}

static bool leads_nowhere(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && stat(path, &st) != 0;
}

int file_error(const char *verb, const char *path)
{
    int saved = errno, rc = file_fails(verb, path);
    if (saved == ENOENT && leads_nowhere(path))
        return err_set(ERR_MISSING, "%s (it is a link that leads nowhere)", err_text());
    return saved == ENOENT || saved == ENOTDIR ? err_set(ERR_MISSING, "%s", err_text()) : rc;
}

int file_refuse(int code, const char *path, const char *what)
{
    char *shown = name_of(path);
    err_set(code, "%s %s", shown == NULL ? "file" : shown, what);
    mem_free(shown);
    return code;
}
