#include "repl/session/model_hint.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "kvcache/snapshot.h"
#include "repl/session/near_path.h"
#include "train/run/folder.h"
#include "weights/find.h"
#include "weights/tensors/sniff.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <utf8proc.h>

enum { HEAD_BYTES = 512, LONG_NAME = 60 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Those that their authors published. */
static bool is_published_name(const char *name)
{
    static const char *const names[] = {"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Bytes of UTF-8 without NUL; the last character may be cut. */
static bool is_utf8_head(const char *head, size_t n)
{
    utf8proc_int32_t c;
    for (size_t i = 0; i < n;) {
        utf8proc_ssize_t used =
            utf8proc_iterate((const utf8proc_uint8_t *)head + i, (utf8proc_ssize_t)(n - i), &c);
        if (used < 1 && n - i >= 4)
            return false;
        if (used < 1)
            return i > 0;
        if (c == 0)
            return false;
        i += (size_t)used;
    }
    return n > 0;
}

/* A file of a model that is damaged is no text of somebody's. */
static bool is_model_name(const char *path)
{
    static const char *const ends[] = {".gguf", ".safetensors", ".bin", ".pt", ".json"};
    const char *dot = strrchr(base_name(path), '.');
    for (size_t i = 0; dot != NULL && i < sizeof ends / sizeof *ends; i++)
        if (strcmp(ends[i], dot) == 0)
            return true;
    return false;
}

/* What sniffing knows better, a page of a web site say, is no text to anybody. */
static bool is_text_file(const char *path)
{
    struct file f;
    struct stat s;
    char head[HEAD_BYTES];
    if (is_model_name(path) || stat(path, &s) != 0 || !S_ISREG(s.st_mode) ||
        file_open(&f, path) != 0)
        return false;
    size_t n = f.bytes < sizeof head ? (size_t)f.bytes : sizeof head;
    bool is = file_read_at(&f, head, 0, n) == 0 && is_utf8_head(head, n) &&
              sniff_refuse_text(head, n) == 0;
    file_close(&f);
    return is;
}

static bool is_session_file(const char *path)
{
    struct file f;
    struct stat s;
    if (stat(path, &s) != 0 || !S_ISREG(s.st_mode) || file_open(&f, path) != 0)
        return false;
    const bool is = snapshot_is(&f);
    file_close(&f);
    return is;
}

static int refuse_text(const char *path, const char *prefix)
{
    char word[2 * LONG_NAME];
    const char *use = strlen(path) > LONG_NAME ? "FILE" : file_word(word, sizeof word, path);
    return err_set(ERR_FORMAT,
                   "%s is a text file, not a model; `%seval %s` measures the model on it, "
                   "`%strain finetune data=%s` trains on it, `%sbatch %s` answers its lines",
                   file_quote(path), prefix, use, prefix, use, prefix, use);
}

static int refuse_session(const char *path)
{
    char word[256];
    return err_set(ERR_FORMAT, "%s is a saved session, not a model; `:session load %s` opens it",
                   file_quote(path), file_word(word, sizeof word, path));
}

/* A folder of runs is no model, but each of them may be. */
static int refuse_runs(const char *path, const char *newest, const char *prefix)
{
    const char *command = *prefix == ':' ? ":load" : "prattle";
    char shown[256];
    return err_set(ERR_MISSING, "%s is a folder of runs, not a model; `%s %s` opens the newest",
                   file_quote(path), command, file_word(shown, sizeof shown, newest));
}

/* Words where a model is expected, in the shell. */
static bool is_prompt(const char *path, const char *prefix)
{
    return *prefix != ':' && strchr(path, ' ') != NULL && strchr(path, '/') == NULL &&
           !file_exists(path);
}

static int refuse_prompt(const char *text)
{
    char word[256];
    return err_set(ERR_MISSING, "there is no model %s; `prattle -p %s` answers a prompt",
                   file_quote(text), file_word(word, sizeof word, text));
}

int model_hint(int rc, const char *path, const char *prefix)
{
    if (rc == 0 || rc == ERR_INTERRUPTED || rc == ERR_NOMEM)
        return rc;
    const char *name = base_name(path);
    if (!file_exists(path) && !weights_is_hub_name(path) && is_published_name(name))
        return err_set(
            ERR_MISSING,
            "there is no file or folder %s; %s alone is the model of that name on the Hub, "
            "random:%s its shape with random weights",
            file_quote(path), name, name);
    char *near = is_prompt(path, prefix) ? near_path(path) : NULL;
    const bool prompt = is_prompt(path, prefix) && near == NULL;
    mem_free(near);
    if (prompt)
        return refuse_prompt(path);
    char *before = mem_strdup(err_text()), *newest = NULL;
    const bool text = before != NULL && is_text_file(path);
    if (before != NULL && !text && is_session_file(path))
        rc = refuse_session(path);
    else if (before != NULL && file_is_folder(path) && run_folder_latest(&newest, path) == 0)
        rc = refuse_runs(path, newest, prefix);
    else if (text)
        rc = refuse_text(path, prefix);
    else
        rc = before == NULL ? ERR_NOMEM : near_path_explain(err_set(rc, "%s", before), path);
    mem_free(newest);
    mem_free(before);
    return rc;
}
