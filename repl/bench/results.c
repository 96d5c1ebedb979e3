#include "repl/bench/results.h"

#include "model/base/err.h"

#include <math.h>
#include <string.h>

static const char RESULTS_FILE[] = "benchmarks.jsonl";
enum { DAY = 10 }; /* bytes of a date's day */

const char *result_text(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));
    return text == NULL ? "" : text;
}

static bool is_figure(const json_t *figure)
{
    const json_t *values = json_object_get(figure, "values");
    if (!json_is_string(json_object_get(figure, "unit")) || json_array_size(values) == 0)
        return false;
    for (size_t i = 0; i < json_array_size(values); i++)
        if (!json_is_number(json_array_get(values, i)))
            return false;
    return true;
}

/* What everybody who reads a record relies on. */
static bool is_result(const json_t *o)
{
    static const char *const texts[] = {"date", "machine", "spec", "benchmark", "command"};
    json_t *parameters = json_object_get(o, "parameters"), *figures = json_object_get(o, "figures");
    json_t *value;
    const char *name;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!json_is_string(json_object_get(o, texts[i])))
            return false;
    if (strlen(result_text(o, "date")) < DAY || !json_is_object(parameters) ||
        !json_is_object(figures) || json_object_size(figures) == 0)
        return false;
    json_object_foreach(parameters, name, value)
    {
        if (!json_is_string(value))
            return false;
    }
    json_object_foreach(figures, name, value)
    {
        if (!is_figure(value))
            return false;
    }
    return true;
}

int results_add(const json_t *record)
{
    return record_file_add(RESULTS_FILE, record);
}

int results_read(struct records *r)
{
    return record_file_read(r, RESULTS_FILE, is_result);
}

int results_clear(void)
{
    return record_file_clear(RESULTS_FILE);
}

bool result_is_same(const json_t *a, const json_t *b)
{
    return strcmp(result_text(a, "benchmark"), result_text(b, "benchmark")) == 0 &&
           strcmp(result_text(a, "command"), result_text(b, "command")) == 0 &&
           json_equal(json_object_get(a, "parameters"), json_object_get(b, "parameters"));
}

int result_title(struct buf *out, const json_t *record)
{
    const char *name;
    json_t *value;
    int rc = buf_str(out, result_text(record, "benchmark"));
    json_object_foreach(json_object_get(record, "parameters"), name, value)
    {
        if (rc == 0)
            rc = buf_printf(out, " %s=%s", name, json_string_value(value));
    }
    return rc;
}

int result_values(struct numbers *out, const json_t *record, const char *figure)
{
    const json_t *values =
        json_object_get(json_object_get(json_object_get(record, "figures"), figure), "values");
    int rc = 0;
    for (size_t i = 0; i < json_array_size(values) && rc == 0; i++)
        rc = numbers_add(out, json_number_value(json_array_get(values, i)));
    return rc;
}

bool result_is_of(const json_t *record, const char *side)
{
    const char *day = result_text(record, "date"), *machine = result_text(record, "machine");
    const size_t n = strlen(machine);
    if (strcmp(side, machine) == 0 || (strlen(side) == DAY && strncmp(side, day, DAY) == 0))
        return true;
    return strncmp(side, machine, n) == 0 && side[n] == '/' && strlen(side + n + 1) == DAY &&
           strncmp(side + n + 1, day, DAY) == 0;
}

int result_side(struct buf *out, const json_t *record)
{
    return buf_printf(out, "%s/%.10s", result_text(record, "machine"), result_text(record, "date"));
}
