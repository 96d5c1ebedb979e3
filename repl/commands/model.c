/* :load :model :devices */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/mem_use.h"
#include "model/base/par.h"
#include "model/kernels/kernels.h"
#include "repl/terminal/progress.h"
#include "repl/session/lora.h"
#include "repl/session/model_hint.h"
#include "repl/session/model_line.h"
#include "repl/session/repl.h"
#include "repl/session/unsaved.h"
#include "repl/terminal/number.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "weights/bundled/bundled.h"

#include <stdio.h>
#include <string.h>

enum { MEMORY_COLUMN = 24 };

/* Nothing of what takes nothing. */
static void show_bytes(const char *what, size_t bytes)
{
    const bool small = bytes < 100000;
    if (bytes > 0 && bytes < 100)
        wrap_say(stdout, "", "  %-*s %7zu bytes", MEMORY_COLUMN, what, bytes);
    else if (bytes > 0)
        wrap_say(stdout, "", "  %-*s %7.1f %s", MEMORY_COLUMN, what,
                 (double)bytes / (small ? 1e3 : 1e6), small ? "kB" : "MB");
}

/* Every large block, also those of a paused run, and the rest: together the peak. */
static void show_memory(const struct tokenizer *t)
{
    struct mem_use u;
    mem_use_now(&u);
    size_t tables = t == NULL ? 0 : tokenizer_memory(t);
    tables = tables < u.heap ? tables : u.heap;
    puts("memory");
    for (int i = 0; i < u.n; i++)
        show_bytes(u.blocks[i].what, u.blocks[i].bytes);
    show_bytes("tokenizer tables", tables);
    show_bytes("other objects", u.heap - tables);
    show_bytes("program and libraries", u.program);
    show_bytes("freed since the peak", u.peak > u.resident ? u.peak - u.resident : 0);
    show_bytes("peak memory", u.peak);
}

static int show_loaded(const struct repl *r)
{
    struct buf text = {0};
    int rc = model_line_format(r, term_is(stdout) ? term_width(stdout) - 1 : 0, &text);
    if (rc == 0)
        wrap_lines(stdout, "", buf_text(&text));
    buf_release(&text);
    return rc;
}

int cmd_load(struct repl *r, const struct call *c)
{
    const char *path = c->n > 0 ? c->words[0] : r->options.settings.device.model;
    if (*path == '\0')
        return err_set(ERR_MISSING,
                       "which model? :load PATH, :load bundled for the one that ships");
    char *expanded = file_expand(path);
    int rc = expanded == NULL ? ERR_NOMEM : 0;
    if (rc == 0)
        rc = unsaved_may_discard(r, DISCARD_LOAD, UNSAVED_ALL);
    if (rc == 0)
        rc = model_hint(repl_load(r, expanded, r->options.settings.sampler.seed), expanded, ":");
    /* :set shows what is there. */
    if (rc == 0 && c->n > 0)
        rc = options_set(&r->options, OPTION(device.model), ORIGIN_SET, expanded);
    mem_free(expanded);
    if (rc == ERR_INTERRUPTED)
        repl_say_stopped(r,
                         r->model != NULL ? "the model from before stays" : "no model is loaded");
    return rc == 0 ? show_loaded(r) : rc;
}

/* The model of the session, or in the shell the one that is named. */
static int find_model(struct repl *r, const struct call *c)
{
    const struct setting *named = OPTION(device.model);
    if (c->n > 0 && !c->shell)
        return err_set(ERR_RANGE, "`:model` shows the model in memory; `:load %s` loads another",
                       file_quote(c->words[0]));
    if (c->n > 0 && settings_store_origin(&r->options.store, named) == ORIGIN_COMMAND_LINE)
        return err_set(ERR_RANGE, "two models: %s, and another with --model",
                       file_quote(c->words[0]));
    int rc = c->n == 0 ? 0 : options_set(&r->options, named, ORIGIN_COMMAND_LINE, c->words[0]);
    return rc == 0 ? repl_need_model(r) : rc;
}

static void describe_details(char *out, size_t n, const struct config *k)
{
    int local = 0;
    for (int i = 0; i < k->n_layer; i++)
        local += config_window(k, i) > 0;
    size_t at = (size_t)snprintf(
        out, n, "%s%s, %s head%s", k->type == MODEL_GPT_NEO ? "GPT-Neo, " : "",
        activation_title(k->activation), k->tie_word_embeddings ? "tied" : "untied",
        k->scale_attn_by_inverse_layer_idx ? ", attention scaled by layer" : "");
    if (config_heads_width(k) != k->n_embd)
        at += (size_t)snprintf(out + at, n - at, ", heads of %d", config_head_size(k));
    if (local > 0)
        snprintf(out + at, n - at, ", %d layer%s with a window of %d tokens", local,
                 local == 1 ? "" : "s", k->window_size);
}

/* "F16 and Q4_0" as "fp16 and Q4_0": a type that memory has too has one name. */
static int write_file_types(struct buf *out, const char *types)
{
    static const char *const names[][2] = {{"BF16", "bf16"}, {"F16", "fp16"}, {"F32", "fp32"}};
    int rc = 0;
    for (size_t n; *types != '\0' && rc == 0; types += n) {
        const char *name = NULL;
        n = strcspn(types, ", ");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (n == strlen(names[i][0]) && strncmp(types, names[i][0], n) == 0)
                name = names[i][1];
        rc = name != NULL ? buf_str(out, name) : buf_add(out, types, n);
        types += n;
        n = strspn(types, ", ");
        rc = rc == 0 ? buf_add(out, types, n) : rc;
    }
    return rc;
}

static void show_precision(const struct repl *r)
{
    const struct model *m = r->model;
    const enum dtype cache = repl_cache_dtype(&r->options.settings, m);
    struct buf text = {0};
    int rc = write_file_types(&text, m->file_types);
    if (rc == 0)
        rc = buf_printf(&text, " in the file, %s in memory", model_precision(m));
    if (rc == 0 && cache != kv_dtype_of(m->params.dtype))
        rc = buf_printf(&text, "; %s keys and values", dtype_short_name(cache));
    if (rc == 0)
        wrap_row("precision", buf_text(&text));
    buf_release(&text);
}

int cmd_model(struct repl *r, const struct call *c)
{
    int rc = find_model(r, c);
    if (rc != 0)
        return rc;
    const struct model *m = r->model;
    const struct config *k = &m->config;
    char text[160];
    wrap_say(stdout, term_bold(stdout), "%s", m->name);
    wrap_row("from", m->source);
    snprintf(text, sizeof text, "%d layers, %d heads, width %d, feed-forward %d", k->n_layer,
             k->n_head, k->n_embd, k->n_inner);
    wrap_row("shape", text);
    wrap_row("parameters", number_count(text, (double)config_params(k)));
    snprintf(text, sizeof text, "%d tokens", k->n_ctx);
    wrap_row("context", text);
    snprintf(text, sizeof text, "%d tokens%s", k->n_vocab,
             m->tokenizer == NULL ? "; no tokenizer files: ids only" : "");
    wrap_row("vocabulary", text);
    show_precision(r);
    describe_details(text, sizeof text, k);
    wrap_row("details", text);
    if (m->adapter != NULL)
        wrap_row("adapter", lora_about(text, sizeof text, m->adapter));
    if (m->changed)
        wrap_row("state", "changed, not saved");
    return 0;
}

static void describe_precision(char *text, size_t n, const struct engine *e)
{
    const enum dtype weights = e->model->params.dtype, cache = e->cache.layout.dtype;
    if (weights == DTYPE_F32 && cache == DTYPE_F32)
        snprintf(text, n, "fp32 weights, keys and values");
    else if (weights == cache)
        snprintf(text, n, "%s weights, keys and values; fp32 sums", dtype_short_name(weights));
    else
        snprintf(text, n, "%s weights; %s keys and values; fp32 sums", dtype_short_name(weights),
                 dtype_short_name(cache));
}

int cmd_devices(struct repl *r, const struct call *c)
{
    (void)c;
    const struct settings *s = &r->options.settings;
    char text[160];
    int rc = 0;
    /* In the shell there is a model to look at only where one is named. */
    if (r->model == NULL && repl_finds_model(r))
        rc = repl_need_model(r);
    if (rc == 0 && r->model != NULL)
        rc = repl_ready(r, generate_texts(&s->generate, &s->sampler));
    else if (rc == 0)
        rc = repl_device(r);
    if (rc != 0)
        return rc;
    snprintf(text, sizeof text, "%d, %s", par_threads(), par_pinned() ? "pinned" : "not pinned");
    wrap_row("threads", text);
    snprintf(text, sizeof text, "%s (this machine has %s)", kernels_name(), kernels_names());
    wrap_row("kernels", text);
    snprintf(text, sizeof text,
             !s->generate.device_loop             ? "off"
             : s->generate.device_iterations == 1 ? "on, output every token"
                                                  : "on, output every %d tokens",
             s->generate.device_iterations);
    wrap_row("device loop", text);
    if (r->model == NULL)
        return 0;
    const struct engine *e = &r->engine;
    describe_precision(text, sizeof text, e);
    wrap_row("precision", text);
    snprintf(text, sizeof text, "keys and values: %.1f MB of %.1f MB for %d text%s of %d tokens",
             (double)kvcache_used_bytes(&e->cache) / 1e6, (double)e->cache.memory_bytes / 1e6,
             e->max_seqs + 1, e->max_seqs == 0 ? "" : "s", e->cache.n_ctx);
    wrap_row("cache", text);
    show_memory(r->model->tokenizer);
    return 0;
}
