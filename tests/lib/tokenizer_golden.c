#include "tests/lib/tokenizer_golden.h"

#include "model/base/file.h"
#include "model/base/mem.h"
#include "tests/lib/test.h"
#include "weights/hf/vocab.h"

json_t *golden_json(const char *path)
{
    json_error_t error;
    json_t *root = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (root == NULL)
        fail_msg("%s: %s", path, error.text);
    return root;
}

struct tokenizer *golden_tokenizer(const char *merges)
{
    struct buf vocab = {0}, lines = {0};
    struct tokenizer *t = NULL;
    assert_ok(file_read_all(&vocab, GOLDEN "vocab.json", 1 << 20));
    assert_ok(file_read_all(&lines, merges, 1 << 20));
    struct vocab_text text = {
        .vocab = vocab.data, .n_vocab = vocab.n, .merges = lines.data, .n_merges = lines.n};
    assert_ok(vocab_parse(&t, &text, NULL, NULL));
    buf_release(&vocab);
    buf_release(&lines);
    return t;
}

const char *golden_data(const char *what)
{
    const char *data = getenv("DATA");
    if (data != NULL && data[0] != '\0')
        return data;
    print_message("# left out: %s (without DATA)\n", what);
    return NULL;
}
