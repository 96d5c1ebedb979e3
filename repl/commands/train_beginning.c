#include "repl/commands/train_beginning.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "repl/commands/train_continue.h"
#include "repl/commands/train_launch.h"
#include "repl/terminal/wrap.h"
#include "train/parallel/world.h"

#include <stdio.h>

int beginning_leave(struct beginning *b, const struct run_config *c, const char *resumed)
{
    b->launched = mem_alloc(sizeof *b->launched);
    if (b->launched == NULL)
        return ERR_NOMEM;
    int rc = run_config_copy(b->launched, c);
    if (rc == 0 && resumed != NULL && (b->resumed = mem_strdup(resumed)) == NULL)
        rc = ERR_NOMEM;
    return rc;
}

static void release_beginning(struct beginning *b)
{
    if (b->launched != NULL)
        run_config_release(b->launched);
    mem_free(b->launched);
    mem_free(b->resumed);
}

/* "train WORDS", or "train resume FOLDER WORDS". */
static int launch_run(struct repl *r, const struct beginning *b, bool shell)
{
    static char resume[] = "resume";
    char **words = mem_array((size_t)b->n + 2, sizeof *words);
    int n = 0;
    if (words == NULL)
        return ERR_NOMEM;
    if (b->resumed != NULL) {
        words[n++] = resume;
        words[n++] = b->resumed;
    }
    for (int i = 0; i < b->n; i++)
        words[n++] = b->words[i];
    int rc = train_launch(r, b->launched, words, n, shell);
    mem_free(words);
    return rc;
}

/* Rank 0 goes first: what it refuses, or prepares in files, others need not try. */
static int begin_in_turn(struct repl *r, struct beginning *b)
{
    int rc = world_rank() == 0 ? b->begin(r, b) : 0;
    if ((rc = world_agree(rc)) != 0)
        return rc;
    if (world_rank() > 0)
        rc = b->begin(r, b);
    return b->launched != NULL ? rc : run_join(r->run, rc);
}

/* Of several that have some layers each. */
static int show_devices(const struct repl *r)
{
    struct buf table = {0};
    int rc = run_devices(r->run, &table);
    if (rc == 0 && table.n > 0 && world_rank() == 0)
        wrap_lines(stdout, "", buf_text(&table));
    buf_release(&table);
    return rc;
}

int beginning_go_on(struct repl *r, struct beginning *b, bool shell)
{
    int rc = begin_in_turn(r, b);
    if (rc == 0 && b->launched == NULL)
        rc = show_devices(r);
    if (rc == 0)
        rc = b->launched != NULL ? launch_run(r, b, shell) : train_continue(r, shell);
    release_beginning(b);
    return rc;
}
