#include "repl/session/turn.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/yaml_pairs.h"
#include "repl/session/json_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void drop_answers(struct turn *t)
{
    for (int i = 0; i < t->n_answers; i++)
        ids_release(&t->answers[i]);
    mem_free(t->answers);
    t->answers = NULL;
    t->n_answers = 0;
}

void turn_release(struct turn *t)
{
    ids_release(&t->replaced);
    ids_release(&t->prompt);
    drop_answers(t);
    settings_release(&t->settings);
    *t = (struct turn){0};
}

int turn_begin(struct turn *t, const struct ids *text, bool held_space, bool more)
{
    t->before_held = held_space;
    t->n_before = more ? text->n : 0;
    return more ? 0 : ids_add(&t->replaced, text->data, text->n);
}

void turn_take_prompt(struct turn *t, struct prompt *p, const struct ids *text,
                      const struct answer *a)
{
    ids_release(&t->prompt);
    t->held_space = p->held_space;
    t->begun = p->begun;
    t->slid = a->slid;
    t->n_prompt = text->n - a->ids.n;
    if (a->slid || a->unread) {
        t->prompt = p->ids;
        t->n_prompt = p->ids.n;
        p->ids = (struct ids){0};
    }
}

int turn_take_answers(struct turn *t, const struct answer *answers, int n)
{
    drop_answers(t);
    t->answers = mem_array((size_t)n, sizeof *t->answers);
    if (t->answers == NULL)
        return ERR_NOMEM;
    t->ended = answers[0].finish == FINISH_STOP_TOKEN;
    t->ended_by_grammar = answers[0].finish == FINISH_GRAMMAR;
    t->n_answers = n;
    int rc = 0;
    for (int i = 0; i < n && rc == 0; i++)
        rc = ids_add(&t->answers[i], answers[i].ids.data, answers[i].ids.n);
    return rc;
}

/* More is of no session: numbers are counted on from there. */
static const long long MOST_DRAWN = 1LL << 52;

/* A comment to whoever reads the settings. */
#define ANSWER_LINE                                                                                \
    "# answer: text %zu prompt %zu of %zu seed %llu draw %lld position %lld drawn %lld "           \
    "held %d begun %d ended %d\n"

/* Ids that are not in the text, "# prompt: 5 17", as many as a session's settings have room for. */
#define PROMPT_LINE "# prompt:"
#define DRAWN_LINE "# drawn:"
/* What of the prompt its grammar had read, if anything. */
#define GRAMMAR_LINE "# grammar read: %d space %d\n"
enum { MOST_IDS = 60000 };

static int format_ids(struct buf *out, const char *name, const struct ids *list)
{
    int rc = buf_str(out, name);
    for (size_t i = 0; i < list->n && rc == 0; i++)
        rc = buf_printf(out, " %d", (int)list->data[i]);
    return rc == 0 ? buf_char(out, '\n') : rc;
}

/* Such a line at *at, which is then behind it; none: false. */
static bool parse_ids(const char **at, const char *name, struct ids *list, int n_vocab)
{
    const char *p = *at;
    char *end;
    if (strncmp(p, name, strlen(name)) != 0)
        return false;
    for (p += strlen(name); *p == ' '; p = end) {
        const long id = strtol(p + 1, &end, 10);
        if (end == p + 1 || id < 0 || id >= n_vocab || list->n == MOST_IDS ||
            ids_add(list, &(token_id){(token_id)id}, 1) != 0)
            return false;
    }
    *at = p + 1;
    return *p == '\n' && list->n > 0;
}

int turn_format_setting(const struct setting *o, const struct settings *s, struct buf *out)
{
    struct buf value = {0};
    int rc = setting_format(o, s, &value);
    if (rc == 0)
        rc = buf_printf(out, "%s: ", o->name);
    if (rc == 0)
        rc = json_string_text(out, buf_text(&value));
    buf_release(&value);
    return rc == 0 ? buf_char(out, '\n') : rc;
}

/* A setting of the answer that is another one in the session, "# answer's top_k: \"7\"". */
#define SETTING_MARK "# answer's "

static int format_settings(const struct settings *were, const struct settings *now, struct buf *out)
{
    const struct setting *o;
    int rc = 0;
    for (int i = 0; rc == 0 && (o = settings_table_at(&options_table, i)) != NULL; i++) {
        struct buf was = {0}, is = {0};
        if (!option_in_session(o) || o->draws) /* the answer's line has its draw */
            continue;
        rc = turn_format_setting(o, were, &was);
        if (rc == 0)
            rc = turn_format_setting(o, now, &is);
        if (rc == 0 && strcmp(buf_text(&was), buf_text(&is)) != 0)
            rc = buf_printf(out, SETTING_MARK "%s", buf_text(&was));
        buf_release(&was);
        buf_release(&is);
    }
    return rc;
}

static int take_setting(void *user, const struct yaml_pair *p)
{
    const struct setting *o = settings_table_find(&options_table, p->name);
    return o == NULL || !option_in_session(o) || p->text == NULL
               ? err_set(ERR_FORMAT, "no answer has a setting %s", p->name)
               : settings_table_parse(&options_table, o, user, p->text);
}

static bool parse_settings(struct settings *s, const char *lines)
{
    struct buf yaml = {0};
    int rc = 0;
    for (const char *at = lines; rc == 0 && (at = strstr(at, "\n" SETTING_MARK)) != NULL;) {
        at += 1 + strlen(SETTING_MARK);
        rc = buf_printf(&yaml, "%.*s\n", (int)strcspn(at, "\n"), at);
    }
    if (rc == 0)
        rc = yaml_read_pairs("the answer's settings", buf_text(&yaml), yaml.n,
                             (struct yaml_shape){0}, take_setting, s);
    buf_release(&yaml);
    err_clear();
    return rc == 0;
}

int turn_format(const struct turn *t, const struct ids *text, const struct settings *now,
                struct buf *out)
{
    const struct sampler_config *c = &t->settings.sampler;
    const bool own = t->prompt.n > 0;
    if (own ? t->n_answers == 0 || t->answers[0].n == 0 || t->prompt.n > MOST_IDS ||
                  t->answers[0].n > MOST_IDS
            : t->n_prompt >= text->n)
        return 0;
    int rc = buf_printf(out, ANSWER_LINE, t->replaced.n > 0 ? (size_t)0 : t->n_before,
                        own ? (size_t)0 : t->n_prompt, text->n, (unsigned long long)c->seed,
                        (long long)c->draw, (long long)c->position, (long long)t->n_drawn,
                        t->held_space, t->begun, t->ended_by_grammar ? 2 : t->ended);
    if (rc == 0 && own)
        rc = format_ids(out, PROMPT_LINE, &t->prompt);
    if (rc == 0 && own)
        rc = format_ids(out, DRAWN_LINE, &t->answers[0]);
    if (rc == 0 && c->grammar_read.n > 0)
        rc = buf_printf(out, GRAMMAR_LINE, c->grammar_read.n, c->grammar_read.skip_space);
    return rc == 0 ? format_settings(&t->settings, now, out) : rc;
}

static void parse_grammar(struct sampler_config *c, const char *lines, size_t n_prompt)
{
    int n, space;
    const char *at = strstr(lines, "\n# grammar read:");
    if (at != NULL && sscanf(at + 1, GRAMMAR_LINE, &n, &space) == 2 && n > 0 &&
        (size_t)n <= n_prompt) {
        c->grammar_read.n = n;
        c->grammar_read.skip_space = space != 0;
    }
}

/* The prompt, and the answer in *answer: behind `prompt` ids of the text, or by lines of their own,
 * prompt being 0. */
static bool parse_parts(struct turn *t, struct ids *answer, const char *lines,
                        const struct ids *text, size_t prompt, int n_vocab)
{
    const char *at = lines + strcspn(lines, "\n");
    if (prompt > 0)
        return ids_add(answer, text->data + prompt, text->n - prompt) == 0;
    at += *at == '\n';
    return parse_ids(&at, PROMPT_LINE, &t->prompt, n_vocab) &&
           parse_ids(&at, DRAWN_LINE, answer, n_vocab);
}

bool turn_parse(struct turn *t, const char *settings, const struct ids *text, int n_vocab)
{
    struct sampler_config *c = &t->settings.sampler;
    size_t before, prompt, n;
    unsigned long long seed;
    long long draw, position, drawn;
    int held, begun, ended;
    if (sscanf(settings, ANSWER_LINE, &before, &prompt, &n, &seed, &draw, &position, &drawn, &held,
               &begun, &ended) != 10 ||
        n != text->n || prompt >= n || draw < 0 || draw > MOST_DRAWN || position < 0 ||
        position > MOST_DRAWN || drawn < 0 || drawn > MOST_DRAWN)
        return false;
    struct answer answer = {.finish = ended == 0   ? FINISH_LENGTH
                                      : ended == 2 ? FINISH_GRAMMAR
                                                   : FINISH_STOP_TOKEN};
    bool is = parse_parts(t, &answer.ids, settings, text, prompt, n_vocab);
    t->n_before = before;
    t->n_prompt = prompt > 0 ? prompt : t->prompt.n;
    is = is && before <= t->n_prompt && turn_take_answers(t, &answer, 1) == 0;
    ids_release(&answer.ids);
    if (!is || !parse_settings(&t->settings, settings))
        return false;
    t->slid = prompt == 0;
    t->held_space = held != 0;
    t->begun = begun != 0;
    t->n_drawn = drawn;
    c->seed = seed;
    c->draw = draw;
    c->position = position;
    parse_grammar(c, settings, t->n_prompt);
    return true;
}

bool turn_same_grammar(const struct sampler_config *a, const struct sampler_config *b)
{
    return a->grammar != NULL && b->grammar != NULL && strcmp(a->grammar, b->grammar) == 0;
}

void turn_continue_grammar(struct sampler_config *c, const struct turn *last,
                           const struct ids *text)
{
    const struct sampler_config *was = &last->settings.sampler;
    if (!turn_same_grammar(c, was) || last->prompt.n > 0 || last->n_prompt > text->n)
        return;
    c->grammar_read.n = was->grammar_read.n + (int)(text->n - last->n_prompt);
    c->grammar_read.skip_space =
        was->grammar_read.n > 0 ? was->grammar_read.skip_space : last->held_space;
}

const token_id *turn_prompt(const struct turn *t, const struct ids *text, size_t *n)
{
    *n = t->n_prompt;
    return t->prompt.n > 0 ? t->prompt.data : text->data;
}

int turn_copy_prompt(const struct turn *t, const struct ids *text, struct prompt *p)
{
    size_t n;
    const token_id *ids = turn_prompt(t, text, &n);
    p->held_space = t->held_space;
    p->begun = t->begun;
    return ids_add(&p->ids, ids, n);
}

const token_id *turn_before(const struct turn *t, const token_id *prompt, size_t *n)
{
    *n = t->replaced.n > 0 ? t->replaced.n : t->n_before;
    return t->replaced.n > 0 ? t->replaced.data : prompt;
}
