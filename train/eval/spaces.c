#include "train/eval/spaces.h"

#include "model/tokenizer/pretokenize.h"

/* Bytes of the space at the head of n bytes; 0: there is none. */
static size_t space_at_head(const char *text, size_t n)
{
    size_t length = 0;
    if (n > 0 && text[0] >= 0x1c && text[0] <= 0x1f)
        return 1;
    return n > 0 && char_class(text, n, &length) == CHAR_SPACE ? length : 0;
}

size_t space_before(const char *text, size_t n)
{
    enum { LONGEST = 3 }; /* bytes of a space in UTF-8 */
    for (size_t k = 1; k <= LONGEST && k <= n; k++)
        if (space_at_head(text + n - k, k) == k)
            return k;
    return 0;
}

struct span span_strip(struct span s)
{
    for (size_t k; (k = space_at_head(s.text, s.n)) > 0; s.n -= k)
        s.text += k;
    for (size_t k; (k = space_before(s.text, s.n)) > 0;)
        s.n -= k;
    return s;
}

struct span span_last_word(struct span s)
{
    s = span_strip(s);
    size_t first = s.n;
    while (first > 0 && space_before(s.text, first) == 0)
        first--;
    return (struct span){s.text + first, s.n - first};
}

size_t span_pieces(struct span s)
{
    size_t pieces = 1;
    s = span_strip(s);
    for (size_t i = 0; i < s.n; i++)
        pieces += s.text[i] == ' ';
    return pieces;
}
