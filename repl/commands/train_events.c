#include "repl/commands/train_events.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/words.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/term.h"
#include "repl/terminal/train_lines.h"
#include "repl/terminal/wrap.h"

#include <stdio.h>
#include <string.h>

static void show_line(void *user, const struct metrics *m)
{
    (void)user;
    train_lines_show(m);
}

static void show_activations(void *user, const struct metrics *m, const struct activation_stats *w)
{
    (void)user;
    train_lines_show_activations(m, w);
}

static void show_tick(void *user, const struct metrics *m, int64_t step, double part)
{
    (void)user;
    train_lines_draw_bar(m, step, part);
}

/* A text from the weights as they are, by the settings of answers, always with the same
 * draws; the text in progress is left alone. */
static int make_sample(struct repl *r, const char *text, struct answer *a)
{
    const struct run_config *c = run_settings(r->run);
    struct settings s;
    struct sequence sequence;
    struct prompt prompt = {0};
    struct generate_callbacks callbacks = {.progress = progress_show()};
    int rc = settings_copy(&s, &r->options.settings);
    if (rc != 0)
        return rc;
    s.generate.max_new_tokens = c->logging.sample_tokens;
    s.generate.num_return_sequences = 1;
    s.sampler.seed = c->training.seed;
    s.sampler.draw = 0;
    if ((rc = repl_ready(r, generate_texts(&s.generate, &s.sampler))) == 0 &&
        (rc = sequence_init(&sequence, &r->engine)) == 0) {
        if ((rc = prompt_encode(&prompt, r->model, &s.generate, text, strlen(text))) == 0)
            rc = generate(&sequence, &prompt, &s.generate, &s.sampler, &callbacks, a);
        sequence_release(&sequence);
    }
    prompt_release(&prompt);
    settings_release(&s);
    return rc;
}

static int show_sample(void *user, struct buf *out)
{
    struct repl *r = user;
    struct answer a = {0};
    char *text = words_undo_escapes(run_settings(r->run)->logging.sample_prompt);
    int rc = text == NULL ? ERR_NOMEM : make_sample(r, text, &a);
    if (rc == 0 && (rc = buf_str(out, text)) == 0)
        rc = buf_add(out, buf_text(&a.text), a.text.n);
    mem_free(text);
    progress_wipe();
    /* A model without words, or without a token to begin an empty prompt with, has none, nor has a
     * prompt that is longer than the context. */
    if (rc == ERR_MISSING || rc == ERR_RANGE || rc == ERR_FULL) {
        const bool empty = *run_settings(r->run)->logging.sample_prompt == '\0';
        char *why = mem_sprintf("no sample: %s%s", err_text(),
                                rc == ERR_RANGE && empty ? ": sample_prompt=TEXT gives one" : "");
        progress_warn(why != NULL ? why : "no sample");
        mem_free(why);
        answer_release(&a);
        return 0;
    }
    if (rc == 0) {
        struct buf shown = {0}; /* a text may have NUL */
        if ((rc = term_visible(&shown, out->data, out->n)) == 0)
            wrap_labelled(stdout, term_dim(stdout), "sample: ", buf_text(&shown));
        buf_release(&shown);
        putchar('\n');
    }
    fflush(stdout);
    answer_release(&a);
    return rc;
}

struct run_events train_events(struct repl *r)
{
    return (struct run_events){.line = show_line,
                               .activations = show_activations,
                               .tick = show_tick,
                               .sample = show_sample,
                               .progress = progress_show(),
                               .user = r};
}
