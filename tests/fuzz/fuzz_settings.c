/*
 * What people write of settings, of any bytes. The first says where: 'l' a line of --jsonl, 'w' a
 * list of words, else a file of settings. What is accepted reads back as itself; what is refused
 * is explained and changes nothing.
 */
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/words.h"
#include "repl/session/json_lines.h"
#include "tests/lib/need.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The settings that may be kept, as they would be typed, a line each. */
static void shown(struct buf *out, const struct settings *s)
{
    const struct setting *row;
    for (int i = 0; (row = settings_table_at(&options_table, i)) != NULL; i++)
        if (!row->call_only && row->type != SETTING_SHORTHAND)
            need(setting_format(row, s, out) == 0 && buf_char(out, '\n') == 0);
}

static void reads_back(struct settings *s)
{
    const struct setting *row;
    for (int i = 0; (row = settings_table_at(&options_table, i)) != NULL; i++) {
        struct buf text = {0}, again = {0};
        if (row->call_only || row->type == SETTING_SHORTHAND)
            continue;
        need(setting_format(row, s, &text) == 0);
        need(settings_table_parse(&options_table, row, s, buf_text(&text)) == 0 &&
             setting_format(row, s, &again) == 0);
        need(strcmp(buf_text(&text), buf_text(&again)) == 0);
        buf_release(&text);
        buf_release(&again);
    }
}

static void pass_over(const char *sentence)
{
    need(*sentence != '\0');
}

/* Whatever a model brings, its settings never exclude each other. */
static void read_stored(const char *text, size_t n)
{
    const struct settings_text model = {
        .label = "m", .text = text, .n = n, .may_set = option_per_line, .left_out = pass_over};
    struct options o;
    need(options_init(&o) == 0);
    options_read_stored(&o, &model);
    need(generate_config_check(&o.settings.generate, &o.settings.sampler) == 0);
    options_release(&o);
}

static void read_file(const char *text, size_t n)
{
    const struct settings_text file = {.label = "f", .text = text, .n = n};
    struct options o;
    struct buf before = {0}, after = {0};
    need(options_init(&o) == 0);
    shown(&before, &o.settings);
    bool good = options_check(&o, ORIGIN_USER_FILE, &file) == 0;
    need((options_read(&o, ORIGIN_USER_FILE, &file) == 0) == good);
    shown(&after, &o.settings);
    if (good)
        reads_back(&o.settings);
    else
        need(strncmp(err_text(), "f line ", 7) == 0 &&
             strcmp(buf_text(&before), buf_text(&after)) == 0);
    buf_release(&before);
    buf_release(&after);
    options_release(&o);
}

static void read_line(const char *line, size_t n)
{
    struct options o;
    struct json_prompt p = {0};
    need(options_init(&o) == 0);
    if (json_line_prompt(&p, line, n, &o, 1, pass_over) == 0) {
        need((p.text != NULL) != (p.ids.n > 0) || (p.text == NULL && p.ids.n == 0));
        reads_back(&p.settings);
    } else {
        need(err_text()[0] != '\0');
    }
    json_prompt_release(&p);
    options_release(&o);
}

static void read_words(const char *text)
{
    struct words w;
    if (words_parse(&w, text) != 0) {
        need(w.n == 0 && err_text()[0] != '\0');
        return;
    }
    size_t bytes = 0;
    for (size_t i = 0; i < w.n; i++) {
        need(w.list[i].n > 0 && w.list[i].bytes[w.list[i].n] == '\0');
        bytes += w.list[i].n;
    }
    need(bytes <= strlen(text));
    words_release(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = mem_alloc(size);
    need(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    err_clear();
    if (data[0] == 'l')
        read_line(text, size - 1);
    else if (data[0] == 'w')
        read_words(text);
    else
        read_file(text, size - 1);
    read_stored(text, size - 1);
    mem_free(text);
    return 0;
}
