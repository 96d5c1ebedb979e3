/* tokens, logits and generate: for programs, and for comparing with others. */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/gpt2_vocab.h"
#include "model/kernels/sampling_kernels.h"
#include "repl/terminal/token_text.h"
#include "repl/terminal/progress.h"
#include "repl/session/batch_input.h"
#include "repl/session/explain.h"
#include "repl/session/repl.h"
#include "repl/session/answer.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "sampling/score.h"
#include "sampling/text/prompt.h"
#include "sampling/text/template.h"
#include "train/run/folder.h"
#include "weights/open.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "1,2,3", spaces as good as commas. */
static int parse_ids(struct ids *out, const char *text)
{
    for (const char *p = text + strspn(text, " \t\n"); *p != '\0';) {
        char *end;
        errno = 0;
        long v = strtol(p, &end, 10);
        if (end == p || errno != 0 || v < 0 || v > INT32_MAX ||
            (*end != '\0' && strchr(", \t\n", *end) == NULL))
            return err_set(ERR_RANGE, "ids: %s is not a token ID; give them as 1,2,3",
                           file_quote(p));
        int rc = ids_add(out, &(token_id){(token_id)v}, 1);
        if (rc != 0)
            return rc;
        p = end + strspn(end, " \t\n");
        if (*p == ',') {
            p += 1 + strspn(p + 1, " \t\n");
            if (*p == '\0')
                return err_set(ERR_RANGE, "ids: none follows the last comma; give them as 1,2,3");
        }
    }
    return out->n > 0 ? 0 : err_set(ERR_RANGE, "ids is empty; give them as 1,2,3");
}

/* The text of the command, or standard input, whose bytes are a prompt's or taken as they are; who
 * types there is told that it is read. */
static int take_text(const struct call *c, struct buf *out, bool prompt)
{
    if (c->n > 0)
        return buf_str(out, c->text);
    if (isatty(STDIN_FILENO) == 1)
        wrap_say(stderr, term_dim(stderr),
                 "[the text is read from the terminal; Ctrl-D on an empty line ends it]");
    return prompt ? batch_input_whole(out, STDIN_FILENO) : file_read_fd(out, STDIN_FILENO);
}

static bool ids_given(const struct repl *r)
{
    return settings_store_origin(&r->options.store, OPTION(call.ids)) != ORIGIN_BUILT_IN;
}

/* What the user gave: --ids as they are, or the text, or standard input; a text begins as a prompt
 * does, and keeps its last space. */
static int take_input(struct repl *r, const struct call *c, struct prompt *out)
{
    const struct settings *s = &r->options.settings;
    if (ids_given(r))
        return c->n == 0 ? parse_ids(&out->ids, s->call.ids)
                         : err_set(ERR_RANGE, "give a text or --ids, not both");
    struct buf text = {0}, filled = {0};
    int rc = take_text(c, &text, true);
    struct generate_config g = s->generate;
    g.trim = false;
    if (rc == 0)
        rc = prompt_check_utf8(buf_text(&text), text.n);
    if (rc == 0 && r->model->tokenizer == NULL)
        rc = err_set(ERR_MISSING, "the model has no tokenizer files: give --ids 1,2,3");
    if (rc == 0)
        rc = template_fill(&filled, g.template, buf_text(&text), text.n);
    if (rc == 0)
        rc = prompt_encode(out, r->model, &g, buf_text(&filled), filled.n);
    buf_release(&filled);
    buf_release(&text);
    return rc;
}

/* " name" 1438, as many as a line holds. */
static int show_tokens(const struct tokenizer *t, const struct ids *ids)
{
    struct buf one = {0};
    int width = term_width(stdout), at = 0, rc = 0;
    for (size_t i = 0; i < ids->n && rc == 0; i++) {
        one.n = 0;
        rc = token_text_quote(&one, t, ids->data[i]);
        int columns = term_columns(buf_text(&one), one.n) + 8;
        if (at > 0 && at + columns + 2 > width) {
            fputc('\n', stdout);
            at = 0;
        }
        printf("%s%s %s%-6d%s", at > 0 ? "  " : "", buf_text(&one), term_dim(stdout), ids->data[i],
               term_plain(stdout));
        at += columns + 2;
    }
    printf("\n%s%zu token%s%s\n", term_dim(stdout), ids->n, ids->n == 1 ? "" : "s",
           term_plain(stdout));
    buf_release(&one);
    return rc;
}

static void print_ids(const struct ids *ids)
{
    for (size_t i = 0; i < ids->n; i++)
        printf("%s%d", i > 0 ? "," : "", ids->data[i]);
    fputc('\n', stdout);
}

/* The text of --ids. */
static int print_text(const struct repl *r, const struct call *c, const struct tokenizer *t)
{
    struct ids ids = {0};
    struct buf text = {0};
    int rc = c->n > 0 ? err_set(ERR_RANGE, "give a text or --ids, not both")
                      : parse_ids(&ids, r->options.settings.call.ids);
    size_t n_bytes;
    for (size_t i = 0; i < ids.n && rc == 0; i++)
        if (tokenizer_bytes(t, ids.data[i], &n_bytes) == NULL)
            rc = err_set(ERR_RANGE, "the tokenizer has no token %d", (int)ids.data[i]);
    if (rc == 0)
        rc = tokenizer_decode(t, &text, ids.data, ids.n);
    if (rc == 0) {
        fwrite(buf_text(&text), 1, text.n, stdout);
        fputc('\n', stdout);
    }
    ids_release(&ids);
    buf_release(&text);
    return rc;
}

/* Of the text given, of standard input in the shell, of the text so far at the prompt. */
static int ids_to_show(const struct repl *r, const struct call *c, const struct tokenizer *t,
                       struct ids *out)
{
    struct buf text = {0};
    if (!c->shell && *c->text == '\0')
        return r->sequence.ids.n > 0
                   ? ids_add(out, r->sequence.ids.data, r->sequence.ids.n)
                   : err_set(ERR_MISSING,
                             "there is no text yet; `:tokens TEXT` shows those of TEXT");
    int rc = c->shell ? take_text(c, &text, false) : buf_str(&text, c->text);
    if (rc == 0)
        rc = tokenizer_encode(t, out, buf_text(&text), text.n,
                              r->options.settings.generate.special ? ENCODE_SPECIAL : ENCODE_TEXT);
    buf_release(&text);
    return rc;
}

int cmd_tokens(struct repl *r, const struct call *c)
{
    /* A tokenizer needs no weights: open the model's files for it alone. */
    struct source source = {0};
    struct ids ids = {0};
    const char *path = r->options.settings.device.model;
    int rc = 0;
    if (r->model == NULL && !repl_finds_model(r))
        return repl_need_model(r); /* which says what there is to do */
    if (r->model == NULL && (rc = source_open(&source, path, 0, false, progress_show())) != 0)
        rc = run_folder_explain(rc, path);
    const struct tokenizer *t = r->model != NULL ? r->model->tokenizer : source.tokenizer;
    if (rc == 0 && t == NULL)
        rc = err_set(ERR_MISSING, "the model has no tokenizer files");
    const bool to_text = rc == 0 && c->shell && ids_given(r);
    if (rc == 0)
        rc = to_text ? print_text(r, c, t) : ids_to_show(r, c, t, &ids);
    if (rc == 0 && c->shell && !to_text)
        print_ids(&ids);
    else if (rc == 0 && !c->shell)
        rc = show_tokens(t, &ids);
    source_close(&source);
    ids_release(&ids);
    return rc;
}

/* NumPy's format, version 1.0: magic, header length, a Python dict padded to 64 bytes. */
static int write_npy_header(struct file_writer *w, size_t rows, int V, bool all)
{
    char shape[64], header[256];
    if (all)
        snprintf(shape, sizeof shape, "(%zu, %d)", rows, V);
    else
        snprintf(shape, sizeof shape, "(%d,)", V);
    int n = snprintf(header + 10, sizeof header - 10,
                     "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", shape);
    int total = (10 + n + 1 + 63) / 64 * 64;
    memset(header + 10 + n, ' ', (size_t)(total - 10 - n));
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)((total - 10) & 0xff);
    header[9] = (char)((total - 10) >> 8);
    header[total - 1] = '\n';
    return file_write(w, header, (size_t)total);
}

struct npy_rows {
    struct file_writer *file;
    int V, rc;
};

static void write_npy_row(void *user, size_t i, const float *logits)
{
    struct npy_rows *n = user;
    (void)i;
    if (n->rc == 0)
        n->rc = file_write(n->file, logits, (size_t)n->V * sizeof *logits);
}

static int write_npy(struct repl *r, const struct ids *ids, const float *last, const char *path)
{
    const struct call_settings *k = &r->options.settings.call;
    struct file_writer w;
    struct npy_rows rows = {&w, r->model->config.n_vocab, 0};
    int rc = file_create(&w, path, k->force);
    if (rc != 0)
        return rc;
    rc = write_npy_header(&w, ids->n, rows.V, k->all);
    if (rc == 0 && k->all && ids->n > 1)
        rc = score_text(&r->engine, ids->data, ids->n, 1, write_npy_row, &rows, progress_show());
    if (rc == 0)
        rc = rows.rc;
    if (rc == 0)
        rc = file_write(&w, last, (size_t)rows.V * sizeof *last);
    if (rc == 0)
        rc = file_commit(&w);
    file_abandon(&w);
    return rc;
}

/* One a line, of the model's own probabilities. */
static void list_top_tokens(const struct repl *r, const float *logits, int most)
{
    const int V = r->model->config.n_vocab;
    float top = sampling_kernels()->max(logits, (size_t)V);
    double sum = sampling_kernels()->exp_sum(NULL, logits, (size_t)V, top, 1.0f);
    float below = INFINITY;
    int last = -1;
    for (int shown = 0; shown < most && shown < V; shown++) {
        /* The next in order of logit, then of id. */
        int best = -1;
        for (int i = 0; i < V; i++)
            if ((logits[i] < below || (logits[i] == below && i > last)) &&
                (best < 0 || logits[i] > logits[best]))
                best = i;
        if (best < 0)
            break;
        below = logits[last = best];
        struct buf text = {0};
        if (r->model->tokenizer != NULL)
            token_text_quote(&text, r->model->tokenizer, best);
        printf("%7d  %10.5f  %6.2f %%  %s\n", best, (double)below,
               100.0 * exp((double)below - (double)top) / sum, buf_text(&text));
        buf_release(&text);
    }
}

int cmd_logits(struct repl *r, const struct call *c)
{
    struct prompt p = {0};
    const char *path = r->options.settings.call.out;
    const int asked = r->options.settings.call.top, most = asked > 0 ? asked : NEXT_SHOWN;
    const bool to_file =
        settings_store_origin(&r->options.store, OPTION(call.out)) != ORIGIN_BUILT_IN;
    if (to_file && *path == '\0')
        return err_set(ERR_RANGE, "out is empty: --out FILE.npy names a file");
    if (r->options.settings.call.all && !to_file)
        return err_set(ERR_RANGE, "--all is for a file, which has every position: --out FILE.npy");
    float *logits = mem_array((size_t)r->model->config.n_vocab, sizeof *logits);
    if (logits == NULL)
        return ERR_NOMEM;
    int rc = take_input(r, c, &p);
    if (rc == 0)
        rc = repl_ready(r, 1);
    if (rc == 0)
        rc = engine_check_ids(&r->engine, p.ids.data, p.ids.n);
    if (rc == 0 && p.ids.n == 0)
        rc = err_set(ERR_RANGE, "an empty text has no next token; give a text or --ids 1,2,3");
    if (rc == 0)
        rc = explain_logits(logits, &r->engine, &p.ids, progress_show());
    if (rc == 0 && to_file)
        rc = write_npy(r, &p.ids, logits, path);
    progress_wipe();
    if (rc == 0 && isatty(STDOUT_FILENO) == 1 && r->model->tokenizer != NULL)
        rc = next_show(r, &p, logits, most);
    else if (rc == 0)
        list_top_tokens(r, logits, most);
    prompt_release(&p);
    mem_free(logits);
    return rc;
}

int cmd_generate(struct repl *r, const struct call *c)
{
    const struct settings *s = &r->options.settings;
    struct buf text = {0};
    struct prompt p = {0};
    int rc = 0;
    if (r->model->tokenizer == NULL && s->call.output == OUTPUT_TEXT && !s->batch.jsonl)
        return gpt2_vocab_is(&r->model->config)
                   ? prompt_need_tokenizer(r->model)
                   : err_set(ERR_MISSING, "the model has no tokenizer files to show answers as "
                                          "text; --output ids prints their IDs");
    if (ids_given(r)) {
        if ((rc = take_input(r, c, &p)) == 0)
            rc = answer_ids(r, &p.ids);
    } else {
        rc = take_text(c, &text, true);
        if (rc == 0)
            rc = answer_prompt(r, buf_text(&text), text.n);
    }
    buf_release(&text);
    prompt_release(&p);
    return rc;
}
