/* :batch */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/session/batch_lines.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/parallel/world.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the shell "-" is the standard stream; at the prompt that is the terminal. */
static bool is_stream(const struct call *c, int i)
{
    return c->shell && c->n > i && strcmp(c->words[i], "-") == 0;
}

/* The prompts would be gone, and no answers there if they do not come to an end. */
static int refuse_same(const char *in, const char *out)
{
    struct stat st;
    return file_is_same(in, out) && stat(in, &st) == 0 && S_ISREG(st.st_mode)
               ? file_refuse(ERR_EXISTS, out, "has the prompts: the answers need another file")
               : 0;
}

int cmd_batch(struct repl *r, const struct call *c)
{
    const bool piped = is_stream(c, 0), to_file = c->n > 1 && !is_stream(c, 1);
    int prompts = piped ? STDIN_FILENO : -1;
    char *in = file_expand(c->words[0]), *out = to_file ? file_expand(c->words[1]) : NULL;
    if (piped && isatty(STDIN_FILENO) == 1)
        wrap_say(stderr, term_dim(stderr),
                 "[the prompts are read from the terminal; Ctrl-D on an empty line ends them]");
    int rc = in == NULL || (to_file && out == NULL) ? ERR_NOMEM : 0;
    if (rc == 0 && !piped && to_file)
        rc = refuse_same(in, out);
    if (rc == 0 && !piped && world_rank() == 0)
        rc = file_open_input(&prompts, in);
    if ((rc = world_agree(rc)) == 0)
        rc = batch_lines(r, prompts, piped ? NULL : in, out);
    if (!piped && prompts >= 0)
        close(prompts);
    mem_free(in);
    mem_free(out);
    return rc;
}
