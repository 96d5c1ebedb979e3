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

int gpt2_tokenizer_borrow(struct source *s, const struct progress *p)
{
    static const char *const ids[] = {"openai-community/gpt2", "gpt2"};
    char *folder = NULL;
    int rc = 0;
    if (s->tokenizer != NULL || !gpt2_vocab_is(&s->config))
        return 0;
    for (size_t i = 0; i < sizeof ids / sizeof *ids && folder == NULL; i++)
        folder = find_snapshot(ids[i]);
    if (folder != NULL && (rc = vocab_open_folder(&s->tokenizer, folder, &s->config, p)) == 0)
        progress_note(p, "no tokenizer files are beside the model; it has GPT-2's vocabulary, and "
                         "takes the tokenizer of gpt2 from the Hugging Face cache");
    mem_free(folder);
    return rc;
}
