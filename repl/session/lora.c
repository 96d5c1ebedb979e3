#include "repl/session/lora.h"

#include "model/base/file.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "repl/terminal/progress.h"
#include "weights/hf/adapter_file.h"
#include "weights/load.h"
#include "weights/find.h"
#include "weights/run_folder.h"

#include <stdio.h>

const char *lora_about(char *out, size_t n, const struct adapter *a)
{
    char targets[100];
    snprintf(out, n, "%s, rank %d, alpha %g, %s%s", a->on ? "on" : "off", a->config.rank,
             (double)a->config.alpha, file_show(targets, sizeof targets, a->config.targets),
             a->changed ? "; not saved" : "");
    return out;
}

int lora_read(struct adapter **out, const struct model *m, const char *path)
{
    char *found, *title;
    int rc = weights_find(&found, &title, path, progress_show());
    if (rc == 0)
        rc = adapter_read(out, found, &m->config);
    if (rc == 0 && title != NULL)
        progress_warn(title);
    mem_free(title);
    mem_free(found);
    return rc;
}

int lora_attach(struct model *m, struct adapter *a)
{
    int rc = adapter_load(a, m, progress_show());
    if (rc != 0)
        adapter_free(a);
    progress_wipe();
    return rc;
}

int lora_load(struct model *m, const char *path)
{
    struct adapter *a = NULL;
    int rc = lora_read(&a, m, path);
    return rc == 0 ? lora_attach(m, a) : rc;
}

void lora_warn_of_base(const struct model *m)
{
    char text[700], shown[256], word[300];
    if (m->source == NULL || !run_folder_is_checkpoint(m->source))
        return;
    snprintf(text, sizeof text,
             "the adapter needs %s, a checkpoint, which its run removes as it goes on: `prattle "
             "convert %s FOLDER` makes a copy that stays, for `prattle FOLDER --lora ADAPTER`",
             file_show(shown, sizeof shown, m->source), file_word(word, sizeof word, m->source));
    progress_warn(text);
}
