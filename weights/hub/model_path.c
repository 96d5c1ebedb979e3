#include "weights/hub/model_path.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file_path.h"
#include "model/base/file_show.h"
#include "model/base/mem.h"
#include "weights/hub/environment.h"
#include "weights/hub/fetch.h"
#include "weights/hub/gguf_files.h"
#include "weights/hub/model_files.h"

#include <stdio.h>
#include <string.h>

/* What the cache has of a model; *folder, in new memory, if it loads: or the path of its file. */
static int look_up(enum hub_state *state, char **folder, const struct hub_name *n)
{
    struct hub_repository r;
    char commit[HUB_COMMIT_BYTES];
    *folder = NULL;
    int rc = hub_repository_init(&r, n->id);
    if (rc != 0)
        return rc;
    hub_repository_commit(&r, commit, n->revision);
    *state = n->file[0] == '\0' && n->quant[0] == '\0' ? hub_model_state(&r, commit) : HUB_ABSENT;
    if (*state == HUB_ABSENT && (*folder = hub_gguf_cached(&r, commit, n)) != NULL)
        *state = HUB_WHOLE;
    else if (*state != HUB_ABSENT && (*folder = hub_repository_snapshot(&r, commit)) == NULL)
        rc = ERR_NOMEM;
    hub_repository_release(&r);
    return rc;
}

/* The same under either of its names; n is then that one. */
static int look_up_either(enum hub_state *state, char **folder, struct hub_name *n)
{
    enum hub_state other_state;
    char *other_folder;
    const char *id = hub_name_other(n->id);
    struct hub_name other = *n;
    int rc = look_up(state, folder, n);
    if (rc != 0 || *state == HUB_WHOLE || id == NULL)
        return rc;
    snprintf(other.id, sizeof other.id, "%s", id);
    rc = look_up(&other_state, &other_folder, &other);
    if (rc != 0) {
        mem_free(*folder);
        return rc;
    }
    if (other_state > *state) {
        mem_free(*folder);
        *folder = other_folder;
        *state = other_state;
        *n = other;
    } else {
        mem_free(other_folder);
    }
    return rc;
}

char *hub_cached_path(const char *name)
{
    struct hub_name n;
    enum hub_state state;
    char *folder;
    if (hub_name_read(&n, name) != 0 || look_up_either(&state, &folder, &n) != 0) {
        err_clear();
        return NULL;
    }
    if (state == HUB_WHOLE)
        return folder;
    mem_free(folder);
    return NULL;
}

static void show_cached(char shown[HUB_GGUF_NAMES], const struct hub_name *n)
{
    struct hub_repository r;
    char commit[HUB_COMMIT_BYTES];
    shown[0] = '\0';
    if (hub_repository_init(&r, n->id) != 0)
        return;
    hub_repository_commit(&r, commit, n->revision);
    hub_gguf_cached_names(shown, &r, commit);
    hub_repository_release(&r);
}

/* What was asked for: "org/name", "org/name:Q8_0@v1". */
static int show_name(struct buf *out, const struct hub_name *n)
{
    int rc = buf_str(out, n->id);
    if (rc == 0 && n->quant[0] != '\0')
        rc = buf_printf(out, ":%s", n->quant);
    else if (rc == 0 && n->file[0] != '\0')
        rc = buf_printf(out, "/%s", n->file);
    if (rc == 0 && strcmp(n->revision, HUB_MAIN) != 0) /* the model itself may be there */
        rc = buf_printf(out, "@%s", n->revision);
    return rc;
}

/* What to fetch from elsewhere. */
static int show_files(struct buf *out, const struct hub_name *n)
{
    const char *named = strchr(n->id, '/') == NULL ? hub_name_other(n->id) : NULL;
    const bool a_file = n->quant[0] != '\0' || n->file[0] != '\0';
    int rc =
        buf_str(out, a_file ? "fetch " : "put config.json, model.safetensors and tokenizer.json");
    if (rc == 0 && a_file)
        rc = n->file[0] != '\0' ? buf_str(out, n->file)
                                : buf_printf(out, "the %s GGUF file", n->quant);
    if (rc == 0)
        rc = buf_printf(out, " of https://huggingface.co/%s %s", named == NULL ? n->id : named,
                        a_file ? "and load that" : "into a folder and load that");
    return rc;
}

/* Which files are here; where no answer came, what to fetch otherwise, and where to put it. */
static int refuse_fetch(int rc, const struct hub_name *n, bool reached)
{
    char why[512], shown[160], files[HUB_GGUF_NAMES];
    struct buf name = {0}, wanted = {0};
    char *cache = hub_cache_path();
    snprintf(why, sizeof why, "%s", err_text());
    file_show(shown, sizeof shown, cache == NULL ? "" : cache);
    mem_free(cache);
    show_cached(files, n);
    const int code = rc == ERR_UNSUPPORTED ? ERR_MISSING : rc;
    int shows = show_name(&name, n);
    if (shows == 0)
        shows = show_files(&wanted, n);
    if (shows != 0)
        rc = shows;
    else if (files[0] != '\0')
        rc = err_set(code,
                     "%s cannot be downloaded: %s; of its files the cache %s has %s: name one as "
                     "%s/FILE.gguf",
                     buf_text(&name), why, shown, files, n->id);
    else if (rc == ERR_UNSUPPORTED)
        rc = err_set(code, "%s is not in the cache %s, and %s", buf_text(&name), shown, why);
    else
        rc = err_set(code, "%s is not in the cache %s, and cannot be downloaded: %s%s%s",
                     buf_text(&name), shown, why, reached ? "" : "; without a network, ",
                     reached ? "" : buf_text(&wanted));
    buf_release(&name);
    buf_release(&wanted);
    return rc;
}

/* here: the cache has its weights, and an error is of the rest. */
static int download(char **out, const struct hub_name *n, bool anew, bool here,
                    const struct progress *p)
{
    struct hub_session s;
    struct hub_repository r;
    char commit[HUB_COMMIT_BYTES], file[HUB_FILE_BYTES];
    int rc = hub_session_open(&s, p);
    if (rc != 0)
        return rc == ERR_UNSUPPORTED && !here ? refuse_fetch(rc, n, false) : rc;
    rc = hub_fetch(commit, file, n, anew, &s);
    hub_session_close(&s);
    if (rc == ERR_INTERRUPTED)
        progress_note(p, "what has arrived of %s stays, and the next download resumes there",
                      n->id);
    else if (rc == ERR_IO && !here)
        rc = refuse_fetch(rc, n, s.reached);
    if (rc != 0 || (rc = hub_repository_init(&r, n->id)) != 0)
        return rc;
    char *folder = hub_repository_snapshot(&r, commit);
    *out = folder == NULL || file[0] == '\0' ? folder : file_join(folder, file);
    if (*out != folder)
        mem_free(folder);
    hub_repository_release(&r);
    return *out == NULL ? ERR_NOMEM : 0;
}

int hub_model_path(char **out, const char *name, bool anew, const struct progress *p)
{
    struct hub_name n;
    enum hub_state state;
    char *folder;
    *out = NULL;
    p = hub_progress(p);
    int rc = hub_name_read(&n, name);
    if (rc == 0)
        rc = look_up_either(&state, &folder, &n);
    if (rc != 0)
        return rc;
    if (state == HUB_WHOLE && !anew) {
        *out = folder;
        return 0;
    }
    const bool here = state == HUB_WEIGHTS && !anew;
    rc = download(out, &n, anew, here, p);
    if (rc != 0 && rc != ERR_INTERRUPTED && rc != ERR_NOMEM && here) {
        progress_note(p, "the tokenizer of %s is not in the cache: %s", n.id, err_text());
        *out = folder;
        return 0;
    }
    mem_free(folder);
    return rc;
}
