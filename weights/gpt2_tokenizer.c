#include "weights/gpt2_tokenizer.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/gpt2_vocab.h"
#include "weights/hf/vocab.h"
#include "weights/hub/repository.h"

/* The snapshot of `id` that has these files, though its weights may be missing; NULL: none. */
static char *find_snapshot(const char *id)
{
    struct hub_repository r;
    char commit[HUB_COMMIT_BYTES], *folder = NULL;
    if (hub_repository_init(&r, id) != 0) {
        err_clear();
        return NULL;
    }
    hub_repository_commit(&r, commit, HUB_MAIN);
    if (commit[0] != '\0' && (hub_repository_has(&r, commit, "tokenizer.json") ||
                              (hub_repository_has(&r, commit, "vocab.json") &&
                               hub_repository_has(&r, commit, "merges.txt"))))
        folder = hub_repository_snapshot(&r, commit);
    hub_repository_release(&r);
    return folder;
}

/* A file that was cut at a line's end can be read, and would give other tokens without a word. */
static int check_whole(struct tokenizer **t)
{
    const int n = tokenizer_size(*t), merges = tokenizer_merges(*t);
    if (n == GPT2_VOCAB && merges == GPT2_MERGES)
        return 0;
    tokenizer_free(*t);
    *t = NULL;
    return err_set(ERR_FORMAT, "it has %d tokens and %d merges, GPT-2's has %d and %d", n, merges,
                   GPT2_VOCAB, GPT2_MERGES);
}

static int open_snapshot(struct source *s, const char *folder, const struct progress *p)
{
    int rc = vocab_open_folder(&s->tokenizer, folder, &s->config, p);
    return rc == 0 ? check_whole(&s->tokenizer) : rc;
}

/* One that cannot be read is as good as none; the model does not need it to be loaded. */
static int note_damage(int rc, const char *id, const struct progress *p)
{
    if (rc == ERR_NOMEM || rc == ERR_INTERRUPTED)
        return rc;
    progress_note(
        p,
        "the tokenizer of %s in the Hugging Face cache is left out: %s; `prattle hub remove "
        "%s` and `prattle hub get %s` fetch it anew",
        id, err_text(), id, id);
    err_clear();
    return 0;
}

int gpt2_tokenizer_borrow(struct source *s, const struct progress *p)
{
    static const char *const ids[] = {"openai-community/gpt2", "gpt2"};
    int rc = 0;
    if (s->tokenizer != NULL || !gpt2_vocab_is(&s->config))
        return 0;
    for (size_t i = 0; i < sizeof ids / sizeof *ids && rc == 0 && s->tokenizer == NULL; i++) {
        char *folder = find_snapshot(ids[i]);
        if (folder != NULL && (rc = open_snapshot(s, folder, p)) != 0)
            rc = note_damage(rc, ids[i], p);
        mem_free(folder);
    }
    if (rc == 0 && s->tokenizer != NULL)
        progress_note(p, "no tokenizer files are beside the model; it has GPT-2's vocabulary, and "
                         "takes the tokenizer of gpt2 from the Hugging Face cache");
    return rc;
}
