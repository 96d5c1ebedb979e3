#include "sampling/chain/stages.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/words.h"

#include <string.h>

static const char *const names[] = {
    [STAGE_LOGIT_BIAS] = "logit_bias",
    [STAGE_PENALTIES] = "penalties",
    [STAGE_DRY] = "dry",
    [STAGE_NO_REPEAT_NGRAM] = "no_repeat_ngram",
    [STAGE_BAD_WORDS] = "bad_words",
    [STAGE_MIN_NEW_TOKENS] = "min_new_tokens",
    [STAGE_GRAMMAR] = "grammar",
    [STAGE_TEMPERATURE] = "temperature",
    [STAGE_TOP_K] = "top_k",
    [STAGE_TOP_P] = "top_p",
    [STAGE_MIN_P] = "min_p",
    [STAGE_TYPICAL_P] = "typical_p",
    [STAGE_TOP_N_SIGMA] = "top_n_sigma",
    [STAGE_XTC] = "xtc",
    [STAGE_TOPK_UNIFORM] = "topk_uniform",
    [STAGE_MIROSTAT] = "mirostat",
};
_Static_assert(sizeof names / sizeof *names == STAGE_COUNT, "the last stage has no name");

static int refuse_stage(const char *name)
{
    const char *nearest = words_nearest(name, names, STAGE_COUNT);
    struct buf list = {0};
    if (nearest != NULL)
        return err_set(ERR_RANGE, "chain has no stage %s; did you mean %s?", file_quote(name),
                       nearest);
    for (const char *p = SAMPLER_CHAIN; *p != '\0'; p++)
        if (buf_char(&list, *p) != 0 || (*p == ',' && buf_char(&list, ' ') != 0))
            break;
    err_set(ERR_RANGE, "chain has no stage %s; the stages are %s", file_quote(name),
            buf_text(&list));
    buf_release(&list);
    return ERR_RANGE;
}

static int add_stage(struct chain *out, const char *name)
{
    int stage = 0;
    while (stage < STAGE_COUNT && strcmp(names[stage], name) != 0)
        stage++;
    if (stage == STAGE_COUNT)
        return refuse_stage(name);
    for (int i = 0; i < out->n; i++)
        if (out->stages[i] == (enum stage)stage)
            return err_set(ERR_RANGE, "chain: stage %s is there twice", name);
    out->stages[out->n++] = (enum stage)stage;
    return 0;
}

int chain_parse(struct chain *out, const char *text)
{
    *out = (struct chain){0};
    if (!text || !*text)
        text = SAMPLER_CHAIN;
    for (;;) {
        text += strspn(text, " \t");
        size_t length = strcspn(text, ","), n = length;
        while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
            n--;
        char *name = mem_sprintf("%.*s", (int)n, text);
        int rc = name == NULL ? ERR_NOMEM : add_stage(out, name);
        mem_free(name);
        if (rc)
            return rc;
        if (!text[length])
            return 0;
        text += length + 1;
    }
}

bool chain_has(const char *text, enum stage stage)
{
    struct chain chain;
    bool has = false;
    if (chain_parse(&chain, text) != 0)
        return true;
    for (int i = 0; i < chain.n; i++)
        has |= chain.stages[i] == stage;
    return has;
}
