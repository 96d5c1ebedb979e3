#include "train/eval/eval.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "train/data/source.h"
#include "train/eval/evals.h"

#include <string.h>

#define LINES " data_field data_prompt_template data_completion_template"
#define WIKITEXT                                                                                   \
    "wikitext/wiki.test.raw|wikitext-103-raw/wiki.test.raw|wikitext-2-raw/wiki.test.raw|"          \
    "wiki.test.raw"
#define WIKITEXT_FROM                                                                              \
    "wikitext-2-raw-v1.zip from https://huggingface.co/datasets/ggml-org/ci, save its "            \
    "wiki.test.raw as"

/* clang-format off */
static const struct eval table[] = {
{.name = "wikitext", .argument = "[FILE]", .options = "limit like json", .settings = "seq_length overlap detokenize special", .run = eval_wikitext,
 .help = "word-level perplexity on the WikiText test set",
 .reads = "plain text\twiki.test.raw as published, its words split by spaces",
 .file = WIKITEXT, .published = "wikitext", .where = WIKITEXT_FROM},
{.name = "lambada", .argument = "[FILE]", .options = "limit strict json", .settings = "seq_length", .run = eval_lambada,
 .help = "LAMBADA accuracy: last token, or word with --strict",
 .reads = "JSON lines\tone passage a line\n"
          "  text\tthe passage; its last word is the one to predict",
 .file = "lambada/lambada_test.jsonl|lambada_test.jsonl", .published = "lambada",
 .where = "https://openaipublic.blob.core.windows.net/gpt-2/data/lambada_test.jsonl, save it as"},
{.name = "ptb", .argument = "FILE", .options = "limit like json", .settings = "seq_length overlap detokenize special", .run = eval_ptb,
 .help = "word-level perplexity on a Penn Treebank text",
 .reads = "plain text\ta sentence a line, its words split by spaces"},
{.name = "text", .argument = "FILE|DIR", .options = "limit json", .settings = "seq_length last_n special" LINES, .run = eval_text,
 .help = "loss, loss per byte and accuracy on any text",
 .reads = "plain text\tdocuments end at <|endoftext|> or with the file\n"
          "JSON lines\tone document a line\n"
          "  text\tthe document; or prompt and completion\n"
          "token files\tas `train` reads them: .bin, .tfrecord, .pkl, .npy\n"
          "folder, *.txt\tall of its files, or all that match, by name"},
{.name = "choice", .argument = "FILE", .options = "limit json", .settings = "detokenize", .run = eval_choice,
 .help = "multiple choice from JSON lines, e.g. HellaSwag",
 .reads = "JSON lines\tone question a line\n"
          "  ctx\tthe text before the endings; also context or prompt, or ctx_a and ctx_b, joined by a space\n"
          "  endings\tlist of 2 or more endings; also choices\n"
          "  label\tthe right ending: its number from 0 or its text; also answer or gold\n"
          "  activity_label\tof HellaSwag, whose text is prepared as in lm-eval"},
{.name = "kl", .argument = "MODEL [FILE]", .options = "limit other_dtype other_cache_dtype json", .settings = "seq_length overlap special" LINES, .run = eval_kl, .needs_other = true,
 .help = "KL divergence and perplexity ratio to MODEL on a text",
 .reads = "the same\tas text",
 .file = WIKITEXT, .published = "wikitext", .where = WIKITEXT_FROM},
};
/* clang-format on */

const struct eval *eval_at(int i)
{
    return i >= 0 && i < (int)(sizeof table / sizeof table[0]) ? &table[i] : NULL;
}

const struct eval *eval_find(const char *name)
{
    const struct eval *e;
    for (int i = 0; (e = eval_at(i)) != NULL && strcmp(e->name, name) != 0; i++)
        ;
    return e;
}

/* Its place number i in the data folder, from the table's list, in fresh memory; *last: there are
 * no more. */
static char *listed_path(const struct eval *e, const struct eval_config *c, int i, bool *last)
{
    const char *file = e->file;
    while (i-- > 0)
        file = strchr(file, '|') + 1;
    *last = strchr(file, '|') == NULL;
    char *name = mem_sprintf("%.*s", (int)strcspn(file, "|"), file), *path = NULL;
    if (name != NULL)
        path = c->data_dir != NULL && *c->data_dir != '\0' ? file_join(c->data_dir, name)
                                                           : file_home(HOME_DATA, name);
    mem_free(name);
    return path;
}

/* Which of them there is, in fresh memory; *out is NULL where there is none. */
static int find_listed(char **out, const struct eval *e, const struct eval_config *c)
{
    bool last = false;
    *out = NULL;
    for (int i = 0; !last && *out == NULL; i++) {
        char *path = listed_path(e, c, i, &last);
        if (path == NULL)
            return err_last();
        if (file_exists(path))
            *out = path;
        else
            mem_free(path);
    }
    return 0;
}

static int find_file(char **out, const struct eval *e, const struct eval_config *c)
{
    if (e->file == NULL)
        return err_set(ERR_RANGE, "eval %s needs a file: `:eval %s %s`", e->name, e->name,
                       e->argument);
    int rc = find_listed(out, e, c);
    if (rc != 0 || *out != NULL)
        return rc;
    bool last;
    char shown[256], *path = listed_path(e, c, 0, &last);
    if (path == NULL)
        return err_last();
    err_set(
        ERR_MISSING,
        "%s not found: `:data get %s` downloads it; or download %s %s, or give FILE or --data-dir",
        strrchr(path, '/') + 1, e->published, e->where, file_show(shown, sizeof shown, path));
    mem_free(path);
    return ERR_MISSING;
}

/* The sizes that were not given. */
static int resolve_lengths(struct eval_config *c, int n_ctx)
{
    bool megatron = c->like == EVAL_MEGATRON;
    if (c->seq_length == 0)
        c->seq_length = megatron ? 128 : n_ctx;
    if (c->seq_length > n_ctx)
        return err_set(ERR_RANGE, "seq_length must be at most %d (the model's context), not %d",
                       n_ctx, c->seq_length);
    if (c->overlap == 0)
        c->overlap = megatron ? 32 : c->seq_length / 2;
    if (c->overlap == 0)
        c->overlap = 1;
    return 0;
}

/* A folder that has the evaluation's file stands for that file. */
static int look_inside(char **path, const struct eval *e)
{
    const struct eval_config inside = {.data_dir = *path};
    char *found;
    if (e->file == NULL || !file_is_folder(*path))
        return 0;
    int rc = find_listed(&found, e, &inside);
    if (rc == 0 && found != NULL) {
        mem_free(*path);
        *path = found;
    }
    return rc;
}

/* The file to read, in fresh memory. */
static int choose_file(char **out, const struct eval *e, const struct eval_config *config,
                       const char *path)
{
    if (path == NULL)
        return find_file(out, e, config);
    return (*out = file_expand(path)) == NULL ? err_last() : look_inside(out, e);
}

int eval_check_file(const struct eval *e, const struct eval_config *config, const char *path)
{
    char *chosen = NULL;
    struct file f;
    int rc = choose_file(&chosen, e, config, path);
    if (rc == 0 && !file_is_folder(chosen) && !data_is_pattern(chosen) &&
        (rc = file_open(&f, chosen)) == 0)
        file_close(&f);
    mem_free(chosen);
    return rc;
}

static int run_profiled(const struct eval *e, struct evaluation *ev)
{
    profile_begin(SPAN_EVALUATION, -1);
    int rc = e->run(ev);
    profile_end();
    return rc;
}

int eval_run(const struct eval *e, struct engine *engine, struct engine *other,
             const struct eval_config *config, const char *path, struct eval_result *result,
             const struct progress *p)
{
    struct evaluation ev = {engine, other, *config, NULL, result, p, false};
    *result = (struct eval_result){.name = e->name, .unit = "windows"};
    int n_ctx = engine->cache.n_ctx;
    if (other != NULL && other->cache.n_ctx < n_ctx)
        n_ctx = other->cache.n_ctx;
    int rc = resolve_lengths(&ev.config, n_ctx);
    /* A session or a run may have it for others. */
    ev.config.special &= strstr(e->settings, "special") != NULL;
    if (rc == 0)
        rc = choose_file(&result->path, e, config, path);
    ev.path = result->path;
    engine_precision(result->precision, engine);
    if (other != NULL)
        engine_precision(result->other_precision, other);
    if (rc == 0)
        rc = run_profiled(e, &ev);
    rc = eval_agree(&ev, rc);
    result->config = ev.config;
    result->config.data_dir = NULL;
    result->config.lines = (struct data_lines){0};
    if (rc != 0)
        eval_result_release(result);
    return rc;
}
