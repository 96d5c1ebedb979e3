/*
 * A long document is given in chunks whose ids, put together, are those of the whole: a chunk ends
 * where GPT-2's pretokenizer begins a word whatever stands before, that is before a space or line
 * break behind a visible character. "one two\n three" may be cut as "one| two|\n three", not
 * as "two\n| three": there the space goes with the line break or with the word, as the text before
 * it says. No cut falls into the last bytes of a window that could begin a separator.
 *
 * The window is the text read so far: before `used` it was given, and a separator is looked for
 * behind it. A separator takes the line breaks beside it with it, those that follow also when they
 * are read later (`after`); a document that has given a chunk (`inside`) ends with one, empty or
 * not.
 */
#include "train/data/text_reader.h"

#include "model/base/err.h"
#include "model/base/file_show.h"
#include "model/base/json.h"
#include "model/base/json_line.h"
#include "model/base/mem.h"
#include "model/base/utf8.h"
#include "train/data/encoding.h"
#include "train/data/json_fields.h"
#include "train/data/not_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

enum { CHUNK_BYTES = 1 << 20 };

void text_reader_init(struct text_reader *r, const struct data_source *list, size_t n,
                      const char *separator)
{
    *r = (struct text_reader){.list = list,
                              .n = n,
                              .separator = separator,
                              .field = TEXT_FIELD,
                              .line_max = TEXT_LINE_MAX,
                              .stream = {.file.fd = -1}};
}

void text_reader_release(struct text_reader *r)
{
    text_stream_close(&r->stream);
    buf_release(&r->window);
    buf_release(&r->raw);
    buf_release(&r->record);
    left_out_release(&r->left_out);
}

uint64_t text_reader_bytes(const struct text_reader *r)
{
    return r->done + r->stream.read;
}

/* At most `want` bytes of the text behind those in the window. */
static int read_text_bytes(struct text_reader *r, size_t want)
{
    size_t got = 0;
    struct buf *to = r->utf16.on ? &r->raw : &r->window;
    if (r->utf16.on)
        to->n = 0;
    int rc = buf_reserve(to, want);
    if (rc == 0)
        rc = text_stream_read(&r->stream, to->data + to->n, want, &got);
    if (rc != 0)
        return rc;
    to->n += got;
    r->ended = got < want;
    return r->utf16.on
               ? utf16_decode(&r->utf16, &r->window, r->stream.name, to->data, got, r->ended)
               : 0;
}

/* The window has the text's first bytes as they are. */
static int begin_utf16(struct text_reader *r)
{
    struct buf raw = r->window;
    r->window = r->raw;
    r->window.n = 0;
    r->raw = raw;
    utf16_begin(&r->utf16, raw.data);
    return utf16_decode(&r->utf16, &r->window, r->stream.name, raw.data + 2, raw.n - 2, r->ended);
}

static int refuse_long_line(const struct text_reader *r)
{
    static const char more[] = "data prepare takes longer ones with record_limit=MB";
    const uint64_t mb = r->line_max / 1000000;
    if (r->splitter == NULL && r->stream.kind == DATA_JSON_LINES)
        return err_set(ERR_RANGE, "%s line %" PRIu64 " has more than %" PRIu64 " MB; %s",
                       r->stream.name, r->line + 1, mb, more);
    return err_set(ERR_RANGE, "%s has a %s of more than %" PRIu64 " MB behind byte %" PRIu64 "; %s",
                   r->stream.name, r->splitter == NULL ? "word" : "record", mb, r->before + r->used,
                   more);
}

/* More of the text behind the window's unread bytes, as much as there are of them. */
static int fill_window(struct text_reader *r)
{
    size_t unread = r->window.n - r->used;
    if (unread > r->line_max)
        return refuse_long_line(r);
    if (r->used > 0)
        memmove(r->window.data, r->window.data + r->used, unread);
    r->window.n = unread;
    r->before += r->used;
    r->checked -= r->checked < r->used ? r->checked : r->used;
    r->used = 0;
    const size_t left = r->line_max + 1 - unread, want = unread < left ? unread : left;
    return read_text_bytes(r, want < CHUNK_BYTES ? CHUNK_BYTES : want);
}

/* The byte `checked` of the window begins no character. */
static int refuse_encoding(const struct text_reader *r)
{
    const struct data_source *s = &r->list[r->at];
    return encoding_refuse(r->stream.name,
                           &(struct encoding_fault){.at = r->window.data + r->checked,
                                                    .n = r->window.n - r->checked,
                                                    .before = r->before + r->checked,
                                                    .after_utf8 = r->beyond_ascii,
                                                    .path = s->packed ? r->stream.name : s->path,
                                                    .packed = s->packed});
}

/* Whether what the window has is UTF-8. The end of a text may be cut. */
static int check_utf8(struct text_reader *r)
{
    if (r->utf16.on)
        return 0;
    if (!r->beyond_ascii)
        r->checked += utf8_ascii(r->window.data + r->checked, r->window.n - r->checked);
    const size_t valid = utf8_valid(r->window.data + r->checked, r->window.n - r->checked);
    r->checked += valid;
    r->beyond_ascii |= valid > 0;
    const size_t left = r->window.n - r->checked;
    const bool cut = utf8_is_cut(r->window.data + r->checked, left);
    return left == 0 || (cut && (r->beyond_ascii || !r->ended)) ? 0 : refuse_encoding(r);
}

int text_reader_refill(struct text_reader *r)
{
    int rc = fill_window(r);
    return rc == 0 ? check_utf8(r) : rc;
}

/* What is packed may have tokens, which are not read together with texts. */
static int check_packed(const struct text_reader *r, bool *tokens)
{
    const enum data_kind kind = r->stream.kind;
    const bool own = kind == DATA_TFRECORD || kind == DATA_PICKLE,
               binary = data_is_binary(buf_text(&r->window), r->window.n);
    int rc =
        data_check_text(r->stream.name, r->stream.name, true, buf_text(&r->window), r->window.n);
    *tokens = own && (rc == 0 || binary);
    if (*tokens)
        return err_set(ERR_FORMAT,
                       "%s has tokens, and only an archive that begins with tokens is read for "
                       "them: unpack it first",
                       r->stream.name);
    if (rc != 0 && binary && (kind == DATA_MEGATRON || kind == DATA_NPY))
        return err_set(ERR_FORMAT,
                       "%s is not text; of token files only .pkl and .tfrecord are read packed: "
                       "unpack it first",
                       r->stream.name);
    return rc;
}

/* Whether the window begins a text; *skip: it begins something else, to be left out. */
static int check_text(struct text_reader *r, bool *skip)
{
    const struct data_source *s = &r->list[r->at];
    const char *head = buf_text(&r->window);
    bool tokens = false;
    int rc = s->packed ? check_packed(r, &tokens) : 0;
    const bool beside = s->inside || text_stream_in_archive(&r->stream),
               svg = rc == 0 && beside && r->stream.kind == DATA_TEXT &&
                     not_text_is_svg(head, r->window.n);
    if (svg)
        rc = not_text_refuse_svg(r->stream.name);
    *skip = rc != 0 && beside && (tokens || svg || data_is_binary(head, r->window.n));
    return *skip ? left_out_add(&r->left_out, r->stream.name) : rc;
}

void text_reader_note(const struct text_reader *r, const struct progress *p)
{
    left_out_note(&r->left_out, p);
    if (r->n_replaced == 1)
        progress_note(p, "%s has half a surrogate pair, replaced by U+FFFD", r->replaced);
    else if (r->n_replaced > 1)
        progress_note(p,
                      "%" PRIu64
                      " JSON lines have half a surrogate pair, replaced by U+FFFD; the first is %s",
                      r->n_replaced, r->replaced);
}

/* Begin the next text of the file, or what is none; r->open says whether there is one. */
static int begin_text(struct text_reader *r, bool *skip)
{
    int rc = r->stream.file.path == NULL
                 ? text_stream_open(&r->stream, &r->list[r->at], r->field, r->pairs)
                 : 0;
    *skip = false;
    r->window.n = r->used = r->line = 0;
    r->inside = r->after = r->ended = false;
    r->utf16.on = r->beyond_ascii = false;
    r->splitter = NULL;
    r->checked = r->before = 0;
    if (rc == 0)
        rc = text_stream_next(&r->stream, &r->open);
    if (rc != 0 || !r->open)
        return rc;
    rc = fill_window(r);
    if (rc == 0 && utf16_has_mark(r->window.data, r->window.n))
        rc = begin_utf16(r);
    if (rc == 0)
        rc = check_text(r, skip);
    if (rc != 0 || *skip)
        return rc;
    rc = check_utf8(r);
    if (rc == 0 && r->window.n >= 3 && memcmp(r->window.data, "\xef\xbb\xbf", 3) == 0)
        r->used = 3; /* a byte order mark is no text */
    if (rc == 0 && r->choose != NULL)
        r->splitter = r->choose(r, r->user);
    if (rc == 0 && r->splitter != NULL)
        r->splitter->begin(r, r->splitter->state);
    return rc;
}

static void end_file(struct text_reader *r)
{
    r->done += r->stream.file.bytes;
    text_stream_close(&r->stream);
    r->at++;
}

static bool is_line_break(char c)
{
    return c == '\n' || c == '\r';
}

/* Whether the character before text[k] is a visible one. */
static bool is_behind_visible(const char *text, size_t k)
{
    size_t at = k - 1;
    utf8proc_int32_t c;
    if ((unsigned char)text[at] < 0x80)
        return text[at] > ' ' && text[at] < 0x7f;
    while (at > 0 && k - at < 4 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    const utf8proc_ssize_t n = (utf8proc_ssize_t)(k - at);
    if (utf8proc_iterate((const utf8proc_uint8_t *)text + at, n, &c) != n)
        return false;
    const utf8proc_category_t is = utf8proc_category(c);
    return is >= UTF8PROC_CATEGORY_LU && is <= UTF8PROC_CATEGORY_SO;
}

/* The greatest k in 1..n before which a text, of which `all` bytes are there, may be cut; 0 for
 * none. */
static size_t find_cut(const struct text_reader *r, const char *text, size_t n, size_t all)
{
    for (size_t k = n; k > 0; k--)
        if ((is_line_break(text[k]) || text[k] == ' ') && is_behind_visible(text, k) &&
            (r->special == NULL || !tokenizer_special_reaches(r->special, text, all, k)))
            return k;
    return 0;
}

/* What the window's beginning is: `chunk` bytes to give, `all` bytes to pass over; *ends
 * its document. false: more of the file is needed to say. */
static bool find_chunk(const struct text_reader *r, size_t *chunk, size_t *all, bool *ends)
{
    const char *text = r->window.data + r->used;
    size_t n = r->window.n - r->used, k = strlen(r->separator);
    const char *found = k == 0 || n == 0 ? NULL : memmem(text, n, r->separator, k);
    *ends = true;
    if (found != NULL) {
        *chunk = (size_t)(found - text);
        *all = *chunk + k;
        while (*chunk > 0 && is_line_break(text[*chunk - 1]))
            --*chunk;
        return true;
    }
    *chunk = *all = n;
    if (r->ended)
        return true;
    *ends = false;
    /* The window may end in the middle of a separator, or of a special token. */
    const size_t token = r->special == NULL ? 0 : tokenizer_special_bytes(r->special);
    k = token > k ? token : k;
    *chunk = *all = n >= CHUNK_BYTES && n > k ? find_cut(r, text, n - k - 1, n) : 0;
    return *chunk > 0;
}

/* The next chunk of a text; *got false at the file's end. */
static int next_text(struct text_reader *r, struct buf *out, bool *ends, bool *got)
{
    for (;;) {
        while (r->after && r->used < r->window.n && is_line_break(r->window.data[r->used]))
            r->used++;
        if (r->used == r->window.n && r->ended && !r->inside) {
            *got = false;
            return 0;
        }
        if (r->used < r->window.n)
            r->after = false;
        size_t chunk, all;
        if (!find_chunk(r, &chunk, &all, ends)) {
            int rc = text_reader_refill(r);
            if (rc != 0)
                return rc;
            continue;
        }
        bool something = chunk > 0 || r->inside;
        int rc = buf_add(out, r->window.data + r->used, chunk);
        r->used += all;
        r->after = all > chunk;
        r->inside = !*ends;
        if (rc != 0 || something) {
            *got = true;
            return rc;
        }
    }
}

/* Beside a line that is none, a list of all objects, or an object over several lines. */
static int refuse_json(const struct text_reader *r, const json_t *value, const char *line, size_t n)
{
    while (n > 0 && strchr(" \t\r", line[n - 1]) != NULL)
        n--;
    const bool list = json_is_array(value) || (value == NULL && n > 0 && *line == '[');
    if (r->line == 1 && (list || (value == NULL && n == 1 && *line == '{')))
        return err_set(ERR_FORMAT, "expected a whole object; jq -c %s FILE > NEW.jsonl makes lines",
                       list ? "'.[]'" : ".");
    if (value == NULL)
        return err_last();
    return r->pairs != NULL && r->pairs->given && json_is_object(value)
               ? pairs_refuse(r->pairs, value)
               : json_fields_refuse(value, r->field, r->pairs != NULL);
}

/* The prompt goes to out, the completion is kept; without a prompt it goes there itself. */
static int add_pair(struct text_reader *r, struct buf *out, const json_t *value)
{
    r->record.n = r->given = 0;
    int rc = pairs_fill(r->pairs, out, &r->record, value);
    r->prompt = rc == 0 && out->n > 0;
    if (r->prompt)
        return 0;
    if (rc == 0)
        rc = buf_add(out, buf_text(&r->record), r->record.n);
    r->record.n = 0;
    return rc;
}

/* ERR_FORMAT, without a sentence: the object has neither a text nor a pair. */
static int add_object(struct text_reader *r, struct buf *out, const json_t *value)
{
    const struct pairs *p = r->pairs;
    const json_t *text = json_object_get(value, r->field);
    const bool pair = p != NULL && (p->given ? pairs_has_any(p, value) : !json_is_string(text));
    if (pair)
        return pairs_has_all(p, value) ? add_pair(r, out, value) : ERR_FORMAT;
    return json_is_string(text) ? buf_add(out, json_string_value(text), json_string_length(text))
                                : ERR_FORMAT;
}

static int add_json_text(struct text_reader *r, struct buf *out, const char *line, size_t n)
{
    json_t *value = NULL;
    bool got = false, replaced;
    int rc = 0;
    if (r->pairs == NULL || !r->pairs->given)
        rc = json_line_text(out, &got, line, n, r->field);
    if (rc != 0 || got)
        return rc;
    rc = json_read_any_line(&value, line, n, &replaced);
    if (rc == 0)
        rc = add_object(r, out, value);
    if (rc == ERR_FORMAT)
        rc = refuse_json(r, value, line, n);
    if (rc == 0 && replaced && r->n_replaced++ == 0)
        snprintf(r->replaced, sizeof r->replaced, "%s line %" PRIu64, r->stream.name, r->line);
    if (rc != 0)
        rc = err_wrap("%s line %" PRIu64, r->stream.name, r->line);
    json_decref(value);
    return rc;
}

/* The text of the next line that has more than spaces; *got false at the file's end. */
static int next_json(struct text_reader *r, struct buf *out, bool *ends, bool *got)
{
    *ends = true;
    for (;;) {
        size_t n = r->window.n - r->used;
        const char *line = r->window.data + r->used;
        const char *end = n == 0 ? NULL : memchr(line, '\n', n);
        if (end == NULL && !r->ended) {
            int rc = text_reader_refill(r);
            if (rc != 0)
                return rc;
            continue;
        }
        if (n == 0) {
            *got = false;
            return 0;
        }
        size_t length = end == NULL ? n : (size_t)(end - line);
        int rc = 0;
        r->line++;
        if (strspn(line, " \t\r") < length)
            rc = add_json_text(r, out, line, length);
        r->used += length + (end != NULL);
        if (rc != 0 || out->n > 0) {
            *got = true;
            return rc;
        }
    }
}

/* The document of a line or record is long: keep it, to give it in chunks. */
static void keep_record(struct text_reader *r, struct buf *out)
{
    struct buf spare = r->record;
    r->record = *out;
    r->given = 0;
    *out = spare;
    out->n = 0;
}

/* A part of it; the last one has what is left where that cannot be cut. */
static int give_record(struct text_reader *r, struct buf *out, bool *ends)
{
    const char *text = buf_text(&r->record) + r->given;
    const size_t left = r->record.n - r->given;
    size_t part = left > 2 * (size_t)CHUNK_BYTES ? find_cut(r, text, CHUNK_BYTES, left) : left;
    part = part == 0 ? left : part;
    int rc = buf_add(out, text, part);
    *ends = part == left;
    r->given += part;
    if (*ends) {
        buf_release(&r->record);
        r->given = 0;
    }
    return rc;
}

int text_reader_next(struct text_reader *r, struct buf *out, bool *ends, size_t *source)
{
    for (;;) {
        *source = r->at;
        if (r->at == r->n)
            return 0;
        if (r->prompt || r->record.n > r->given) {
            out->n = 0;
            r->prompt = false;
            return give_record(r, out, ends);
        }
        bool got = false, skip = false;
        int rc = r->open ? 0 : begin_text(r, &skip);
        out->n = 0;
        if (rc == 0 && skip) {
            r->open = false;
            continue;
        }
        if (rc == 0 && r->open)
            rc = r->splitter != NULL ? r->splitter->next(r, r->splitter->state, out, ends, &got)
                 : r->stream.kind == DATA_JSON_LINES ? next_json(r, out, ends, &got)
                                                     : next_text(r, out, ends, &got);
        const bool line =
            r->splitter != NULL ? !r->splitter->whole : r->stream.kind == DATA_JSON_LINES;
        if (r->prompt)
            *ends = false;
        else if (rc == 0 && got && line && out->n > 2 * (size_t)CHUNK_BYTES) {
            keep_record(r, out);
            continue;
        }
        if (rc != 0 || got)
            return rc;
        if (r->open)
            r->open = false;
        else
            end_file(r);
    }
}
