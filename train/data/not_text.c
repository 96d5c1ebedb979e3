#include "train/data/not_text.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "train/data/advice.h"

#include <ctype.h>
#include <string.h>

#define TO_PLAIN "`pandoc -t plain --wrap=none FILE -o NEW.txt`"

const struct not_text *not_text_find(const char *head, size_t n)
{
    static const struct {
        const char *bytes;
        size_t n;
        struct not_text format;
    } known[] = {
        {"7z\xbc\xaf\x27\x1c", 6, {"is a 7-Zip archive", "unpack it first", false}},
        {"Rar!", 4, {"is a RAR archive", "unpack it first", false}},
        {"GGUF", 4, {"is a model (GGUF), not text or tokens", "", true}},
        {"version https://git-lfs",
         23,
         {"is a git-lfs pointer, not the data", "`git lfs pull`", false}},
        {"%PDF-", 5, {"is a PDF", "`pdftotext FILE NEW.txt`", true}},
        {"\xff\xfe\0\0", 4, {"is UTF-32", "`iconv -f UTF-32 -t UTF-8 FILE > NEW`", true}},
        {"\0\0\xfe\xff", 4, {"is UTF-32", "`iconv -f UTF-32 -t UTF-8 FILE > NEW`", true}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (n >= known[i].n && memcmp(head, known[i].bytes, known[i].n) == 0)
            return &known[i].format;
    return NULL;
}

const struct not_text *not_text_find_zip(const char *path)
{
    static const char model[] = "is a model (PyTorch weights), not text or tokens";
    static const struct {
        const char *ending;
        struct not_text format;
    } known[] = {
        {".bin", {model, "", true}},
        {".pt", {model, "", true}},
        {".pth", {model, "", true}},
        {".docx", {"is a Word document", TO_PLAIN, true}},
        {".odt", {"is an OpenDocument text", TO_PLAIN, true}},
        {".epub", {"is an e-book", TO_PLAIN, true}},
        {".xlsx", {"is a table of Excel", "save it as CSV", true}},
        {".ods", {"is an OpenDocument table", "save it as CSV", true}},
        {".pptx", {"is a presentation of PowerPoint", "save it as text", true}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (text_ends_in(path, known[i].ending))
            return &known[i].format;
    return NULL;
}

int not_text_refuse(const struct not_text *f, const char *name, const char *path, bool packed)
{
    char advice[512];
    return err_set(ERR_FORMAT, "%s %s%s%s", name, f->is, *f->advice == '\0' ? "" : ": ",
                   data_advice(advice, sizeof advice, f->advice, path, packed));
}

/* Behind a declaration, a comment or the kind of document, and spaces. */
static const char *skip_prolog(const char *p, const char *end)
{
    for (;;) {
        while (p < end && isspace((unsigned char)*p))
            p++;
        const bool comment = end - p >= 4 && memcmp(p, "<!--", 4) == 0;
        if (!comment && (end - p < 2 || *p != '<' || (p[1] != '?' && p[1] != '!')))
            return p;
        const char *close = comment ? "-->" : ">";
        const char *found = memmem(p, (size_t)(end - p), close, strlen(close));
        if (found == NULL)
            return end;
        p = found + strlen(close);
    }
}

bool not_text_is_svg(const char *head, size_t n)
{
    static const char mark[] = "\xef\xbb\xbf", tag[] = "<svg";
    const char *end = head + n;
    head += n >= 3 && memcmp(head, mark, 3) == 0 ? 3 : 0;
    head = skip_prolog(head, end);
    return end - head > 4 && memcmp(head, tag, 4) == 0 &&
           (isspace((unsigned char)head[4]) || head[4] == '>');
}

int not_text_refuse_svg(const char *name)
{
    return err_set(ERR_FORMAT, "%s is a picture (SVG)", name);
}
