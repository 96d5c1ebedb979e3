#include "model/defaults.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/yaml_pairs.h"

#include <string.h>

struct rewriting {
    struct buf out;
    char *template; /* what they say; NULL: nothing; owned */
};

/* Words as they are, which others look for in them (source_begin_token). */
static bool is_plain(const char *text)
{
    static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-";
    return *text != '\0' && *text != '-' && strspn(text, plain) == strlen(text) &&
           strcmp(text, "null") != 0;
}

static int add_setting(struct buf *out, const char *name, const char *text)
{
    int rc = buf_printf(out, "%s: ", name);
    if (rc == 0)
        rc = is_plain(text) ? buf_str(out, text) : yaml_quote(out, text);
    return rc == 0 ? buf_char(out, '\n') : rc;
}

static int take_pair(void *user, const struct yaml_pair *p)
{
    struct rewriting *w = user;
    if (strcmp(p->name, "template") != 0 && strcmp(p->name, "prompt_template") != 0)
        return p->text == NULL ? 0 : add_setting(&w->out, p->name, p->text);
    mem_free(w->template);
    w->template = mem_strdup(p->text == NULL ? "" : p->text);
    return w->template == NULL ? ERR_NOMEM : 0;
}

int defaults_set_template(char **defaults, const char **file, const char *template, bool *changed)
{
    const struct yaml_shape lists = {.lists = true};
    struct rewriting w = {0};
    *changed = false;
    if (*template == '\0')
        return 0;
    int rc = *defaults == NULL ? 0
                               : yaml_read_pairs("prattle.yaml", *defaults, strlen(*defaults),
                                                 lists, take_pair, &w);
    const bool none = w.template == NULL || *w.template == '\0';
    if (rc == 0 && strcmp(none ? "{prompt}" : w.template, template) != 0 &&
        (rc = add_setting(&w.out, "template", template)) == 0) {
        mem_free(*defaults);
        *defaults = mem_strdup(buf_text(&w.out));
        *file = "prattle.yaml";
        *changed = *defaults != NULL;
        rc = *changed ? 0 : ERR_NOMEM;
    }
    buf_release(&w.out);
    mem_free(w.template);
    return rc;
}
