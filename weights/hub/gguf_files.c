#include "weights/hub/gguf_files.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "weights/hub/url.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ANSWER_MOST = 16 << 20 };

static int add_name(struct hub_file_list *l, const char *name)
{
    char **names =
        mem_grow(l->names, (size_t)l->n * sizeof *names, (size_t)(l->n + 1) * sizeof *names);
    if (names == NULL)
        return ERR_NOMEM;
    l->names = names;
    if ((names[l->n] = mem_strdup(name)) == NULL)
        return ERR_NOMEM;
    l->n++;
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* By name, whatever their order was. */
static void sort_names(struct hub_file_list *l)
{
    if (l->n > 0)
        qsort(l->names, (size_t)l->n, sizeof *l->names, compare_names);
}

/* ---- on the Hub ---- */

static int begin_answer(void *user, const struct answer_head *a)
{
    struct buf *text = user;
    (void)a;
    text->n = 0; /* of a try before */
    return 0;
}

static int add_answer(void *user, const void *bytes, size_t n)
{
    struct buf *text = user;
    return text->n + n > ANSWER_MOST
               ? err_set(ERR_FORMAT, "the Hub's list of files has more than %d bytes", ANSWER_MOST)
               : buf_add(text, bytes, n);
}

int hub_gguf_read(struct hub_file_list *l, const char *text, size_t n)
{
    json_t *answer = NULL;
    const json_t *one;
    size_t i;
    *l = (struct hub_file_list){0};
    int rc = json_read_line(&answer, text, n);
    json_array_foreach(json_object_get(answer, "siblings"), i, one)
    {
        const char *name = json_string_value(json_object_get(one, "rfilename"));
        if (rc == 0 && name != NULL && hub_is_file_name(name) && text_ends_in(name, ".gguf"))
            rc = add_name(l, name);
    }
    json_decref(answer);
    sort_names(l);
    if (rc != 0)
        hub_file_list_release(l);
    return rc == 0 || rc == ERR_NOMEM ? rc : err_wrap("the Hub's list of files");
}

int hub_gguf_list(struct hub_file_list *l, const struct hub_name *n, const char *commit,
                  struct hub_session *s)
{
    struct buf url = {0}, text = {0};
    struct hub_reply reply = {0};
    struct http_request q = {.begin = begin_answer, .add = add_answer, .user = &text};
    *l = (struct hub_file_list){0};
    int rc = buf_printf(&url, "%s/api/models/%s/revision/", s->endpoint, n->id);
    if (rc == 0)
        rc = url_quote(&url, commit[0] != '\0' ? commit : n->revision);
    if (rc == 0) {
        rc = hub_session_ask(s, &reply, buf_text(&url), &q);
        if (rc == 0 && reply.head.status == 200)
            rc = hub_gguf_read(l, buf_text(&text), text.n);
        hub_reply_release(&reply);
    }
    buf_release(&url);
    buf_release(&text);
    return rc;
}

/* ---- which ---- */

static bool is_mark(char c)
{
    return c == '.' || c == '-' || c == '_';
}

/* "gpt2.Q8_0.gguf" and "gpt2-q8_0.gguf" are of Q8_0. */
static bool is_of(const char *name, const char *quant)
{
    const size_t n = strlen(quant);
    for (const char *at = name; (at = strcasestr(at, quant)) != NULL; at++)
        if (at > name && is_mark(at[-1]) && (at[n] == '.' || at[n] == '-'))
            return true;
    return false;
}

static bool is_meant(const char *name, const struct hub_name *n)
{
    return n->file[0] != '\0'    ? strcmp(name, n->file) == 0
           : n->quant[0] != '\0' ? is_of(name, n->quant)
                                 : true;
}

static int join_names(char shown[HUB_GGUF_NAMES], const struct hub_file_list *l)
{
    struct buf names = {0};
    int rc = buf_str(&names, "");
    for (int i = 0; i < l->n && rc == 0; i++)
        rc = buf_printf(&names, i == 0 ? "%s" : ", %s", l->names[i]);
    file_show(shown, HUB_GGUF_NAMES, buf_text(&names));
    buf_release(&names);
    return rc;
}

static int refuse_names(const struct hub_file_list *l, const struct hub_name *n, int found)
{
    char shown[HUB_GGUF_NAMES];
    const int rc = join_names(shown, l);
    if (rc != 0)
        return rc;
    if (l->n == 0)
        return err_set(ERR_MISSING, "%s has no GGUF files", n->id);
    if (found > 1)
        return err_set(ERR_MISSING,
                       "%s has %d GGUF files%s%s: name one as %s/FILE.gguf, or as %s:Q8_0; there "
                       "are %s",
                       n->id, found, n->quant[0] != '\0' ? " of " : "", n->quant, n->id, n->id,
                       shown);
    return err_set(ERR_MISSING, "%s has no %s%s; there are %s", n->id,
                   n->file[0] != '\0' ? n->file : "GGUF file of ",
                   n->file[0] != '\0' ? "" : n->quant, shown);
}

int hub_gguf_choose(const char **out, const struct hub_file_list *l, const struct hub_name *n)
{
    int found = 0;
    *out = NULL;
    for (int i = 0; i < l->n; i++)
        if (is_meant(l->names[i], n)) {
            *out = l->names[i];
            found++;
        }
    return found == 1 ? 0 : refuse_names(l, n, found);
}

/* Those of a commit that are in the cache; *folder, in new memory, has them. */
static int list_cached(struct hub_file_list *l, char **folder, const struct hub_repository *r,
                       const char *commit)
{
    *folder = commit[0] == '\0' ? NULL : hub_repository_snapshot(r, commit);
    DIR *dir = *folder == NULL ? NULL : opendir(*folder);
    int rc = 0;
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;)
        if (text_ends_in(name, ".gguf") && hub_repository_has(r, commit, name))
            rc = add_name(l, name);
    folder_entry_close(dir);
    return rc;
}

char *hub_gguf_cached(const struct hub_repository *r, const char *commit, const struct hub_name *n)
{
    struct hub_file_list l = {0};
    const char *file = NULL;
    char *folder, *path = NULL;
    if (list_cached(&l, &folder, r, commit) == 0 && l.n > 0) {
        if (hub_gguf_choose(&file, &l, n) == 0)
            path = file_join(folder, file);
        else
            err_clear();
    }
    hub_file_list_release(&l);
    mem_free(folder);
    return path;
}

void hub_gguf_cached_names(char shown[HUB_GGUF_NAMES], const struct hub_repository *r,
                           const char *commit)
{
    struct hub_file_list l = {0};
    char *folder;
    if (list_cached(&l, &folder, r, commit) == 0)
        sort_names(&l);
    if (join_names(shown, &l) != 0)
        shown[0] = '\0';
    hub_file_list_release(&l);
    mem_free(folder);
}
