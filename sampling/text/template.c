#include "sampling/text/template.h"

#include "model/base/err.h"
#include "model/base/file_show.h"
#include "model/base/mem.h"
#include "model/base/utf8.h"
#include "model/base/words.h"

#include <string.h>

int template_check(const char *template)
{
    char shown[80];
    if (template == NULL || *template == '\0')
        return 0;
    if (utf8_valid(template, strlen(template)) < strlen(template))
        return err_set(ERR_FORMAT, "template is not UTF-8");
    if (strstr(template, TEMPLATE_PLACE) != NULL)
        return 0;
    return err_set(ERR_RANGE,
                   "template must have " TEMPLATE_PLACE
                   " where the prompt goes, as in \"Q: " TEMPLATE_PLACE "\\nA:\", not \"%s\"",
                   file_show(shown, sizeof shown, template));
}

/* Bytes of the name behind a brace; 0: there is none. */
static size_t name_length(const char *text)
{
    size_t n = 0;
    while ((unsigned char)text[n] >= ' ' && strchr("{}\"", text[n]) == NULL)
        n++;
    return text[n] != '}' || n == 0 || text[0] == ' ' || text[n - 1] == ' ' ? 0 : n;
}

bool template_next(struct template_piece *p, const char **at)
{
    const char *text = *at;
    size_t n = *text == '{' ? name_length(text + 1) : 0;
    *p = (struct template_piece){.text = text};
    if (n > 0) {
        p->name = text + 1;
        p->n_name = n;
        p->n = n + 2;
    } else {
        while (text[p->n] != '\0' && (text[p->n] != '{' || name_length(text + p->n + 1) == 0))
            p->n++;
    }
    *at += p->n;
    return p->n > 0;
}

static bool is_prompt(const struct template_piece *p)
{
    return p->n == strlen(TEMPLATE_PLACE) && memcmp(p->text, TEMPLATE_PLACE, p->n) == 0;
}

int template_fill(struct buf *out, const char *template, const char *text, size_t n)
{
    struct template_piece piece;
    if (template == NULL || *template == '\0')
        return buf_add(out, text, n);
    char *whole = words_undo_escapes(template);
    const char *at = whole;
    int rc = whole == NULL ? ERR_NOMEM : 0;
    while (rc == 0 && template_next(&piece, &at))
        rc = is_prompt(&piece) ? buf_add(out, text, n) : buf_add(out, piece.text, piece.n);
    mem_free(whole);
    return rc;
}
