#include "repl/commands/typed_path.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/settings_words.h"
#include "repl/session/near_path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 256 };

static const char *value_of(const char *word)
{
    const size_t key = settings_pair_key(word);
    return word + key + (key > 0);
}

static bool path_exists(const char *typed)
{
    char *path = file_expand(typed);
    const bool exists = path != NULL && file_exists(path);
    mem_free(path);
    return exists;
}

/* The words, or the value of the first and the words behind it, as a path in `out`. */
static int join_path(struct buf *out, char *const *words, int n)
{
    int rc = buf_str(out, value_of(words[0]));
    for (int i = 1; i < n && rc == 0; i++)
        rc = buf_printf(out, " %s", words[i]);
    return rc;
}

/* Whether the first word begins a path of several that there is; the path in `out`. */
static bool find_path(struct buf *out, char *const *words, int n)
{
    for (int i = 1; i <= n; i++) {
        out->n = 0;
        if (join_path(out, words, i) != 0)
            return false;
        if (path_exists(buf_text(out)))
            return i > 1;
    }
    return false;
}

/* Whether words side by side are a path that there is; the sentence says how to type it. */
static bool explain_spaced(int rc, char *const *words, int n)
{
    char shown[SHOWN];
    struct buf path = {0};
    bool found = false;
    for (int i = 0; i + 1 < n && !found; i++) {
        const int key = (int)(value_of(words[i]) - words[i]);
        if ((found = find_path(&path, words + i, n - i)))
            err_set(rc, "a path with spaces stands in quotes: %.*s%s", key, words[i],
                    file_word(shown, sizeof shown, buf_text(&path)));
    }
    buf_release(&path);
    return found;
}

int typed_path_explain(int rc, char *const *words, int n)
{
    if (explain_spaced(rc, words, n))
        return rc;
    for (int i = 0; i < n && text_ends_in(err_text(), strerror(ENOENT)); i++)
        near_path_explain(rc, value_of(words[i]));
    return rc;
}

int typed_path_explain_option(int rc, char *const *words, int n)
{
    char shown[SHOWN], path[SHOWN + 2];
    for (int i = 0; i < n && rc == ERR_MISSING; i++) {
        if (words[i][0] != '-' || strlen(words[i]) >= SHOWN || !path_exists(words[i]))
            continue;
        snprintf(path, sizeof path, "./%s", words[i]);
        return err_set(rc, "the name of a file that begins with - is written %s",
                       file_word(shown, sizeof shown, path));
    }
    return rc;
}
