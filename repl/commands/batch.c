/* :batch */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/session/batch_lines.h"
#include "train/parallel/world.h"

#include <unistd.h>

int cmd_batch(struct repl *r, const struct call *c)
{
    int prompts = -1;
    char *in = file_expand(c->words[0]), *out = c->n > 1 ? file_expand(c->words[1]) : NULL;
    int rc = in == NULL || (c->n > 1 && out == NULL) ? ERR_NOMEM : 0;
    if (rc == 0 && world_rank() == 0)
        rc = file_open_input(&prompts, in);
    if ((rc = world_agree(rc)) == 0)
        rc = batch_lines(r, prompts, in, out);
    if (prompts >= 0)
        close(prompts);
    mem_free(in);
    mem_free(out);
    return rc;
}
