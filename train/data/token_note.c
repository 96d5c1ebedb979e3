#include "train/data/token_note.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "train/data/source.h"
#include "train/data/tokenizer_hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

/* Its value is the hash, a space and the name. */
static const char attribute[] = "user.prattle.tokenizer";

static int hash_tokenizer(char hash[SHA256_HEX], const struct tokenizer *t)
{
    struct sha256 h;
    int rc = sha256_init(&h);
    if (rc != 0)
        return rc;
    tokenizer_hash(&h, t);
    sha256_end_hex(&h, hash);
    sha256_release(&h);
    return 0;
}

int token_note_make(struct token_note *n, const char *name, const struct tokenizer *t)
{
    *n = (struct token_note){0};
    char *path = realpath(name, NULL); /* NULL: it is no path */
    const char *noted = path == NULL ? name : path;
    int rc = strlen(noted) < sizeof n->name ? hash_tokenizer(n->hash, t) : 0;
    if (rc == 0 && n->hash[0] != '\0')
        snprintf(n->name, sizeof n->name, "%s", noted);
    free(path);
    return rc;
}

void token_note_write(const struct token_note *n, int fd)
{
    char value[sizeof *n + 1];
    if (n->name[0] == '\0')
        return;
    const int bytes = snprintf(value, sizeof value, "%s %s", n->hash, n->name);
    fsetxattr(fd, attribute, value, (size_t)bytes, 0);
}

static void read_file_note(struct token_note *n, const struct data_source *s)
{
    char value[sizeof *n];
    *n = (struct token_note){0};
    char *path = data_source_file(s);
    const ssize_t bytes = path == NULL ? -1 : getxattr(path, attribute, value, sizeof value - 1);
    mem_free(path);
    if (bytes <= SHA256_HEX || value[SHA256_HEX - 1] != ' ' ||
        (size_t)bytes - SHA256_HEX >= sizeof n->name)
        return;
    value[bytes] = '\0';
    memcpy(n->hash, value, SHA256_HEX - 1);
    snprintf(n->name, sizeof n->name, "%s", value + SHA256_HEX);
}

void token_note_read(struct token_note *n, const char *data)
{
    struct data_sources s;
    struct token_note other;
    *n = (struct token_note){0};
    if (data_sources_find(&s, data) != 0) /* opening says why */
        return;
    for (size_t i = 0; i < s.n; i++) {
        read_file_note(i == 0 ? n : &other, &s.list[i]);
        if (i > 0 && strcmp(n->hash, other.hash) != 0)
            *n = (struct token_note){0};
    }
    data_sources_release(&s);
}

int token_note_compare(bool *same, const struct token_note *n, const struct tokenizer *t)
{
    char hash[SHA256_HEX];
    *same = false;
    int rc = t == NULL ? 0 : hash_tokenizer(hash, t);
    *same = rc == 0 && t != NULL && strcmp(hash, n->hash) == 0;
    return rc;
}
