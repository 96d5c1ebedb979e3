/* :tokenizer train */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/terminal/progress.h"
#include "repl/session/repl.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/data/text_words.h"
#include "weights/tensors/folder.h"
#include "weights/hf/hf_files.h"
#include "weights/hf/vocab_write.h"

#include <stdio.h>
#include <string.h>

static int learn_tokenizer(struct tokenizer **out, const char *text,
                           const struct bpe_train_config *c)
{
    struct bpe_words words = {0};
    int rc = text_words_read(&words, text, progress_show());
    if (rc == 0)
        rc = bpe_train(out, &words, c, progress_show());
    bpe_words_release(&words);
    return rc;
}

/* A new folder comes whole or not at all; in an old one only the tokenizer is replaced. */
static int train_folder(struct tokenizer **t, const char *text, const char *out,
                        const struct call_settings *k)
{
    struct folder_writer folder = {0};
    int rc = folder_create(&folder, out, false);
    bool old = rc == ERR_EXISTS && file_is_folder(out);
    /* Its weights are of the ids of its own tokenizer. */
    if (old && hf_files_are_in(out))
        return file_refuse(ERR_EXISTS, out,
                           "has a model, whose weights need the tokenizer that they were trained "
                           "with; choose another folder");
    if (old)
        rc = vocab_check_folder(out, k->force);
    if (rc == 0)
        rc = learn_tokenizer(t, text, &k->bpe);
    if (rc == 0)
        rc = vocab_write_folder(*t, TOKEN_NONE, old ? out : folder.temp, old && k->force);
    if (rc == 0 && !old)
        rc = folder_commit(&folder);
    folder_abandon(&folder);
    return rc;
}

static void print_tokenizer(const struct tokenizer *t, const char *out)
{
    char shown[1024];
    progress_wipe();
    wrap_say(stdout, term_dim(stdout), "%d tokens, %d merges; wrote %s", tokenizer_size(t),
             tokenizer_merges(t), file_show(shown, sizeof shown, out));
}

int cmd_tokenizer(struct repl *r, const struct call *c)
{
    struct tokenizer *t = NULL;
    if (strcmp(c->words[0], "train") != 0)
        return err_set(ERR_RANGE, "tokenizer does not know %s; it can train",
                       file_quote(c->words[0]));
    char *text = file_expand(c->words[1]), *out = file_expand(c->words[2]);
    int rc = text == NULL || out == NULL ? ERR_NOMEM
                                         : train_folder(&t, text, out, &r->options.settings.call);
    if (rc == 0)
        print_tokenizer(t, out);
    tokenizer_free(t);
    mem_free(text);
    mem_free(out);
    return rc;
}
