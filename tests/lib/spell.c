#include "tests/lib/spell.h"

static uint64_t spelled_number(const char *s)
{
    char *end;
    uint64_t n = strtoull(s, &end, 0);
    if (*end == '^') {
        n = (uint64_t)1 << strtoull(end + 1, &end, 0);
        n += strtoull(end, NULL, 0);
    }
    return n;
}

static void spell_word(struct buf *b, const char *w)
{
    uint64_t n;
    float f;
    if (*w == '\'') {
        assert_ok(buf_str(b, w + 1));
    } else if (*w == '"') {
        n = strlen(w + 1);
        assert_ok(buf_add(b, &n, 8));
        assert_ok(buf_str(b, w + 1));
    } else if (strncmp(w, "f:", 2) == 0) {
        f = strtof(w + 2, NULL);
        assert_ok(buf_add(b, &f, 4));
    } else if (strcmp(w, "align") == 0) {
        while (b->n % 32 != 0)
            assert_ok(buf_char(b, 0));
    } else if (strncmp(w, "0*", 2) == 0) {
        for (n = spelled_number(w + 2); n > 0; n--)
            assert_ok(buf_char(b, 0));
    } else {
        assert_true(w[1] == ':');
        n = spelled_number(w + 2);
        assert_ok(buf_add(b, &n, (size_t)(*w - '0')));
    }
}

void spell(struct buf *b, const char *spelling)
{
    char *copy = strdup(spelling), *save;
    for (char *w = strtok_r(copy, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
        spell_word(b, w);
    free(copy);
}

void spell_file(const char *path, const char *spelling)
{
    struct buf b = {0};
    spell(&b, spelling);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    if (b.n > 0)
        assert_int_equal(fwrite(b.data, 1, b.n, f), b.n);
    fclose(f);
    buf_release(&b);
}
