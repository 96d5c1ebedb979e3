#ifndef PRATTLE_WEIGHTS_HF_VOCAB_H
#define PRATTLE_WEIGHTS_HF_VOCAB_H
/*
 * GPT-2's tokenizer files: vocab.json and merges.txt, as OpenAI wrote them, and
 * tokenizer.json, as Hugging Face's tokenizers library writes it. Beside either,
 * tokenizer_config.json may say add_prefix_space, which comes before what tokenizer.json says
 * of it, as in transformers, and has added tokens that the others lack. A token before each text,
 * of tokenizer.json's post_processor or by add_bos_token, makes tokenizer_begins. In a folder
 * without these, SentencePiece's tokenizer.model or spiece.model.
 */
#include "model/base/file_set.h"
#include "model/base/progress.h"
#include "model/config.h"
#include "model/tokenizer/tokenizer.h"

/*
 * The tokenizer of a folder: tokenizer.json where there is one, as transformers does,
 * else vocab.json with merges.txt and, where there is one, added_tokens.json, else a model of
 * SentencePiece. *out is NULL with 0 when the folder has none of these.
 *
 * c may be NULL; else its special ids count, an id not below c->n_vocab is refused
 * (ERR_MISMATCH), and ids without a token get a note. "<|endoftext|>" and all added
 * tokens are special. The tokenizer keeps the bytes of its files (tokenizer_kept), also of those
 * that say nothing here: special_tokens_map.json, chat_template.jinja.
 */
int vocab_open_folder(struct tokenizer **out, const char *folder, const struct config *c,
                      const struct progress *p);
/* The same where some of its files are open. */
int vocab_open_files(struct tokenizer **out, const char *folder, const struct file_set *open,
                     const struct config *c, const struct progress *p);

/* The texts of those files; NULL, 0 for one that is not there. */
struct vocab_text {
    const char *vocab, *merges, *added; /* vocab.json, merges.txt, added_tokens.json */
    const char *tokenizer;              /* or tokenizer.json alone */
    const char *config;                 /* tokenizer_config.json */
    size_t n_vocab, n_merges, n_added, n_tokenizer, n_config;
};
int vocab_parse(struct tokenizer **out, const struct vocab_text *text, const struct config *c,
                const struct progress *p);

#endif
