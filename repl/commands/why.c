/*
 * :why replays the last answer: the same text gives the same logits, bit for bit, and
 * the same seed, draw and position the same choice.
 */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "repl/terminal/token_text.h"
#include "repl/terminal/progress.h"
#include "repl/session/repl.h"
#include "repl/terminal/term.h"
#include "sampling/text/prompt.h"
#include "sampling/score.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ALTERNATIVES = 8, TOKEN_COLUMNS = 14 };

struct replay {
    const struct repl *r;
    const struct turn *turn;
    struct sampler *sampler;
    const struct ids *text;
    float *logits; /* [V], a copy that may be masked */
    int width;
};

/* A token in quotes, cut to fit. */
static int cut_token_text(const struct repl *r, token_id id, struct buf *out)
{
    out->n = 0;
    int rc = token_text_quote(out, r->model->tokenizer, id);
    if (rc != 0 || term_columns(buf_text(out), out->n) <= TOKEN_COLUMNS)
        return rc;
    out->n = term_fit(buf_text(out), out->n, TOKEN_COLUMNS - 3);
    return buf_str(out, "..\"");
}

static void show_token(const struct replay *p, const struct alternative *chosen,
                       const struct alternative *others, int n)
{
    struct buf text = {0};
    cut_token_text(p->r, chosen->id, &text);
    int pad = TOKEN_COLUMNS - term_columns(buf_text(&text), text.n);
    printf("%s%*s %6.2f %% %6.2f %% %5d ", buf_text(&text), pad > 0 ? pad : 0, "",
           100.0 * (double)chosen->p_model, 100.0 * (double)chosen->p_chain, chosen->rank);
    int at = TOKEN_COLUMNS + 25;
    for (int i = 0; i < n; i++) {
        if (others[i].id == chosen->id)
            continue;
        bool cut = !(others[i].p_chain > 0);
        char share[16];
        snprintf(share, sizeof share, cut ? "(%.1f)" : "%.1f",
                 100.0 * (double)(cut ? others[i].p_model : others[i].p_chain));
        cut_token_text(p->r, others[i].id, &text);
        int columns = term_columns(buf_text(&text), text.n) + (int)strlen(share) + 3;
        if (at + columns >= p->width)
            break;
        printf("%s  %s %s%s", cut ? term_dim(stdout) : "", buf_text(&text), share,
               cut ? term_plain(stdout) : "");
        at += columns;
    }
    fputc('\n', stdout);
    buf_release(&text);
}

static void explain_token(void *user, size_t i, const float *logits)
{
    struct replay *p = user;
    size_t start = p->turn->n_prompt;
    struct alternative chosen = {0}, others[MAX_ALTERNATIVES];
    memcpy(p->logits, logits, (size_t)p->r->model->config.n_vocab * sizeof *logits);
    if (i == start && p->turn->held_space)
        prompt_mask_logits(p->r->model, p->logits);
    int n_new = (int)(i - start);
    int n = sampler_explain(p->sampler, p->logits, p->text->data, i, n_new, p->text->data[i],
                            &chosen, others, MAX_ALTERNATIVES);
    /* Mirostat remembers what was drawn. */
    sampler_pick(p->sampler, p->logits, p->text->data, i, n_new);
    show_token(p, &chosen, others, n);
}

int cmd_why(struct repl *r, const struct call *c)
{
    (void)c;
    if (r->n_turns == 0)
        return err_set(ERR_MISSING, "there is no answer yet to explain; type a prompt");
    const struct turn *t = &r->turns[r->n_turns - 1];
    const struct config *k = &r->model->config;
    if (t->slid)
        return err_set(ERR_UNSUPPORTED, "the context was cut while this answer was made, so its "
                                        "beginning cannot be replayed");
    if (t->answer.n == 0)
        return err_set(ERR_MISSING, "the last answer is empty");
    struct ids text = {0};
    struct replay p = {.r = r, .turn = t, .text = &text, .width = term_width(stdout)};
    struct stop_tokens stop;
    struct sampler_config drawn_by = t->settings.sampler;
    const bool searched =
        t->settings.generate.num_beams > 1 || t->settings.generate.penalty_alpha > 0;
    if (searched) { /* which draws nothing: the model's own probabilities */
        sampler_config_init(&drawn_by);
        drawn_by.temperature = drawn_by.top_p = 1;
    }
    int rc = repl_ready(r, 1);
    if (rc == 0)
        rc = ids_add(&text, r->sequence.ids.data, t->n_prompt);
    if (rc == 0)
        rc = ids_add(&text, t->answer.data, t->answer.n);
    if (rc == 0)
        rc = generate_stop_tokens(&stop, &t->settings.generate, r->model);
    if (rc == 0 && (p.logits = mem_array((size_t)k->n_vocab, sizeof *p.logits)) == NULL)
        rc = ERR_NOMEM;
    if (rc == 0)
        rc = sampler_new(&p.sampler, &drawn_by, k->n_vocab, k->n_ctx, r->model->tokenizer, &stop);
    if (rc == 0) {
        sampler_reset(p.sampler, drawn_by.draw);
        if (searched)
            printf(
                "%s[a search chose these; no chain drew them, and its column is the model's]%s\n",
                term_dim(stdout), term_plain(stdout));
        printf("%s%-*s    model    chain  rank  instead, %% by the chain (by the model)%s\n",
               term_dim(stdout), TOKEN_COLUMNS, "token", term_plain(stdout));
        rc = score_text(&r->engine, text.data, text.n, t->n_prompt, explain_token, &p,
                        progress_show());
    }
    progress_wipe();
    sampler_free(p.sampler);
    mem_free(p.logits);
    ids_release(&text);
    return rc;
}
