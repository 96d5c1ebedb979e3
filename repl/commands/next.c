/* :next: what may come after a text. */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "repl/session/explain.h"
#include "repl/session/repl.h"
#include "repl/terminal/pager.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/token_text.h"
#include "repl/terminal/wrap.h"
#include "sampling/chain/logits.h"
#include "sampling/text/template.h"

#include <stdio.h>
#include <string.h>

/* "--top N" before the text, which is taken as it is otherwise. */
static int take_count(struct repl *r, const char **text)
{
    static const char option[] = "--top";
    const size_t n = sizeof option - 1;
    const char *at = *text;
    if (strncmp(at, option, n) != 0 || (at[n] != '\0' && strchr(" =", at[n]) == NULL))
        return 0;
    at += n + (at[n] != '\0');
    size_t digits = strcspn(at, " ");
    char *words[] = {mem_strdup(option), mem_sprintf("%.*s", (int)digits, at)};
    int n_words = digits > 0 ? 2 : 1, rc = ERR_NOMEM;
    char *given[] = {words[0], words[1]};
    if (words[0] != NULL && words[1] != NULL)
        rc = options_take(&r->options, ORIGIN_CALL, given, &n_words);
    *text = at + digits + (at[digits] == ' ');
    mem_free(words[0]);
    mem_free(words[1]);
    return rc;
}

/* TEXT as a prompt would be read, or the text so far, and the logits after it. */
static int read_next(struct repl *r, struct prompt *p, float *logits, const char *text)
{
    const struct generate_config *g = &r->options.settings.generate;
    struct sequence *s = &r->sequence;
    const size_t V = (size_t)r->model->config.n_vocab;
    bool slid;
    if (*text != '\0') {
        struct buf filled = {0};
        int rc = template_fill(&filled, g->template, text, strlen(text));
        if (rc == 0)
            rc = prompt_encode(p, r->model, g, buf_text(&filled), filled.n);
        buf_release(&filled);
        if (rc == 0)
            rc = prompt_fit(&p->ids, &slid, &r->engine, g);
        return rc == 0 ? explain_logits(logits, &r->engine, &p->ids, progress_show()) : rc;
    }
    if (s->ids.n == 0)
        return err_set(ERR_MISSING,
                       "there is no text yet; `:next TEXT` shows what may come after it");
    p->held_space = r->held_space;
    p->begun = g->begin && s->ids.data[0] == prompt_begin_token(r->model);
    int rc = ids_add(&p->ids, s->ids.data, s->ids.n);
    if (rc == 0)
        rc = prompt_fit(&p->ids, &slid, &r->engine, g);
    if (rc == 0 && slid)
        return explain_logits(logits, &r->engine, &p->ids, progress_show());
    if (rc == 0)
        rc =
            sequence_feed(s, NULL, 0, progress_show()); /* what is in the cache is not read again */
    if (rc == 0 && !logits_are_finite(s->logits, V))
        rc = logits_refuse(r->model, s->ids.n);
    if (rc == 0)
        memcpy(logits, s->logits, V * sizeof *logits);
    return rc;
}

int next_show(const struct repl *r, const struct prompt *p, float *logits, int max)
{
    const struct settings *s = &r->options.settings;
    const struct tokenizer *t = r->model->tokenizer;
    const int V = r->model->config.n_vocab, most = max < V ? max : V;
    struct chances_look look;
    struct chooser by;
    struct buf head = {0}, out = {0};
    struct alternative *list = mem_array((size_t)most, sizeof *list);
    chances_look(&look, stdout);
    chooser_of_next(&by, s);
    if (r->n_turns > 0 && p->ids.n == r->sequence.ids.n &&
        memcmp(p->ids.data, r->sequence.ids.data, p->ids.n * sizeof(token_id)) == 0)
        turn_continue_grammar(&by.config, &r->turns[r->n_turns - 1], &r->sequence.ids);
    int n = list == NULL
                ? ERR_NOMEM
                : explain_next(list, most, logits, r->model, &p->ids, p->held_space, &by, s);
    int rc = n < 0 ? n : 0;
    if (rc == 0)
        rc = buf_str(&head, "after ");
    if (rc == 0)
        rc =
            token_text_last(&head, t, p->ids.data + p->begun, p->ids.n - p->begun, look.width - 16);
    if (rc == 0)
        rc = buf_str(&head, "\n");
    if (rc == 0)
        rc = by.note != NULL ? buf_str(&head, by.note) : chooser_describe(s, &head);
    if (rc == 0)
        rc = buf_str(&out, look.dim);
    if (rc == 0)
        rc = wrap_into(&out, buf_text(&head), look.width);
    if (rc == 0)
        rc = buf_printf(&out, "%s\n", look.plain);
    if (rc == 0)
        rc = chances_table(&out, &look, t, list, n, NULL);
    progress_wipe();
    if (rc == 0)
        pager_show(out.data, out.n);
    mem_free(list);
    buf_release(&head);
    buf_release(&out);
    return rc;
}

int cmd_next(struct repl *r, const struct call *c)
{
    const int V = r->model->config.n_vocab;
    const char *text = c->text;
    struct prompt p = {0};
    int rc = take_count(r, &text), max = r->options.settings.call.top;
    if (text[strspn(text, " \t")] == '\0')
        text = ""; /* spaces are typed by accident: the text so far */
    float *logits = mem_array((size_t)V, sizeof *logits);
    if (rc == 0 && logits == NULL)
        rc = ERR_NOMEM;
    if (rc == 0)
        rc = repl_ready(r, 1);
    if (rc == 0)
        rc = read_next(r, &p, logits, text);
    if (rc == 0)
        rc = next_show(r, &p, logits, max == 0 ? NEXT_SHOWN : max);
    progress_wipe();
    prompt_release(&p);
    mem_free(logits);
    return rc;
}
