#include "weights/hub/name.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file_show.h"

#include <stdio.h>
#include <string.h>

/* GPT-2s that were there before names had owners; the Hub redirects their old names. */
static const struct {
    const char *old, *name;
} renamed[] = {{"gpt2", "openai-community/gpt2"},
               {"gpt2-medium", "openai-community/gpt2-medium"},
               {"gpt2-large", "openai-community/gpt2-large"},
               {"gpt2-xl", "openai-community/gpt2-xl"},
               {"distilgpt2", "distilbert/distilgpt2"}};
enum { N_RENAMED = sizeof renamed / sizeof *renamed };

static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

const char *hub_name_other(const char *id)
{
    for (size_t i = 0; i < N_RENAMED; i++) {
        if (strcmp(renamed[i].old, id) == 0)
            return renamed[i].name;
        if (strcmp(renamed[i].name, id) == 0)
            return renamed[i].old;
    }
    return NULL;
}

bool hub_is_commit(const char *text)
{
    return strlen(text) == HUB_COMMIT_BYTES - 1 &&
           strspn(text, "0123456789abcdef") == HUB_COMMIT_BYTES - 1;
}

bool hub_is_file_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL && strlen(name) <= 200;
}

/* A part of an id: it begins and ends with a letter, a digit or "_". */
static bool id_part_is_valid(const char *part, size_t n)
{
    if (n == 0 || strchr(LETTERS, part[0]) == NULL || strchr(LETTERS, part[n - 1]) == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const bool mark = part[i] == '-' || part[i] == '.';
        if (!mark && (part[i] == '\0' || strchr(LETTERS, part[i]) == NULL))
            return false;
        if (mark && part[i + 1] == part[i]) /* "--" parts owner and name in the cache */
            return false;
    }
    return true;
}

static bool id_is_valid(const char *id)
{
    const char *slash = strchr(id, '/');
    const size_t n = strlen(id);
    if (n >= HUB_ID_BYTES || text_ends_in(id, ".git"))
        return false;
    if (slash == NULL)
        return id_part_is_valid(id, n);
    return strchr(slash + 1, '/') == NULL && id_part_is_valid(id, (size_t)(slash - id)) &&
           id_part_is_valid(slash + 1, strlen(slash + 1));
}

/* As git has it, but for what is odd in a path. */
static bool revision_is_valid(const char *revision)
{
    const size_t n = strlen(revision);
    if (n == 0 || n >= HUB_REVISION_BYTES || revision[n - 1] == '/' || revision[n - 1] == '.')
        return false;
    for (const char *p = revision; *p != '\0'; p++) {
        const bool begins = p == revision || p[-1] == '/';
        if (strchr(LETTERS, *p) == NULL && (begins || strchr("-./+", *p) == NULL))
            return false;
        if (*p == '.' && p[1] == '.')
            return false;
    }
    return !text_ends_in(revision, ".lock");
}

/* Cut the file or the quantization off the first n bytes of text, which name a model of an owner.
 * Returns the bytes of its id. */
static size_t cut_file(struct hub_name *name, const char *text, size_t n)
{
    const char *slash = memchr(text, '/', n);
    if (slash == NULL)
        return n;
    const char *end = text + n, *second = memchr(slash + 1, '/', (size_t)(end - slash - 1)),
               *colon = memchr(slash + 1, ':', (size_t)(end - slash - 1));
    const size_t n_file = second == NULL ? 0 : (size_t)(end - second - 1),
                 n_quant = colon == NULL ? 0 : (size_t)(end - colon - 1);
    if (n_file > 0 && n_file < sizeof name->file) {
        snprintf(name->file, sizeof name->file, "%.*s", (int)n_file, second + 1);
        if (hub_is_file_name(name->file) && text_ends_in(name->file, ".gguf"))
            return (size_t)(second - text);
        name->file[0] = '\0';
    } else if (n_quant > 0 && n_quant < sizeof name->quant) {
        snprintf(name->quant, sizeof name->quant, "%.*s", (int)n_quant, colon + 1);
        if (strspn(name->quant, LETTERS) == n_quant)
            return (size_t)(colon - text);
        name->quant[0] = '\0';
    }
    return n;
}

/* Why text is no name: "", or which part of it; NULL: it is one, in *n. */
static const char *parse_name(struct hub_name *n, const char *text)
{
    const size_t before = strcspn(text, "@");
    const char *revision = text[before] == '@' ? text + before + 1 : HUB_MAIN;
    *n = (struct hub_name){.given = text[before] == '@'};
    const size_t id = cut_file(n, text, before);
    snprintf(n->id, sizeof n->id, "%.*s", id < sizeof n->id ? (int)id : 0, text);
    if (!id_is_valid(n->id))
        return "";
    if (!revision_is_valid(revision))
        return "revision";
    snprintf(n->revision, sizeof n->revision, "%s", revision);
    return NULL;
}

int hub_name_read(struct hub_name *n, const char *text)
{
    const char *wrong = parse_name(n, text);
    if (wrong == NULL)
        return 0;
    return *wrong == '\0'
               ? err_set(ERR_RANGE,
                         "%s is not the name of a model on the Hub, as openai-community/gpt2 is",
                         file_quote(text))
               : err_set(ERR_RANGE, "%s: the revision after @ must be a branch, a tag or a commit",
                         file_quote(text));
}

bool hub_name_is(const char *text)
{
    static const char *const endings[] = {".gguf", ".safetensors", ".bin",  ".pt",
                                          ".json", ".txt",         ".yaml", ".jsonl"};
    struct hub_name n;
    if (text[strcspn(text, "/@")] == '\0')
        return hub_name_other(text) != NULL;
    if (parse_name(&n, text) != NULL)
        return false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && !n.given && n.file[0] == '\0'; i++)
        if (text_ends_in(text, endings[i]))
            return false;
    return true;
}
