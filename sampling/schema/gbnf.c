#include "sampling/schema/gbnf.h"

#include <string.h>
#include <utf8proc.h>

int gbnf_add_literal(struct buf *out, const char *text, size_t n)
{
    int rc = buf_char(out, '"');
    for (size_t i = 0; i < n && rc == 0; i++) {
        const char c = text[i];
        if (c == '"' || c == '\\')
            rc = buf_printf(out, "\\%c", c);
        else if (c == '\n' || c == '\r' || c == '\t')
            rc = buf_str(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
        else if ((unsigned char)c < 0x20 || c == 0x7f)
            rc = buf_printf(out, "\\x%02x", (unsigned)c);
        else
            rc = buf_char(out, c);
    }
    return rc != 0 ? rc : buf_char(out, '"');
}

int gbnf_add_times(struct buf *out, size_t least, size_t most)
{
    if (least == 1 && most == 1)
        return 0;
    if (least == 0 && most == 1)
        return buf_char(out, '?');
    if (least <= 1 && most == GBNF_OPEN)
        return buf_char(out, least == 0 ? '*' : '+');
    if (most == GBNF_OPEN)
        return buf_printf(out, "{%zu,}", least);
    return least == most ? buf_printf(out, "{%zu}", least)
                         : buf_printf(out, "{%zu,%zu}", least, most);
}

int gbnf_add_class_character(struct buf *out, uint32_t c)
{
    unsigned char bytes[4];
    if (c < 0x20 || c == 0x7f)
        return buf_printf(out, "\\x%02x", (unsigned)c);
    if (c < 0x80)
        return buf_printf(out, strchr("\\]-[^", (int)c) != NULL ? "\\%c" : "%c", (int)c);
    if (c < 0x10000)
        return buf_printf(out, "\\u%04x", (unsigned)c);
    const utf8proc_ssize_t n = utf8proc_encode_char((utf8proc_int32_t)c, bytes);
    return buf_add(out, bytes, (size_t)n);
}

/* The bytes of a literal or a class at text, with its closing character. */
static size_t quoted_bytes(const char *text, char closing)
{
    size_t n = 1;
    while (text[n] != closing && text[n] != '\0')
        n += text[n] == '\\' && text[n + 1] != '\0' ? 2 : 1;
    return text[n] == closing ? n + 1 : n;
}

size_t gbnf_elements(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    size_t elements = 0;
    while (*text != '\0') {
        size_t n = strspn(text, letters);
        if (n > 0) {
            elements++;
        } else if (*text == '"' || *text == '[') {
            n = quoted_bytes(text, *text == '"' ? '"' : ']');
            elements += *text == '"' ? n - 2 : 1;
        } else {
            n = *text == '{' ? strcspn(text, "}") : 1;
        }
        text += n;
    }
    return elements;
}
