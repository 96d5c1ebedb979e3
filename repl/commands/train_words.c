#include "repl/commands/train_words.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/settings_words.h"
#include "model/base/words.h"
#include "repl/commands/typed_name.h"
#include "repl/session/processes.h"
#include "repl/settings/options_table.h"
#include "repl/terminal/wrap.h"
#include "train/config/table.h"
#include "train/data/characters.h"
#include "train/data/source.h"
#include "train/prepare/prepare_config.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 256 };

/* A preset's name goes before that of a file. */
static void note_presets(char *const *words, int n)
{
    for (int i = 0; i < n; i++) {
        char shown[SHOWN];
        if (!run_config_is_preset(words[i]) || !file_exists(words[i]) || file_is_folder(words[i]))
            continue;
        file_show(shown, sizeof shown, words[i]);
        wrap_say(stderr, "", "prattle: %s is the preset; `./%s` is the file of that name here",
                 shown, shown);
    }
}

/* The setting of a word KEY=VALUE; NULL: there is none. */
static const struct setting *find_pair(const char *word)
{
    char key[64];
    const size_t n = settings_pair_key(word);
    if (n == 0 || n >= sizeof key)
        return NULL;
    snprintf(key, sizeof key, "%.*s", (int)n, word);
    return settings_table_find(&run_table, key);
}

/* The number of the word, past the i-th, that sets the same row last; 0: none. */
static int find_again(const struct setting *row, char *const *words, int n, int i)
{
    int last = 0;
    for (int k = i + 1; k < n; k++) {
        const struct setting *other = find_pair(words[k]);
        if (other == row)
            last = k;
    }
    return last;
}

static bool takes_list(const struct setting *row)
{
    return row != NULL && row->argument != NULL && text_ends_in(row->argument, ",...");
}

/* A list that is given in parts would lose all but its last. Of other settings the last is meant:
 * that is how one of a script's is changed. */
void train_note_repeated(char *const *words, int n)
{
    for (int i = 0; i < n && !processes_launched(); i++) {
        const struct setting *row = find_pair(words[i]);
        const int last = takes_list(row) ? find_again(row, words, n, i) : 0;
        char lost[SHOWN], counts[SHOWN];
        if (last == 0 || strcmp(strchr(words[i], '=') + 1, strchr(words[last], '=') + 1) == 0)
            continue;
        file_show(lost, sizeof lost, strchr(words[i], '=') + 1);
        file_show(counts, sizeof counts, strchr(words[last], '=') + 1);
        wrap_say(stderr, "",
                 "prattle: %s is given more than once, and the last counts: %s=%s,%s reads both",
                 row->name, row->name, lost, counts);
    }
}

static bool is_settings_name(const char *path)
{
    return text_ends_in(path, ".yaml") || text_ends_in(path, ".yml") || text_ends_in(path, ".json");
}

static bool is_text_name(const char *path)
{
    return text_ends_in(path, ".txt") || text_ends_in(path, ".md");
}

/* The file of which the sentence is, by its name alone no file of settings. */
static const char *find_text(char *const *words, int n, const char *why)
{
    for (int i = 0; i < n; i++) {
        if (settings_pair_key(words[i]) > 0 || run_config_is_preset(words[i]) ||
            is_settings_name(words[i]))
            continue;
        char *path = file_expand(words[i]), *shown = path == NULL ? NULL : file_visible(path);
        const bool is =
            shown != NULL && file_exists(path) && strncmp(why, shown, strlen(shown)) == 0;
        mem_free(path);
        mem_free(shown);
        if (is)
            return words[i];
    }
    return NULL;
}

/* "data = my.txt", "data =my.txt": the number of the word with the "=" that stands apart. */
static int find_apart(char *const *words, int n)
{
    int i = 1;
    while (i < n && (*words[i] != '=' || settings_pair_key(words[i - 1]) > 0))
        i++;
    return i < n ? i : 0;
}

/* "LR=1", "Steps=5": a key is written small. NULL: the word is no such pair of a setting. */
static const struct setting *find_in_capitals(const char *word)
{
    char key[SHOWN];
    size_t n = 0;
    for (; isalnum((unsigned char)word[n]) || (word[n] != '\0' && strchr("_-.", word[n])); n++)
        if (n + 1 < sizeof key)
            key[n] = (char)tolower((unsigned char)word[n]);
    if (word[n] != '=' || n >= sizeof key || settings_pair_key(word) > 0)
        return NULL;
    key[n] = '\0';
    return settings_table_find(&run_table, key);
}

/* What the command does besides training that the first word, no file or preset, is near to. */
static const char *near_action(const char *word, const char *why)
{
    static const char *const actions[] = {"show", "status", "resume"};
    return strncmp(why, "there is no file or preset", 26) == 0 && strstr(why, "mean") == NULL
               ? words_nearest(word, actions, sizeof actions / sizeof *actions)
               : NULL;
}

static int explain_words(int rc, char *const *words, int n)
{
    char shown[SHOWN], key[SHOWN], value[SHOWN];
    rc = typed_name_of_system(rc);
    char *why = mem_strdup(err_text());
    if (why == NULL)
        return ERR_NOMEM;
    const char *text = find_text(words, n, why);
    const char *action = n > 0 ? near_action(words[0], why) : NULL;
    const int at = find_apart(words, n);
    const struct setting *row = NULL;
    for (int i = 0; i < n && row == NULL; i++)
        if ((row = find_in_capitals(words[i])) != NULL)
            file_show(shown, sizeof shown, words[i]);
    if (row != NULL) {
        err_set(rc, "there is no file or preset %s; did you mean %s=%s?", shown, row->name,
                strchr(shown, '=') + 1);
    } else if (action != NULL) {
        err_set(rc, "there is no file or preset %s; did you mean `:train %s`?",
                file_show(shown, sizeof shown, words[0]), action);
    } else if (text != NULL && is_text_name(text)) {
        err_set(rc, "%s is a text, not settings: `:train finetune data=%s` trains on it",
                file_show(shown, sizeof shown, text), file_word(key, sizeof key, text));
    } else if (text != NULL) {
        err_set(rc, "%s; to train on a text: `:train finetune data=%s`", why,
                file_word(shown, sizeof shown, text));
    } else if (at > 0) {
        const char *behind = words[at][1] != '\0' ? words[at] + 1 : at + 1 < n ? words[at + 1] : "";
        err_set(rc, "a setting has no spaces around its =: %s=%s",
                file_show(key, sizeof key, words[at - 1]),
                *behind != '\0' ? file_show(value, sizeof value, behind) : "VALUE");
    } else {
        typed_name_explain(err_set(rc, "%s", why), "training");
    }
    mem_free(why);
    return rc;
}

/* A new model on nanoGPT's files of characters has these as its tokens, unless others are named. */
static int take_characters(struct run_config *c)
{
    char *meta, shown[SHOWN];
    if (!run_init_is_random(&c->model) || strstr(c->model.init, "tokenizer=") != NULL ||
        *c->model.tokenizer != '\0')
        return 0;
    int rc = characters_find(&meta, c->data.data);
    if (rc == 0 && meta != NULL &&
        (rc = run_config_set(c, ORIGIN_COMMAND_LINE, "model.tokenizer", meta)) == 0)
        wrap_say(stderr, "", "prattle: the tokenizer is that of the data: the characters in %s",
                 file_show(shown, sizeof shown, meta));
    mem_free(meta);
    return rc;
}

static bool has_texts(const char *data)
{
    struct data_sources s = {0};
    bool any = false;
    if (data_sources_find(&s, data) != 0) /* opening says why */
        err_clear();
    for (size_t i = 0; i < s.n && !any; i++)
        any = data_kind_is_text(s.list[i].kind);
    data_sources_release(&s);
    return any;
}

void train_note_bytes(const struct run_config *c, int n_vocab)
{
    enum { BYTES = 257 };
    if (!run_init_is_random(&c->model) || strstr(c->model.init, "tokenizer=") != NULL ||
        *c->model.tokenizer != '\0' || n_vocab < 2 * BYTES || !has_texts(c->data.data))
        return;
    wrap_say(stderr, "",
             "prattle: a new model without a tokenizer has a token a byte, so %d of its %d are of "
             "no use: tokenizer=PATH gives it a vocabulary, vocab_size=%d just the bytes",
             n_vocab - BYTES, n_vocab, BYTES);
}

int train_change_words(struct run_config *c, char *const *words, int n)
{
    int rc = run_config_words(c, words, n);
    return rc == 0 || rc == ERR_NOMEM ? rc : explain_words(rc, words, n);
}

int train_words(struct run_config *c, char *const *words, int n)
{
    int rc = train_change_words(c, words, n);
    if (rc != 0)
        return rc;
    if ((rc = run_config_check_preset_files(c)) == 0)
        note_presets(words, n);
    train_note_repeated(words, n);
    return rc == 0 ? take_characters(c) : rc;
}

/* Of which settings a command's are, that stand without --. */
static bool find_own_row(const struct setting **row, bool data, const char *key)
{
    return settings_table_find(&options_table, key) == NULL &&
           settings_table_lookup(data ? &prepare_settings : &run_table, row, key, false) == 0;
}

/* What does for a command without training what a run's setting does; NULL: nothing. */
static const char *other_option(const char *options, const char *name)
{
    static const char *const others[][2] = {
        {"steps", "limit"},
        {"sequence_length", "seq_length"},
        {"stride", "overlap"},
        {"micro_batch_size", "batch_size"},
        {"global_batch_size", "batch_size"},
        {"precision", "dtype"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct setting *row = settings_table_find(&options_table, others[i][1]);
        if (strcmp(others[i][0], name) == 0 &&
            (!row->call_only || (options != NULL && strstr(options, row->name) != NULL)))
            return row->name;
    }
    return NULL;
}

static int refuse_option(int rc, const char *command, const char *options,
                         const struct setting *row)
{
    const char *other = other_option(options, row->name);
    if (other != NULL)
        return err_set(rc, "%s has no option --%s; did you mean `--%s`?", command, row->name,
                       other);
    return err_set(rc, "%s has no option --%s, which is a setting of train", command, row->name);
}

static bool takes_run_settings(const char *command)
{
    return command == NULL || strcmp(command, "train") == 0 || strcmp(command, "data") == 0 ||
           strcmp(command, "profile") == 0;
}

int train_explain_options(int rc, const char *command, const char *options, char *const *words,
                          int n)
{
    const struct setting *row;
    const bool data = command != NULL && strcmp(command, "data") == 0;
    char *why = rc == ERR_MISSING ? mem_strdup(err_text()) : NULL;
    bool found = false;
    for (int i = 0; i < n && why != NULL && !found; i++) {
        if (strncmp(words[i], "--", 2) != 0)
            continue;
        char *key = mem_sprintf("%.*s", (int)strcspn(words[i] + 2, "="), words[i] + 2);
        found = key != NULL && find_own_row(&row, data, key);
        mem_free(key);
    }
    if (found && !takes_run_settings(command))
        refuse_option(rc, command, options, row);
    else if (found)
        err_set(rc, "%s is a %s setting, written without --: %s=VALUE", row->name,
                data ? "data" : "training", row->name);
    else if (why != NULL) {
        err_set(rc, "%s", why);
        if (command != NULL && strcmp(command, "train") == 0)
            rc = typed_name_of_system(rc);
        rc = typed_name_explain(rc, "settings");
    }
    mem_free(why);
    return rc;
}

int train_explain_setting(int rc, const char *command, const char *name)
{
    const struct setting *row =
        strcmp(command, "train") == 0 ? settings_table_find(&run_table, name) : NULL;
    char *why = row != NULL ? mem_strdup(err_text()) : NULL;
    if (why != NULL)
        err_set(rc, "%s; a run's is written %s=VALUE", why, row->name);
    mem_free(why);
    return rc;
}
