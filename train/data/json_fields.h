#ifndef PRATTLE_TRAIN_DATA_JSON_FIELDS_H
#define PRATTLE_TRAIN_DATA_JSON_FIELDS_H
/*
 * What is said of a JSON object that is no document: the fields it has, and the command that makes
 * one of them.
 */
#include <jansson.h>
#include <stdbool.h>

/*
 * ERR_FORMAT: the object, or what else value is, has no text of this name. pairs: the texts prompt
 * and completion would do too.
 */
int json_fields_refuse(const json_t *value, const char *field, bool pairs);
/* ERR_FORMAT: the object has no text of this name, which the setting's template has. */
int json_fields_refuse_named(const json_t *value, const char *field, const char *setting);

#endif
