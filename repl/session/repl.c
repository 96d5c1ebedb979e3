#include "repl/session/repl.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/base/progress.h"
#include "model/kernels/kernels.h"
#include "repl/terminal/hint.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "repl/session/lora.h"
#include "repl/session/model_hint.h"
#include "train/config/run_config.h"
#include "train/parallel/world.h"
#include "train/run/folder.h"
#include "weights/bundled/bundled.h"
#include "weights/hub/environment.h"
#include "weights/load.h"

#include <stdio.h>
#include <string.h>

enum { MAX_TURNS = 64 };

int repl_init(struct repl *r)
{
    *r = (struct repl){.threads = -1};
    return options_init(&r->options);
}

static void drop_drafter_engine(struct repl *r)
{
    if (r->engine.model != NULL)
        engine_use_drafter(&r->engine, NULL);
    if (r->drafter_engine.model != NULL)
        engine_release(&r->drafter_engine);
    r->drafter_engine = (struct engine){0};
}

static void drop_drafter(struct repl *r)
{
    drop_drafter_engine(r);
    model_free(r->drafter);
    mem_free(r->drafter_path);
    r->drafter = NULL;
    r->drafter_path = NULL;
}

static void drop_engine(struct repl *r)
{
    drop_drafter_engine(r);
    if (r->engine.model == NULL)
        return;
    sequence_park(&r->sequence);
    engine_release(&r->engine);
    r->engine = (struct engine){0};
}

struct turn *repl_push_turn(struct repl *r, bool more)
{
    if (r->turns == NULL && (r->turns = mem_array(MAX_TURNS, sizeof *r->turns)) == NULL)
        return NULL;
    if (r->n_turns == MAX_TURNS) {
        turn_release(&r->turns[0]);
        memmove(r->turns, r->turns + 1, (MAX_TURNS - 1) * sizeof *r->turns);
        r->n_turns--;
    }
    struct turn *t = &r->turns[r->n_turns++];
    *t = (struct turn){0};
    if (settings_copy(&t->settings, &r->options.settings) == 0 &&
        turn_begin(t, &r->sequence.ids, r->held_space, more) == 0)
        return t;
    repl_pop_turn(r);
    return NULL;
}

void repl_pop_turn(struct repl *r)
{
    turn_release(&r->turns[--r->n_turns]);
}

void repl_forget_turns(struct repl *r)
{
    while (r->n_turns > 0)
        repl_pop_turn(r);
    r->held_space = false;
}

void repl_forget(struct repl *r)
{
    repl_forget_turns(r);
    sequence_assign(&r->sequence, NULL, 0); /* needs no memory */
}

void repl_release(struct repl *r)
{
    repl_forget(r);
    mem_free(r->turns);
    drop_engine(r);
    sequence_release(&r->sequence);
    run_free(r->run);
    mem_free(r->last_run);
    model_free(r->model);
    drop_drafter(r);
    options_release(&r->options);
    par_close();
    *r = (struct repl){0};
}

int repl_device(struct repl *r)
{
    const struct device_settings *d = &r->options.settings.device;
    const char *before = kernels_name();
    int rc = kernels_select(d->kernels);
    if (rc != 0)
        return options_blame(&r->options, OPTION(device.kernels));
    if (strcmp(kernels_name(), before) != 0)
        drop_engine(r);
    if (d->threads == r->threads && d->pin == r->pin)
        return 0;
    drop_engine(r);
    const int threads = d->threads == 0 ? world_threads() : d->threads;
    if ((rc = par_open(threads, d->pin)) == 0) {
        r->threads = d->threads;
        r->pin = d->pin;
    }
    return rc;
}

int repl_memory_dtype(enum dtype *out, enum precision_choice choice)
{
    static const enum dtype chosen[] = {[PRECISION_AUTO] = LOAD_DTYPE_AUTO,
                                        [PRECISION_FP16] = DTYPE_F16,
                                        [PRECISION_FP32] = DTYPE_F32,
                                        [PRECISION_BF16] = DTYPE_BF16,
                                        [PRECISION_Q8] = DTYPE_Q8};
    *out = chosen[choice];
    if (choice != PRECISION_BF16)
        return 0;
    return err_set(ERR_UNSUPPORTED, "dtype is bf16, but weights are kept in memory as fp16, fp32 "
                                    "or q8; bf16 is for the files that convert writes");
}

/* The precision in memory, by the settings in force. */
static int dtype_in_force(const struct repl *r, enum dtype *out)
{
    const int rc = repl_memory_dtype(out, (enum precision_choice)r->options.settings.device.dtype);
    return rc == 0 ? 0 : options_blame(&r->options, OPTION(device.dtype));
}

struct panel_cache repl_panel_cache(const struct repl *r)
{
    enum { LEAST_BYTES = 16 << 20 };
    return (struct panel_cache){.limit_bytes =
                                    (uint64_t)((double)r->options.settings.device.cache_size * 1e9),
                                .least_bytes = LEAST_BYTES};
}

struct load_memory repl_load_memory(const struct repl *r)
{
    const struct device_settings *d = &r->options.settings.device;
    return (struct load_memory){.phased = (enum phased)d->phased,
                                .limit_bytes = (uint64_t)((double)d->memory * 1e9)};
}

enum dtype repl_cache_dtype(const struct settings *s, const struct model *m)
{
    return cache_dtype_chosen((enum precision_choice)s->device.cache_dtype, m->params.dtype);
}

int repl_engine(struct engine *e, struct model *m, int max_seqs, const struct settings *s)
{
    return engine_init_as(e, m, max_seqs, repl_cache_dtype(s, m));
}

/* Every token must mean the same to both. */
static int check_drafter(const struct model *drafter, const struct model *m)
{
    char shown[2][96];
    if (tokenizer_same(drafter->tokenizer, m->tokenizer))
        return 0;
    return err_set(ERR_MISMATCH,
                   "speculate: %s has another tokenizer than %s, and cannot draft for it",
                   file_show(shown[0], sizeof shown[0], drafter->name),
                   file_show(shown[1], sizeof shown[1], m->name));
}

static int load_drafter(struct repl *r, const char *path)
{
    struct load_config c = {.seed = r->options.settings.sampler.seed,
                            .cache = repl_panel_cache(r),
                            .memory = {.phased = PHASED_OFF}};
    drop_drafter(r);
    int rc = dtype_in_force(r, &c.dtype);
    if (rc == 0 && (r->drafter_path = mem_strdup(path)) == NULL)
        rc = ERR_NOMEM;
    if (rc == 0)
        rc = model_load(&r->drafter, path, &c, progress_show());
    progress_wipe();
    if (rc == ERR_MISSING && (strcmp(path, "on") == 0 || strcmp(path, "yes") == 0))
        return err_set(
            rc, "speculate must be auto, off, lookup or a model, and there is no model %s", path);
    return rc == 0 ? 0 : err_wrap("speculate");
}

/* The model that drafts by the setting speculate; one that a model's own settings name is not
 * loaded. */
static const char *drafter_path(const struct repl *r)
{
    const char *text = r->options.settings.generate.speculate;
    return speculate_of(text) != SPECULATE_MODEL ||
                   settings_store_origin(&r->options.store, OPTION(generate.speculate)) ==
                       ORIGIN_MODEL
               ? NULL
               : text;
}

static int ready_drafter(struct repl *r)
{
    const char *path = drafter_path(r);
    int rc = 0;
    if (path == NULL) {
        drop_drafter(r);
        return 0;
    }
    const bool there = r->drafter != NULL && strcmp(r->drafter_path, path) == 0;
    if (there && r->engine.drafter != NULL)
        return 0;
    if (!there)
        rc = load_drafter(r, path);
    if (rc == 0)
        rc = check_drafter(r->drafter, r->model);
    if (rc == 0) {
        drop_drafter_engine(r);
        rc = repl_engine(&r->drafter_engine, r->drafter, r->engine.max_seqs, &r->options.settings);
    }
    if (rc != 0) {
        r->drafter_engine = (struct engine){0};
        return options_blame(&r->options, OPTION(generate.speculate));
    }
    engine_use_drafter(&r->engine, &r->drafter_engine);
    return 0;
}

static int ready_engine(struct repl *r, int max_seqs)
{
    const struct settings *s = &r->options.settings;
    if (r->engine.model == r->model && r->engine.max_seqs >= max_seqs &&
        r->engine.cache.layout.dtype == repl_cache_dtype(s, r->model))
        return 0;
    drop_engine(r);
    int rc = repl_engine(&r->engine, r->model, max_seqs, s);
    if (rc == 0 && (rc = sequence_resume(&r->sequence, &r->engine)) != 0)
        engine_release(&r->engine);
    if (rc != 0)
        r->engine = (struct engine){0};
    return rc;
}

int repl_ready(struct repl *r, int max_seqs)
{
    int rc = repl_device(r);
    if (rc == 0)
        rc = ready_engine(r, max_seqs);
    return rc == 0 ? ready_drafter(r) : rc;
}

/* A model's own defaults are no reason to refuse it. */
void repl_read_model_settings(struct repl *r)
{
    options_clear(&r->options, ORIGIN_MODEL);
    const char *text = r->model->defaults;
    static const char begins[] = "begin: on\n";
    const struct settings_text first = {.label = "the model's tokenizer",
                                        .text = begins,
                                        .n = strlen(begins),
                                        .derived = true,
                                        .left_out = progress_warn};
    if (r->model->tokenizer != NULL && tokenizer_begins(r->model->tokenizer) &&
        options_read_stored(&r->options, &first) != 0)
        progress_warn(err_text());
    /* How it wants to be sampled, and nothing about the machine. */
    const char *file = r->model->defaults_file;
    const struct settings_text from = {.label = file == NULL ? "the model's settings" : file,
                                       .text = text,
                                       .n = text == NULL ? 0 : strlen(text),
                                       .derived = file == NULL || strcmp(file, "prattle.yaml") != 0,
                                       .may_set = option_per_line,
                                       .left_out = progress_warn};
    if (text != NULL && options_read_stored(&r->options, &from))
        progress_warn(err_text());
}

void repl_drop_run(struct repl *r)
{
    if (r->run == NULL)
        return;
    repl_note_run(r, run_path(r->run), false);
    run_free(r->run);
    r->run = NULL;
}

void repl_note_run(struct repl *r, const char *folder, bool paused)
{
    char *noted = mem_strdup(folder);
    mem_free(r->last_run);
    r->last_run = noted;
    r->last_paused = r->last_unfinished = paused;
}

int repl_latest_run(const struct repl *r, bool saved, char **out)
{
    if (r->last_run == NULL || (saved && !run_folder_has_checkpoint(r->last_run)))
        return run_folder_latest(out, RUNS_FOLDER);
    *out = mem_strdup(r->last_run);
    return *out != NULL ? 0 : ERR_NOMEM;
}

int repl_read_files(struct repl *r, struct model **out, struct model_files *f)
{
    enum dtype dtype;
    int rc = dtype_in_force(r, &dtype);
    if (rc == 0)
        rc = repl_device(r);
    f->cache = repl_panel_cache(r);
    f->memory = repl_load_memory(r);
    profile_begin(SPAN_LOAD, -1);
    profile_set(PART_FILES);
    if (rc == 0)
        rc = model_read(out, f, dtype, progress_show());
    profile_end();
    progress_wipe();
    return rc;
}

static int load_profiled(struct model **out, const char *path, const struct load_config *c,
                         const struct progress *p)
{
    profile_begin(SPAN_LOAD, -1);
    profile_set(PART_FILES);
    int rc = model_load(out, path, c, p);
    profile_end();
    return rc;
}

/* What nobody named is not explained: a folder of the name of the model that ships matters to who
 * types that name. */
static const struct progress *reading_progress(const struct repl *r, const char *path)
{
    static struct progress quiet;
    quiet = *progress_show();
    quiet.note = NULL;
    const bool named = repl_names_model(r) || strcmp(path, r->options.settings.device.model) != 0;
    return named || r->model != NULL ? progress_show() : &quiet;
}

static int read_model(struct repl *r, struct model **out, const char *path, uint64_t seed)
{
    struct load_config c = {.seed = seed,
                            .says_checkpoint = !r->interactive,
                            .cache = repl_panel_cache(r),
                            .memory = repl_load_memory(r)};
    hub_set_offline(r->options.settings.device.offline);
    hub_set_progress(progress_show());
    int rc = dtype_in_force(r, &c.dtype);
    if (rc == 0)
        rc = repl_device(r);
    if (rc == 0 && (rc = load_profiled(out, path, &c, reading_progress(r, path))) != 0 &&
        strcmp(path, r->options.settings.device.model) == 0)
        rc = options_blame(&r->options, OPTION(device.model));
    progress_wipe();
    return rc;
}

void repl_take_model(struct repl *r, struct model *fresh)
{
    drop_engine(r);
    repl_forget(r);
    repl_drop_run(r);
    model_free(r->model);
    r->model = fresh;
    repl_read_model_settings(r);
}

int repl_load(struct repl *r, const char *path, uint64_t seed)
{
    struct model *fresh = NULL;
    int rc = read_model(r, &fresh, path, seed);
    if (rc != 0)
        return rc;
    repl_take_model(r, fresh);
    if (run_folder_is(path)) /* train resume goes on with it */
        repl_note_run(r, path,
                      r->last_paused && r->last_run != NULL && file_is_same(path, r->last_run));
    return 0;
}

bool repl_names_model(const struct repl *r)
{
    return settings_store_origin(&r->options.store, OPTION(device.model)) != ORIGIN_BUILT_IN;
}

bool repl_finds_model(const struct repl *r)
{
    return repl_names_model(r) ? *r->options.settings.device.model != '\0' : bundled_exists();
}

int repl_need_model(struct repl *r)
{
    const struct settings *s = &r->options.settings;
    if (r->model != NULL)
        return 0;
    if (repl_finds_model(r)) {
        int rc =
            model_hint(repl_load(r, s->device.model, s->sampler.seed), s->device.model, "prattle ");
        if (rc == 0 && *s->device.lora != '\0' && (rc = lora_load(r->model, s->device.lora)) != 0) {
            rc = options_blame(&r->options, OPTION(device.lora));
            model_free(r->model);
            r->model = NULL;
            options_clear(&r->options, ORIGIN_MODEL);
        }
        return rc;
    }
    return err_set(ERR_MISSING, "no model: %s",
                   r->interactive ? ":load PATH loads one, :load random:gpt2 makes one to try"
                                  : "--model PATH names one, --model random:gpt2 makes one to try");
}

void repl_complain(int rc)
{
    progress_wipe();
    if (rc == ERR_INTERRUPTED || rc == 0)
        return;
    fflush(stdout);
    struct buf text = {0};
    const char *sentence = err_text();
    wrap_say(stderr, term_red(stderr), "%s",
             hint_sentence(&text, sentence) == 0 ? buf_text(&text) : sentence);
    buf_release(&text);
}

void repl_say_stopped(struct repl *r, const char *what)
{
    progress_wipe();
    if (r->interactive && term_takes_escapes(stdout))
        fputs("\r\033[K", stdout);
    wrap_say(stdout, term_dim(stdout), "[stopped%s%s]", *what == '\0' || *what == ' ' ? "" : "; ",
             what);
    r->told_stop = true;
}

void repl_report_full(struct repl *r, const struct generate_config *g, const struct answer *answers,
                      int n)
{
    /* What cannot slide has said so itself. */
    bool full = false;
    for (int i = 0; i < n && g->on_full == ON_FULL_STOP; i++)
        full |= answers[i].finish == FINISH_CONTEXT;
    if (!full || r->reported_full)
        return;
    char sentence[128];
    snprintf(
        sentence, sizeof sentence,
        "context full: an answer ended at the model's %d token%s; set on_full to slide to continue",
        r->model->config.n_ctx, r->model->config.n_ctx == 1 ? "" : "s");
    progress_warn(sentence);
    r->reported_full = true;
}
