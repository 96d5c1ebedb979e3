#ifndef PRATTLE_REPL_TERMINAL_TOKEN_TEXT_H
#define PRATTLE_REPL_TERMINAL_TOKEN_TEXT_H
/* Tokens as a person reads them. */
#include "model/tokenizer/tokenizer.h"

/*
 * " name": the token's bytes in quotes, safe for a terminal and on one line; the bare id where
 * there is no tokenizer or the id is a hole. Appended to out.
 *
 * Each token can be told from any other: quotes and backslashes in it have a backslash before them,
 * newlines are \n, tabs \t, blanks that are not the plain space \u00a0 and the like, several
 * spaces alone " "x3.
 */
int token_text_quote(struct buf *out, const struct tokenizer *t, token_id id);
/* The last words of these tokens' text so, at most so many columns of it; "..." stands for what is
 * before them. Nothing without a tokenizer. */
int token_text_last(struct buf *out, const struct tokenizer *t, const token_id *ids, size_t n,
                    int columns);

#endif
