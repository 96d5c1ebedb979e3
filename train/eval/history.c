#include "train/eval/history.h"

#include <string.h>

static const char HISTORY_FILE[] = "evaluations.jsonl";

int eval_history_add(const json_t *record)
{
    return record_file_add(HISTORY_FILE, record);
}

/* What everybody who reads a record relies on. */
static bool is_record(const json_t *o)
{
    static const char *const texts[] = {"date",       "model",      "fingerprint", "dtype",
                                        "evaluation", "definition", "file"};
    const char *name;
    json_t *figure;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!json_is_string(json_object_get(o, texts[i])))
            return false;
    if (!json_is_object(json_object_get(o, "figures")))
        return false;
    json_object_foreach(json_object_get(o, "figures"), name, figure)
    {
        const json_t *value = json_object_get(figure, "value");
        if (!json_is_number(value) && !json_is_null(value))
            return false;
    }
    return true;
}

int eval_history_read(struct records *h)
{
    return record_file_read(h, HISTORY_FILE, is_record);
}

static bool record_has(const json_t *record, const char *word)
{
    static const char *const keys[] = {"model",      "source", "dtype",     "date",
                                       "evaluation", "file",   "definition"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *text = json_string_value(json_object_get(record, keys[i]));
        if (text != NULL && strcasestr(text, word) != NULL)
            return true;
    }
    return false;
}

void eval_history_select(struct records *h, char *const *words, int n, int last)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->n; i++) {
        bool wanted = true;
        for (int k = 0; k < n && wanted; k++)
            wanted = record_has(h->list[i], words[k]);
        if (wanted)
            h->list[kept++] = h->list[i];
        else
            json_decref(h->list[i]);
    }
    h->n = kept;
    if (last > 0)
        records_keep_newest(h, (size_t)last);
}

int eval_history_clear(void)
{
    return record_file_clear(HISTORY_FILE);
}
