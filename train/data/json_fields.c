#include "train/data/json_fields.h"

#include "model/base/err.h"
#include "model/base/file_show.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    FIELDS_SHOWN = 120,
    FIELDS = 4 * FIELDS_SHOWN,
    PATH_BYTES = 80,
    ADVICE = 2 * PATH_BYTES + 100
};

static const char *kind_of_value(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_STRING:
        return "a text";
    case JSON_NULL:
        return "null";
    default:
        return "true or false";
    }
}

/* What an object has, of texts their names: ", it has a, b"; else of all what they are. Returns how
 * many texts there are. */
static size_t name_fields(char out[FIELDS], const json_t *value)
{
    const char *name;
    json_t *field;
    size_t n = 0, n_texts = 0;
    *out = '\0';
    json_object_foreach((json_t *)(uintptr_t)value, name, field) n_texts += json_is_string(field);
    json_object_foreach((json_t *)(uintptr_t)value, name, field)
    {
        if ((n_texts > 0 && !json_is_string(field)) || n >= FIELDS_SHOWN)
            continue;
        n += (size_t)snprintf(out + n, FIELDS - n, "%s%s", n == 0 ? ", it has " : ", ",
                              file_quote(name));
        if (n_texts == 0)
            n += (size_t)snprintf(out + n, FIELDS - n, " (%s)", kind_of_value(field));
    }
    return n_texts;
}

/* The first of the names, which NULL ends, that the object has a text of. */
static const char *find_text(const json_t *value, const char *const *names)
{
    while (*names != NULL && !json_is_string(json_object_get(value, *names)))
        names++;
    return *names;
}

/* The first of the names that the object has a list of objects of, which have `text`: a chat. */
static const char *find_chat(const json_t *value, const char *const *names, const char *text)
{
    for (; *names != NULL; names++) {
        const json_t *turn = json_array_get(json_object_get(value, *names), 0);
        if (json_is_string(json_object_get(turn, text)))
            return *names;
    }
    return NULL;
}

/* The settings, or of chats the command, that make a prompt and a completion of what TRL's and
 * others' data sets have; false: these are none. A completion begins with a space, as a word behind
 * a prompt does. */
static bool advise_pair(char out[ADVICE], const json_t *value)
{
    static const char *const prompts[] = {"prompt", "instruction", "question",
                                          "query",  "input",       NULL},
                             *const completions[] = {"completion", "output", "answer", "response",
                                                     "chosen",     "target", NULL},
                             *const chats[] = {"messages", "conversations", "chosen", NULL},
                             *const replies[] = {"completion", NULL};
    const char *prompt = find_text(value, prompts), *completion = find_text(value, completions),
               *chat = find_chat(value, chats, "content"),
               *reply = find_chat(value, replies, "content"), *text = ".content";
    char from[PATH_BYTES], to[PATH_BYTES];
    if (chat == NULL && reply == NULL && (chat = find_chat(value, chats, "value")) != NULL)
        text = ".value";
    if (prompt != NULL && completion != NULL) {
        const bool both =
            strcmp(prompt, "instruction") == 0 && json_is_string(json_object_get(value, "input"));
        snprintf(
            out, ADVICE,
            "; settings data_prompt_template=\"{%s}%s\" data_completion_template=\" {%s}\" make prompts "
            "and completions",
            prompt, both ? "\\n{input}" : "", completion);
        return true;
    }
    if (reply != NULL && find_chat(value, prompts, "content") != NULL) {
        snprintf(from, sizeof from, ".prompt[-1].content");
        snprintf(to, sizeof to, ".completion[0].content");
    } else if (chat != NULL) {
        snprintf(from, sizeof from, ".%s[-2]%s", chat, text);
        snprintf(to, sizeof to, ".%s[-1]%s", chat, text);
    } else {
        return false;
    }
    snprintf(out, ADVICE,
             "; jq -c '{prompt: %s, completion: (\" \" + %s)}' FILE > NEW.jsonl makes prompts and "
             "completions",
             from, to);
    return true;
}

/* Of a prompt and a completion one alone is a text: which is not, and what it is. */
static const char *half_pair(char *out, size_t size, const json_t *value)
{
    const json_t *prompt = json_object_get(value, "prompt"),
                 *completion = json_object_get(value, "completion");
    if (prompt == NULL && completion == NULL)
        return NULL;
    const bool is_prompt = !json_is_string(prompt);
    const json_t *wrong = is_prompt ? prompt : completion;
    if (wrong == NULL)
        snprintf(out, size, "expected a %s beside the %s", is_prompt ? "prompt" : "completion",
                 is_prompt ? "completion" : "prompt");
    else
        snprintf(out, size, "expected a %s that is a string, not %s",
                 is_prompt ? "prompt" : "completion", kind_of_value(wrong));
    return out;
}

int json_fields_refuse(const json_t *value, const char *field, bool pairs)
{
    char fields[FIELDS], advice[ADVICE] = "", half[64], is[32] = "";
    const json_t *wrong = json_object_get(value, field);
    const size_t n_texts = name_fields(fields, value);
    const bool is_pair = json_is_string(json_object_get(value, "prompt")) &&
                         json_is_string(json_object_get(value, "completion"));
    if (pairs && wrong == NULL && half_pair(half, sizeof half, value) != NULL) {
        advise_pair(advice, value);
        return err_set(ERR_FORMAT, "%s%s%s", half, n_texts > 1 ? fields : "", advice);
    }
    if (wrong != NULL)
        snprintf(is, sizeof is, ", not %s", kind_of_value(wrong));
    if (strcmp(field, "text") != 0) /* it was chosen, so how is known */
        advice[0] = '\0';
    else if (pairs && advise_pair(advice, value))
        ;
    else if (is_pair)
        snprintf(advice, sizeof advice,
                 "; training and evaluations read such prompts and completions as they are");
    else if (pairs && n_texts > 0)
        snprintf(advice, sizeof advice, "; the setting data_field=NAME takes one");
    else if (n_texts > 0)
        snprintf(advice, sizeof advice, "; `:data prepare FILE NEW.jsonl field=NAME` takes one");
    const bool alone = wrong != NULL && json_object_size(value) == 1;
    return err_set(ERR_FORMAT, "expected an object whose field %s is a string%s%s%s",
                   file_quote(field), is, alone ? "" : fields, alone ? "" : advice);
}

int json_fields_refuse_named(const json_t *value, const char *field, const char *setting)
{
    char fields[FIELDS];
    const json_t *wrong = json_object_get(value, field);
    if (wrong != NULL)
        return err_set(ERR_FORMAT, "expected a field %s that is a string, not %s; %s names it",
                       file_quote(field), kind_of_value(wrong), setting);
    name_fields(fields, value);
    return err_set(ERR_FORMAT, "there is no field %s, which %s names%s%s", file_quote(field),
                   setting, *fields == '\0' ? "" : ";", *fields == '\0' ? "" : fields + 1);
}
