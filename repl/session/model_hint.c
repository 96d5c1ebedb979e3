#include "repl/session/model_hint.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/mem.h"
#include "model/base/utf8.h"
#include "kvcache/snapshot.h"
#include "repl/session/near_path.h"
#include "train/data/not_text.h"
#include "train/data/utf16.h"
#include "train/run/folder.h"
#include "weights/find.h"
#include "weights/tensors/sniff.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

enum { HEAD_BYTES = 512, LONG_NAME = 60, MOST_LOOKED = 64 };

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

/* Whether they may be text in UTF-8, in UTF-16 by its mark, or in a code page such as Latin-1: no
 * control characters but those of texts, and most of it ASCII where it is not UTF-8. */
static bool is_text_head(const char *head, size_t n)
{
    const size_t valid = utf8_valid(head, n), step = utf16_has_mark(head, n) ? 2 : 1;
    size_t ascii = 0;
    for (size_t i = 0; i + step <= n; i += step) {
        const unsigned char c = (unsigned char)head[i], other = (unsigned char)head[i + step - 1];
        if (step == 2 ? (c | other) == 0
                      : c < ' ' && (c == '\0' || strchr("\t\n\v\f\r\033", c) == NULL))
            return false;
        ascii += c < 0x80;
    }
    return step == 2
               ? n % 2 == 0 && n > 2
               : n > 0 && (valid == n || utf8_is_cut(head + valid, n - valid) || ascii > n / 2);
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
    bool is = file_read_at(&f, head, 0, n) == 0 && is_text_head(head, n) &&
              sniff_refuse_text(head, n) == 0;
    file_close(&f);
    return is;
}

/* Whether the folder has texts among its first files, and none of a model or a run. */
static bool has_texts(const char *path)
{
    static const char *const of_models[] = {"config.json",    "vocab.json",        "merges.txt",
                                            "tokenizer.json", "model.safetensors", "metrics.jsonl"};
    bool found = false;
    for (size_t i = 0; i < sizeof of_models / sizeof *of_models; i++)
        if (file_exists_in(path, of_models[i]))
            return false;
    DIR *dir = opendir(path);
    const char *name;
    for (int i = 0; i < MOST_LOOKED && !found && (name = folder_entry_next(dir)) != NULL; i++) {
        char *file = name[0] == '.' ? NULL : file_join(path, name);
        found = file != NULL && is_text_file(file);
        mem_free(file);
    }
    folder_entry_close(dir);
    return found;
}

/* A file of another program, or one that loading took for a folder's configuration. NULL: neither.
 */
static const char *other_kind(const char *why, const char *path)
{
    struct file f;
    struct stat s;
    static const char model[] = "is a model";
    char head[HEAD_BYTES];
    if (strstr(why, "config.json") == NULL || is_model_name(path) || stat(path, &s) != 0 ||
        !S_ISREG(s.st_mode) || file_open(&f, path) != 0)
        return NULL;
    const size_t n = f.bytes < sizeof head ? (size_t)f.bytes : sizeof head;
    const struct not_text *known = NULL;
    if (file_read_at(&f, head, 0, n) == 0)
        known = n > 4 && memcmp(head, "PK\3\4", 4) == 0 ? not_text_find_zip(path)
                                                        : not_text_find(head, n);
    file_close(&f);
    return known == NULL || strncmp(known->is, model, sizeof model - 1) == 0 ? "" : known->is;
}

static int refuse_other(const char *path, const char *is)
{
    return *is == '\0' ? err_set(ERR_FORMAT, "%s is not a model", file_quote(path))
                       : err_set(ERR_FORMAT, "%s %s, not a model", file_quote(path), is);
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

static int refuse_texts(const char *why, const char *path, const char *prefix)
{
    char word[256];
    return err_set(ERR_MISSING, "%s; it has texts: `%strain finetune data=%s` trains on them", why,
                   prefix, file_word(word, sizeof word, path));
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
    const bool text = before != NULL && is_text_file(path),
               folder = before != NULL && file_is_folder(path);
    const char *other = before == NULL || text ? NULL : other_kind(before, path);
    if (before == NULL)
        rc = ERR_NOMEM;
    else if (text)
        rc = refuse_text(path, prefix);
    else if (is_session_file(path))
        rc = refuse_session(path);
    else if (folder && run_folder_latest(&newest, path) == 0)
        rc = refuse_runs(path, newest, prefix);
    else if (folder && rc == ERR_MISSING && has_texts(path))
        rc = refuse_texts(before, path, prefix);
    else if (other != NULL)
        rc = refuse_other(path, other);
    else if (near_path_explain(err_set(rc, "%s", before), path) == ERR_MISSING &&
             strcmp(err_text(), before) == 0 && strncmp(before, "cannot open ", 12) == 0 &&
             !file_exists(path) && !weights_is_hub_name(path) && strncmp(path, "random:", 7) != 0)
        rc =
            err_set(rc, "there is no model %s: a model is a folder, a file, or ORG/NAME of the Hub",
                    file_quote(path));
    mem_free(newest);
    mem_free(before);
    return rc;
}
