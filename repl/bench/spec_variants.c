#include "repl/bench/spec_variants.h"

#include "model/base/err.h"
#include "model/base/file.h"

#include <string.h>

enum { PARAMETERS_MAX = 8, NAME_BYTES = 32, VALUE_BYTES = 200 };

static int no_memory(void)
{
    return err_set(ERR_NOMEM, "not enough memory for the parameters of a benchmark");
}

static int check_parameter(const char *name)
{
    const size_t n = strlen(name);
    if (n == 0 || n > NAME_BYTES || strpbrk(name, "{}") != NULL)
        return err_set(ERR_FORMAT, "parameters: %s is not the name of a parameter",
                       file_quote(name));
    for (size_t i = 0; i < n; i++)
        if (name[i] <= ' ' || name[i] > '~')
            return err_set(ERR_FORMAT, "parameters: %s is not the name of a parameter",
                           file_quote(name));
    if (strcmp(name, "model") == 0)
        return err_set(ERR_FORMAT, "parameters: {model} is the model of the settings");
    return 0;
}

/* A value, as text. */
static int put_value(json_t *variant, const char *name, const char *text, size_t n)
{
    if (n == 0 || n > VALUE_BYTES)
        return err_set(ERR_FORMAT, "parameters: a value of %s has %zu characters, expected 1 to %d",
                       file_quote(name), n, VALUE_BYTES);
    return json_object_set_new(variant, name, json_stringn(text, n)) == 0 ? 0 : no_memory();
}

/* Every variant so far with each of the values: a list, or a text of them with commas. */
static int multiply_variants(json_t **all, const char *name, const json_t *values)
{
    const char *text = json_string_value(values);
    json_t *more = json_array();
    int rc = more == NULL ? no_memory() : check_parameter(name);
    if (rc == 0 && text == NULL && (!json_is_array(values) || json_array_size(values) == 0))
        rc = err_set(ERR_FORMAT, "parameters: %s: expected a list of values", file_quote(name));
    for (size_t i = 0; rc == 0 && i < json_array_size(*all); i++) {
        const char *at = text;
        for (size_t k = 0; rc == 0 && (text != NULL ? at != NULL : k < json_array_size(values));
             k++) {
            const char *value = text != NULL ? at : json_string_value(json_array_get(values, k));
            json_t *variant = json_copy(json_array_get(*all, i));
            if (json_array_size(more) == SPEC_VARIANTS)
                rc = err_set(ERR_RANGE, "parameters: more than %d combinations", SPEC_VARIANTS);
            else if (value == NULL)
                rc =
                    err_set(ERR_FORMAT, "parameters: %s: expected single values", file_quote(name));
            else if (variant == NULL)
                rc = no_memory();
            if (rc == 0) {
                value += text != NULL ? strspn(value, " ") : 0;
                size_t n = text != NULL ? strcspn(value, ",") : strlen(value);
                at = text != NULL && value[n] == ',' ? value + n + 1 : NULL;
                while (text != NULL && n > 0 && value[n - 1] == ' ')
                    n--;
                rc = put_value(variant, name, value, n);
            }
            if (rc == 0 && json_array_append(more, variant) != 0)
                rc = no_memory();
            json_decref(variant);
        }
    }
    json_decref(*all);
    *all = more;
    return rc;
}

/* Rows of values under a row of names. */
static int read_rows(json_t *all, const json_t *rows)
{
    const json_t *names = json_array_get(rows, 0);
    const size_t n = json_array_size(names);
    int rc = 0;
    if (json_array_size(rows) < 2 || n == 0 || n > PARAMETERS_MAX)
        return err_set(ERR_FORMAT, "parameters: expected a row of names and rows of values");
    if (json_array_size(rows) - 1 > SPEC_VARIANTS)
        return err_set(ERR_RANGE, "parameters: more than %d rows", SPEC_VARIANTS);
    json_array_clear(all);
    for (size_t i = 1; rc == 0 && i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        json_t *variant = json_object();
        rc = variant == NULL ? no_memory() : 0;
        for (size_t k = 0; rc == 0 && k < n; k++) {
            const char *name = json_string_value(json_array_get(names, k)),
                       *value = json_string_value(json_array_get(row, k));
            if (name == NULL || value == NULL || json_array_size(row) != n)
                rc = err_set(ERR_FORMAT,
                             "parameters: row %zu does not have a value for each of %zu names", i,
                             n);
            if (rc == 0 && (rc = check_parameter(name)) == 0)
                rc = put_value(variant, name, value, strlen(value));
        }
        if (rc == 0 && json_array_append(all, variant) != 0)
            rc = no_memory();
        json_decref(variant);
    }
    return rc;
}

int spec_variants(json_t **out, const json_t *o)
{
    const char *name;
    json_t *values;
    *out = json_array();
    if (*out == NULL || json_array_append_new(*out, json_object()) != 0)
        return no_memory();
    if (o == NULL)
        return 0;
    if (json_is_array(o))
        return read_rows(*out, o);
    if (!json_is_object(o) || json_object_size(o) > PARAMETERS_MAX)
        return err_set(ERR_FORMAT, "parameters: expected a mapping of up to %d names to values",
                       PARAMETERS_MAX);
    int rc = 0;
    json_object_foreach((json_t *)(uintptr_t)o, name, values)
    {
        if (rc == 0)
            rc = multiply_variants(out, name, values);
    }
    return rc;
}
