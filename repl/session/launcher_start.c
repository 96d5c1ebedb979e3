#include "repl/session/launcher_start.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/parallel/start.h"

#include <stdio.h>
#include <string.h>

int launcher_start_begin(struct launcher_start *s, int size)
{
    *s = (struct launcher_start){.size = size};
    s->ranks = mem_array((size_t)size, sizeof *s->ranks);
    return s->ranks != NULL ? 0 : ERR_NOMEM;
}

void launcher_start_release(struct launcher_start *s)
{
    mem_free(s->ranks);
    *s = (struct launcher_start){0};
}

bool launcher_start_take(struct launcher_start *s, const char *text)
{
    char word[8], host[sizeof s->ranks->host];
    int rank;
    if (sscanf(text, "%7s %d %63s", word, &rank, host) != 3 || rank < 0 || rank >= s->size)
        return false;
    struct start_rank *r = &s->ranks[rank];
    if (strcmp(word, "apart") == 0) {
        s->apart = true;
    } else if (strcmp(word, "met") == 0) {
        r->met = true;
    } else if (strcmp(word, "here") == 0) {
        s->here += !r->here;
        r->here = true;
        r->silent_s = 0;
        memcpy(r->host, host, sizeof host);
    } else {
        return false;
    }
    return true;
}

bool launcher_start_is_ready(const struct launcher_start *s)
{
    return s->here == s->size;
}

/* While this process was stopped it could hear of none. */
int launcher_start_silent(struct launcher_start *s, double now_s)
{
    const double most_s = 1, since_s = s->looked_s == 0 ? 0 : now_s - s->looked_s;
    bool others = false;
    int silent = -1;
    s->looked_s = now_s;
    for (int i = 0; i < s->size; i++) {
        struct start_rank *r = &s->ranks[i];
        if (!r->here || r->met)
            continue;
        r->silent_s += since_s < most_s ? since_s : most_s;
        if (r->silent_s <= START_SILENT_S)
            others = true;
        else if (silent < 0)
            silent = i;
    }
    return others ? silent : -1;
}
