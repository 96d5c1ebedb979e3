#include "sampling/grammar/source.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "sampling/grammar/grammar_parse.h"
#include "sampling/schema/json_schema.h"

#include <string.h>

enum { MOST_BYTES = 1 << 20 };

static const char OBJECT[] = "{\"type\": \"object\"}";

static int from_text(struct grammar **out, const char *text, size_t n)
{
    struct buf rules = {0};
    if (n == 0 || text[strspn(text, " \t\r\n")] != '{')
        return grammar_parse(out, text, n);
    int rc = json_schema_grammar(&rules, text, n);
    if (rc == 0)
        rc = grammar_parse(out, buf_text(&rules), rules.n);
    buf_release(&rules);
    return rc;
}

static int from_file(struct grammar **out, const char *typed)
{
    struct buf text = {0};
    char *path = file_expand(typed);
    if (path == NULL)
        return ERR_NOMEM;
    int rc = file_read_all(&text, path, MOST_BYTES);
    if (rc == ERR_MISSING)
        rc = err_set(ERR_MISSING,
                     "grammar is json, a JSON schema {...}, a grammar root ::= ... or a file of "
                     "one of these, and there is no file %s",
                     file_quote(path));
    else if (rc == 0 && (rc = from_text(out, buf_text(&text), text.n)) != 0)
        rc = file_wrap(path);
    buf_release(&text);
    mem_free(path);
    return rc;
}

const char *grammar_word(int i)
{
    return i == 0 ? "json" : NULL;
}

int grammar_load(struct grammar **out, const char *text)
{
    *out = NULL;
    if (strcmp(text, grammar_word(0)) == 0)
        return from_text(out, OBJECT, sizeof OBJECT - 1);
    if (text[strspn(text, " \t\r\n")] != '{' && strstr(text, "::=") == NULL)
        return from_file(out, text);
    int rc = from_text(out, text, strlen(text));
    return rc == 0 ? 0 : err_wrap("grammar");
}
