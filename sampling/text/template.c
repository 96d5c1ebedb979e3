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

int template_fill(struct buf *out, const char *template, const char *text, size_t n)
{
    if (template == NULL || *template == '\0')
        return buf_add(out, text, n);
    char *whole = words_undo_escapes(template);
    const char *at = whole, *place;
    int rc = 0;
    if (whole == NULL)
        return ERR_NOMEM;
    while (rc == 0 && (place = strstr(at, TEMPLATE_PLACE)) != NULL) {
        rc = buf_add(out, at, (size_t)(place - at));
        if (rc == 0)
            rc = buf_add(out, text, n);
        at = place + strlen(TEMPLATE_PLACE);
    }
    if (rc == 0)
        rc = buf_str(out, at);
    mem_free(whole);
    return rc;
}
