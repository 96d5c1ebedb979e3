#ifndef PRATTLE_REPL_SESSION_TURN_H
#define PRATTLE_REPL_SESSION_TURN_H
/*
 * One prompt and its answer, as :regen, :undo and :why need them. The text in progress usually
 * begins with the text before a turn and its prompt, so a turn stores their lengths; it stores ids
 * only of what is not, or no longer, in that text.
 */
#include "kvcache/sequence.h"
#include "repl/settings/options_table.h"
#include "sampling/text/prompt.h"

struct turn {
    size_t n_before;        /* the text before it: so many ids of its prompt, */
    struct ids replaced;    /* or these, where the prompt began a new text */
    bool before_held;       /* and whether a space was held behind that */
    size_t n_prompt;        /* what the answer goes on from: so many ids of the text, */
    struct ids prompt;      /* or these, where a slide has cut them or they were not read */
    bool held_space, begun; /* of that (prompt.h) */
    struct ids *answers;    /* [n_answers], what was drawn, without the stop token; the text
                               goes on from the first */
    int n_answers;
    bool ended;               /* a stop token ended that one, */
    bool ended_by_grammar;    /* or its grammar, which left no token */
    uint64_t version;         /* of the weights that they are from */
    bool slid;                /* the context was cut meanwhile */
    int64_t n_drawn;          /* as many numbers of the draw are used, the stop token's too */
    struct settings settings; /* as they were: seed and draw too */
};
void turn_release(struct turn *t);
/* Before a turn: the text, which its prompt goes on from (more) or replaces, and the space held
 * behind it. */
int turn_begin(struct turn *t, const struct ids *text, bool held_space, bool more);
/* After it: p is the prompt as given, whose ids the turn takes where the text has them not. */
void turn_take_prompt(struct turn *t, struct prompt *p, const struct ids *text,
                      const struct answer *a);
/* And what was drawn. */
int turn_take_answers(struct turn *t, const struct answer *answers, int n);
/* A setting as a line of a session file, "top_k: \"40\"". */
int turn_format_setting(const struct setting *o, const struct settings *s, struct buf *out);
/* A line for a session file, "# answer ...", that says which part of the text the newest turn's
 * answer is and how it was drawn; where the text does not begin with its prompt any more, two more
 * with the ids of both; and one for each setting that is another one now, with what it was. None
 * where that is too much, or nothing was drawn. */
int turn_format(const struct turn *t, const struct ids *text, const struct settings *now,
                struct buf *out);
/* Take it over from the beginning of a session's settings, which t has already, for a turn behind
 * this text, ids being below n_vocab; false: there is none, or none for this text, or it had a
 * setting that none can have, and t is only to be released. */
bool turn_parse(struct turn *t, const char *settings, const struct ids *text, int n_vocab);
/* Whether both have the same grammar; not where either has none. */
bool turn_same_grammar(const struct sampler_config *a, const struct sampler_config *b);
/* Let c go on with what the last turn's grammar has read of the text, if it has the same one. */
void turn_continue_grammar(struct sampler_config *c, const struct turn *last,
                           const struct ids *text);
/* The newest turn's prompt [*n], borrowed from it or from the text; p gets a copy. */
const token_id *turn_prompt(const struct turn *t, const struct ids *text, size_t *n);
int turn_copy_prompt(const struct turn *t, const struct ids *text, struct prompt *p);
/* The text before it [*n], borrowed from it or from its prompt. */
const token_id *turn_before(const struct turn *t, const token_id *prompt, size_t *n);

#endif
