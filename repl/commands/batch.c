/* :batch */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/session/batch_lines.h"
#include "train/parallel/world.h"

int cmd_batch(struct repl *r, const struct call *c)
{
    struct file prompts = {0};
    char *in = file_expand(c->words[0]), *out = c->n > 1 ? file_expand(c->words[1]) : NULL;
    int rc = in == NULL || (c->n > 1 && out == NULL) ? ERR_NOMEM : 0;
    if (rc == 0 && world_rank() == 0)
        rc = file_open(&prompts, in);
    if ((rc = world_agree(rc)) == 0)
        rc = batch_lines(r, prompts.fd, in, out);
    file_close(&prompts);
    mem_free(in);
    mem_free(out);
    return rc;
}
