#ifndef PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_ENVELOPE_H
#define PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_ENVELOPE_H
/* What APIs send a schema in: response_format and functions of OpenAI, tools of Anthropic, MCP. */
#include <jansson.h>

/*
 * The schema within a document, which is borrowed: of {"type": "json_schema", "json_schema":
 * {"schema": ...}}, {"type": "json_object"}, {"type": "function", "function": {"parameters": ...}},
 * {"name": ..., "schema", "parameters", "input_schema" or "inputSchema": ...}; else the document
 * itself. Of a function these are the arguments. A new reference; NULL: no memory.
 */
json_t *json_schema_open_envelope(json_t *whole);

#endif
