/* Grammars of schemas, and the sentences of refusals. Rules of plain types follow a schema's own.
 */
#include "sampling/schema/json_schema.h"

#include "model/base/mem.h"
#include "tests/lib/test.h"

static int convert(struct buf *out, const char *schema)
{
    char *exact = mem_alloc(strlen(schema)); /* so that a reader of more bytes is found out */
    memcpy(exact, schema, strlen(schema));
    int rc = json_schema_grammar(out, exact, strlen(schema));
    mem_free(exact);
    return rc;
}

/* The grammar begins with these rules. */
static void expect(const char *schema, const char *rules)
{
    struct buf out = {0};
    int rc = convert(&out, schema);
    if (rc != 0)
        fail_msg("%s: %d: %s", schema, rc, err_text());
    if (strncmp(buf_text(&out), rules, strlen(rules)) != 0)
        fail_msg("%s:\n%s", schema, buf_text(&out));
    buf_release(&out);
}

static void refuse(const char *schema, int code, const char *sentence)
{
    struct buf out = {0};
    assert_ok(buf_str(&out, "before"));
    int rc = convert(&out, schema);
    if (rc != code || strcmp(err_text(), sentence) != 0)
        fail_msg("%s: %d: %s", schema, rc, rc != 0 ? err_text() : buf_text(&out));
    assert_string_equal(buf_text(&out), "before");
    buf_release(&out);
}

struct refusal {
    const char *schema;
    int code;
    const char *sentence;
};

static void refuse_all(const struct refusal *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        refuse(list[i].schema, list[i].code, list[i].sentence);
}

#define REFUSE_ALL(list) refuse_all(list, sizeof(list) / sizeof *(list))

static void test_plain(void **state)
{
    (void)state;
    static const char string[] =
        "string ::= \"\\\"\" char* \"\\\"\"\n"
        "char ::= [^\"\\\\\\x00-\\x1f\\x7f] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" ([0-9a-cefA-CEF] "
        "[0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2} | [dD] [89abAB] [0-9a-fA-F]{2} \"\\\\u\" [dD] "
        "[c-fC-F] [0-9a-fA-F]{2}))\n";
    char text[2048];
    snprintf(text, sizeof text,
             "root ::= value\n"
             "value ::= object | array | string | number | boolean | null\n"
             "object ::= \"{\" space (member (\",\" space member)*)? \"}\"\n"
             "member ::= string \":\" space value\n"
             "array ::= \"[\" space (value (\",\" space value)*)? \"]\"\n"
             "%s"
             "number ::= integer (\".\" [0-9]{1,16})? ([eE] [+\\-]? [0-9]{1,2})?\n"
             "integer ::= \"-\"? (\"0\" | [1-9] [0-9]{0,15})\n"
             "boolean ::= \"true\" | \"false\"\n"
             "null ::= \"null\"\n"
             "space ::= \" \"?\n",
             string);
    expect("true", text);
    expect("{\"title\": \"t\", \"description\": \"d\", \"default\": 1, \"x-order\": 2}", text);
    snprintf(text, sizeof text, "root ::= string\n%s", string);
    expect("{\"type\": \"string\"}", text);
    expect("{\"type\": [\"null\", \"boolean\"]}", "root ::= boolean | null\n"
                                                  "boolean ::= \"true\" | \"false\"\n"
                                                  "null ::= \"null\"\n");
    expect("{\"type\": [\"integer\", \"number\"]}", "root ::= number\n");
}

static void test_objects(void **state)
{
    (void)state;
    expect("{\"properties\": {\"a\": {\"type\": \"null\"}}}",
           "root ::= \"{\" space (\"\\\"a\\\":\" space null)? \"}\"\n"
           "null ::= \"null\"\n"
           "space ::= \" \"?\n");
    expect("{\"properties\": {}}", "root ::= \"{\" space \"}\"\n");
    expect(
        "{\"properties\": {\"a\": {\"type\": \"null\"}, \"b\": {\"type\": \"null\"}, "
        "\"c\": {\"type\": \"null\"}}, \"required\": [\"b\"]}",
        "root ::= \"{\" space (\"\\\"a\\\":\" space null \",\" space)? \"\\\"b\\\":\" space null "
        "(\",\" space \"\\\"c\\\":\" space null)? \"}\"\n");
    expect("{\"properties\": {\"a\": {\"type\": \"null\"}, \"b\": {\"type\": \"null\"}, "
           "\"c\": {\"type\": \"null\"}}, \"minProperties\": 1}",
           "root ::= \"{\" space (\"\\\"a\\\":\" space null root--1 | \"\\\"b\\\":\" space null "
           "root--2 | \"\\\"c\\\":\" space null) \"}\"\n"
           "root--1 ::= (\",\" space \"\\\"b\\\":\" space null)? root--2\n"
           "root--2 ::= (\",\" space \"\\\"c\\\":\" space null)?\n");
    expect(
        "{\"additionalProperties\": {\"type\": \"null\"}, \"minProperties\": 2, "
        "\"maxProperties\": 3}",
        "root ::= \"{\" space string \":\" space null (\",\" space string \":\" space null){1,2} "
        "\"}\"\n");
    expect(
        "{\"required\": [\"a\\\"\\n\"], \"additionalProperties\": {\"type\": \"null\"}}",
        "root ::= \"{\" space \"\\\"a\\\\\\\"\\\\n\\\":\" space null "
        "(\",\" space root--name \":\" space null)* \"}\"\n"
        "root--name ::= \"\\\"\" ([^\"\\\\\\x00-\\x1f\\x7fa] char* \"\\\"\" | \"a\" root--name1 | "
        "\"\\\"\")\n"
        "root--name1 ::= [^\"\\\\\\x00-\\x1f\\x7f] char* \"\\\"\" | \"\\\"\"\n");
    expect(
        "{\"properties\": {\"ab\": false, \"b\": true}, \"additionalProperties\": "
        "{\"type\": \"null\"}}",
        "root ::= \"{\" space (\"\\\"b\\\":\" space value root--1 | root--name \":\" space null "
        "(\",\" space root--name \":\" space null)*)? \"}\"\n"
        "root--1 ::= (\",\" space root--name \":\" space null)*\n"
        "root--name ::= \"\\\"\" ([^\"\\\\\\x00-\\x1f\\x7fab] char* \"\\\"\" | \"a\" root--name1 | "
        "\"b\" char+ \"\\\"\" | \"\\\"\")\n"
        "root--name1 ::= [^\"\\\\\\x00-\\x1f\\x7fb] char* \"\\\"\" | \"b\" char+ \"\\\"\" | "
        "\"\\\"\"\n");
    expect("{\"properties\": {\"a\": {\"properties\": {\"null\": {\"enum\": [1]}, \"-e\\u00e9\": "
           "{\"enum\": [2]}}}}, \"required\": [\"a\"]}",
           "root ::= \"{\" space \"\\\"a\\\":\" space a \"}\"\n"
           "a ::= \"{\" space (\"\\\"null\\\":\" space null-2 a--1 | \"\\\"-e\xc3\xa9\\\":\" space "
           "e)? "
           "\"}\"\n"
           "a--1 ::= (\",\" space \"\\\"-e\xc3\xa9\\\":\" space e)?\n"
           "null-2 ::= \"1\"\n"
           "e ::= \"2\"\n");
}

static void test_arrays(void **state)
{
    (void)state;
    expect("{\"items\": {\"type\": \"null\"}}",
           "root ::= \"[\" space (null (\",\" space null)*)? \"]\"\n");
    expect("{\"items\": {\"type\": \"null\"}, \"minItems\": 2, \"maxItems\": 2}",
           "root ::= \"[\" space null (\",\" space null) \"]\"\n");
    expect("{\"items\": {\"type\": \"null\"}, \"maxItems\": 3}",
           "root ::= \"[\" space (null (\",\" space null){0,2})? \"]\"\n");
    expect("{\"items\": false}", "root ::= \"[\" space \"]\"\n");
    expect("{\"prefixItems\": [{\"type\": \"null\"}, {\"type\": \"integer\"}], \"items\": false, "
           "\"minItems\": 2}",
           "root ::= \"[\" space null \",\" space integer \"]\"\n");
    expect("{\"prefixItems\": [{\"type\": \"null\"}, {\"type\": \"integer\"}, {\"type\": "
           "\"boolean\"}], \"items\": {\"type\": \"null\"}, \"minItems\": 1, \"maxItems\": 4}",
           "root ::= \"[\" space null root--item1 \"]\"\n"
           "root--item1 ::= (\",\" space integer root--item2)?\n"
           "root--item2 ::= (\",\" space boolean (\",\" space null)?)?\n");
    expect("{\"prefixItems\": [{\"type\": \"null\"}, false]}",
           "root ::= \"[\" space (null)? \"]\"\n");
}

static void test_strings(void **state)
{
    (void)state;
    expect("{\"minLength\": 2}", "root ::= \"\\\"\" char{2,} \"\\\"\"\n");
    expect("{\"minLength\": 2, \"maxLength\": 5}", "root ::= \"\\\"\" char{2,5} \"\\\"\"\n");
    expect("{\"maxLength\": 0}", "root ::= \"\\\"\\\"\"\n");
    expect("{\"type\": [\"string\", \"null\"], \"pattern\": \"^a$\"}",
           "root ::= \"\\\"\" \"a\" \"\\\"\" | null\n");
    expect("{\"pattern\": \"^[a-z]+$\", \"maxLength\": 5, \"minLength\": 2}",
           "root ::= \"\\\"\" [a-z]{2,5} \"\\\"\"\n");
    expect("{\"pattern\": \"^\\\\d{3}$\", \"maxLength\": 3}",
           "root ::= \"\\\"\" [0-9]{3} \"\\\"\"\n");
    expect("{\"type\": \"string\", \"format\": \"uuid\"}",
           "root ::= uuid\n"
           "uuid ::= \"\\\"\" [0-9a-fA-F]{8} \"-\" ([0-9a-fA-F]{4} \"-\"){3} [0-9a-fA-F]{12} "
           "\"\\\"\"\n");
    expect("{\"format\": \"date-time\"}", "root ::= date-time\n");
    expect("{\"type\": \"string\", \"format\": \"email\"}", "root ::= string\n");
    expect("{\"format\": \"email\"}", "root ::= value\n");
}

static void test_integers(void **state)
{
    (void)state;
    expect("{\"type\": \"integer\", \"minimum\": 0, \"maximum\": 255}",
           "root ::= [0-9] | [1-9] [0-9] | \"1\" [0-9]{2} | \"2\" [0-4] [0-9] | \"25\" [0-5]\n");
    expect("{\"type\": \"integer\", \"exclusiveMinimum\": -3.5, \"exclusiveMaximum\": 2}",
           "root ::= \"-\" ([1-3]) | [0-1]\n");
    expect("{\"type\": \"integer\", \"minimum\": 1}", "root ::= [1-9] [0-9]{0,15}\n");
    expect("{\"type\": [\"integer\", \"null\"], \"maximum\": -1}",
           "root ::= \"-\" ([1-9] [0-9]{0,15}) | null\n");
    expect("{\"type\": \"integer\", \"minimum\": 9223372036854775807}",
           "root ::= \"922337203685477580\" \"7\"\n");
    expect("{\"type\": \"integer\", \"maximum\": -9223372036854775808}",
           "root ::= \"-\" (\"922337203685477580\" \"8\")\n");
}

static void test_values(void **state)
{
    (void)state;
    expect(
        "{\"enum\": [\"a\\\"\\u00e9\", 1.50, null, {\"b\": [1, \"{,\"]}, []]}",
        "root ::= \"\\\"a\\\\\\\"\xc3\xa9\\\"\" | \"1.5\" | \"null\" | \"{\" space \"\\\"b\\\":\" "
        "space \"[\" space \"1,\" space \"\\\"{,\\\"]}\" | \"[\" space \"]\"\n");
    expect("{\"const\": false}", "root ::= \"false\"\n");
    expect("{\"enum\": [1, 2.5, \"a\"], \"type\": [\"integer\", \"string\"]}",
           "root ::= \"1\" | \"\\\"a\\\"\"\n");
}

static void test_references(void **state)
{
    (void)state;
    expect("{\"$ref\": \"#/$defs/tree\", \"$defs\": {\"tree\": {\"properties\": {\"left\": "
           "{\"$ref\": \"#/$defs/tree\"}, \"all\": {\"$ref\": \"#/$defs/list\"}}}, \"list\": "
           "{\"items\": {\"$ref\": \"#\"}}}}",
           "root ::= \"{\" space (\"\\\"left\\\":\" space tree root--1 | \"\\\"all\\\":\" space "
           "list)? "
           "\"}\"\n"
           "root--1 ::= (\",\" space \"\\\"all\\\":\" space list)?\n"
           "tree ::= \"{\" space (\"\\\"left\\\":\" space tree tree--1 | \"\\\"all\\\":\" space "
           "list)? "
           "\"}\"\n"
           "tree--1 ::= (\",\" space \"\\\"all\\\":\" space list)?\n"
           "list ::= \"[\" space (tree (\",\" space tree)*)? \"]\"\n");
    expect("{\"items\": {\"$ref\": \"#/definitions/a~1b%25\"}, \"definitions\": {\"a/b%\": "
           "{\"maxLength\": 1}}}",
           "root ::= \"[\" space (a-1b-25 (\",\" space a-1b-25)*)? \"]\"\n"
           "a-1b-25 ::= \"\\\"\" char? \"\\\"\"\n");
}

static void test_several(void **state)
{
    (void)state;
    expect("{\"anyOf\": [{\"type\": \"null\"}, false, {\"type\": \"string\", \"minLength\": 1}]}",
           "root ::= null | root-3\n"
           "root-3 ::= \"\\\"\" char+ \"\\\"\"\n");
    expect(
        "{\"oneOf\": [{\"required\": [\"a\"]}, {\"required\": [\"b\"]}], \"type\": \"object\", "
        "\"properties\": {\"a\": {\"type\": \"null\"}, \"b\": {\"type\": \"null\"}}}",
        "root ::= root-1 | root-2\n"
        "root-1 ::= \"{\" space \"\\\"a\\\":\" space null (\",\" space \"\\\"b\\\":\" space null)? "
        "\"}\"\n"
        "root-2 ::= \"{\" space (\"\\\"a\\\":\" space null \",\" space)? \"\\\"b\\\":\" space null "
        "\"}\"\n");
    expect("{\"allOf\": [{\"properties\": {\"a\": {\"type\": \"integer\", \"minimum\": 2}}}, "
           "{\"properties\": {\"a\": {\"maximum\": 7}, \"b\": {\"type\": \"null\"}}, \"required\": "
           "[\"a\"]}]}",
           "root ::= \"{\" space \"\\\"a\\\":\" space a (\",\" space \"\\\"b\\\":\" space null)? "
           "\"}\"\n"
           "a ::= [2-7]\n");
    expect("{\"$ref\": \"#/$defs/s\", \"maxLength\": 3, \"$defs\": {\"s\": {\"type\": \"string\", "
           "\"maxLength\": 9, \"minLength\": 1}}}",
           "root ::= \"\\\"\" char{1,3} \"\\\"\"\n");
    expect("{\"allOf\": [{\"type\": \"number\"}, {\"type\": [\"integer\", \"string\"]}]}",
           "root ::= integer\n");
    expect("{\"enum\": [\"a\", \"b\"], \"anyOf\": [{\"type\": \"string\"}, {\"type\": "
           "\"null\"}, {\"const\": \"c\"}]}",
           "root ::= root-1\n"
           "root-1 ::= \"\\\"a\\\"\" | \"\\\"b\\\"\"\n");
}

static void test_unsupported(void **state)
{
    (void)state;
    static const struct refusal list[] = {
        {"{\"properties\": {\"a/b\": {\"items\": {\"not\": {}}}}}", ERR_UNSUPPORTED,
         "\"not\" at #/properties/a~1b/items is not supported"},
        {"{\"if\": {}}", ERR_UNSUPPORTED, "\"if\" at # is not supported"},
        {"{\"uniqueItems\": true}", ERR_UNSUPPORTED, "\"uniqueItems\" at # is not supported"},
        {"{\"\\u001b[1m\": true}", ERR_UNSUPPORTED, "\"\\x1b[1m\" at # is not supported"},
        {"{\"items\": [{}]}", ERR_UNSUPPORTED,
         "\"items\" at # is a list, as of older drafts; name it prefixItems"},
        {"{\"properties\": {\"a\": {\"$id\": \"b\", \"$ref\": \"#\"}}}", ERR_UNSUPPORTED,
         "\"$id\" at #/properties/a within a schema is not supported"},
        {"{\"type\": \"number\", \"minimum\": 0}", ERR_UNSUPPORTED,
         "\"minimum\" at # of a number that is no integer cannot be kept by a grammar; \"type\": "
         "\"integer\" can have it"},
        {"{\"$ref\": \"http://a\"}", ERR_UNSUPPORTED,
         "\"$ref\" at # is http://a; only # and #/... are supported, within the schema"},
        {"{\"$ref\": \"#\"}", ERR_UNSUPPORTED,
         "the schema at # refers to itself, or through more than 200 others"},
        {"{\"items\": {\"$ref\": \"#/items\"}}", ERR_UNSUPPORTED,
         "\"$ref\" at #/items leads back to itself, or through more than 200 others"},
        {"{\"items\": {\"anyOf\": [{\"$ref\": \"#/items\"}, {\"type\": \"null\"}]}}",
         ERR_UNSUPPORTED,
         "the schema at #/items leads back to itself with no object or array between"},
        {"{\"items\": {\"allOf\": [{\"pattern\": \"a\"}, {\"pattern\": \"b\"}]}}", ERR_UNSUPPORTED,
         "\"pattern\" at #/items cannot be united with that of another schema that must hold too"},
        {"{\"allOf\": [{\"properties\": {\"a\": true}, \"additionalProperties\": false}, "
         "{\"properties\": {\"b\": true}}]}",
         ERR_UNSUPPORTED,
         "\"additionalProperties\" at # cannot be united with that of another schema that must "
         "hold "
         "too"},
        {"{\"anyOf\": [true], \"oneOf\": [true]}", ERR_UNSUPPORTED,
         "\"anyOf\" at # is not supported beside oneOf"},
        {"{\"enum\": [\"a\"], \"maxLength\": 1}", ERR_UNSUPPORTED,
         "\"maxLength\" at # is not supported beside enum or const"},
        {"{\"properties\": {\"a\": true}, \"maxProperties\": 0}", ERR_UNSUPPORTED,
         "\"maxProperties\" at # is 0, and a grammar cannot count members beside properties"},
        {"{\"pattern\": \"(a|b*)+\"}", ERR_UNSUPPORTED,
         "\"pattern\" at #: it repeats without bound what may be empty"},
        {"{\"pattern\": \"^ab+$\", \"maxLength\": 7}", ERR_UNSUPPORTED,
         "\"pattern\" at #: it matches texts longer than maxLength, which is 7"},
    };
    REFUSE_ALL(list);
}

static void test_nothing_left(void **state)
{
    (void)state;
    static const struct refusal list[] = {
        {"false", ERR_UNSUPPORTED, "the schema at # leaves no value"},
        {"{\"allOf\": [{\"type\": \"null\"}, {\"type\": \"string\"}]}", ERR_UNSUPPORTED,
         "the schema at # leaves no value"},
        {"{\"enum\": [1], \"type\": \"string\"}", ERR_UNSUPPORTED, "\"enum\" at # leaves no value"},
        {"{\"enum\": [1], \"anyOf\": [{\"type\": \"string\"}, {\"const\": 2}]}", ERR_UNSUPPORTED,
         "\"anyOf\" at # leaves no value"},
        {"{\"anyOf\": [true, {\"enum\": [1], \"type\": \"string\"}]}", ERR_UNSUPPORTED,
         "\"enum\" at #/anyOf/1 leaves no value"},
        {"{\"properties\": {\"a\": {\"anyOf\": [false]}}}", ERR_UNSUPPORTED,
         "\"anyOf\" at #/properties/a leaves no value"},
        {"{\"properties\": {\"a\": false}, \"required\": [\"a\"]}", ERR_UNSUPPORTED,
         "\"properties\" at # forbids a, which is required"},
        {"{\"required\": [\"a\"], \"additionalProperties\": false}", ERR_UNSUPPORTED,
         "\"additionalProperties\" at # forbids a, which is required"},
        {"{\"minLength\": 3, \"maxLength\": 2}", ERR_RANGE,
         "\"minLength\" at # is 3, above maxLength, which is 2"},
        {"{\"prefixItems\": [true], \"items\": false, \"minItems\": 2}", ERR_RANGE,
         "\"minItems\" at # is 2, and there can be 1 items at most"},
        {"{\"type\": \"integer\", \"minimum\": 3, \"exclusiveMaximum\": 3}", ERR_RANGE,
         "the schema at # has bounds that leave no integer of 64 bits"},
    };
    REFUSE_ALL(list);
}

static void test_wrong(void **state)
{
    (void)state;
    static const struct refusal list[] = {
        {"[", ERR_FORMAT, "schema: not JSON: line 1: ']' expected near end of file"},
        {"5", ERR_RANGE, "the schema is 5, must be an object, true or false"},
        {"{\"type\": \"strin\"}", ERR_RANGE,
         "\"type\" at # is \"strin\", must be a type, or a list of them"},
        {"{\"properties\": {\"a\": 5}}", ERR_RANGE,
         "\"properties\" at # is an object, must be an object of schemas"},
        {"{\"minLength\": 1.5}", ERR_RANGE,
         "\"minLength\" at # is 1.5, must be a whole number of 0 or more"},
        {"{\"$ref\": \"#/a\"}", ERR_RANGE, "\"$ref\" at # is #/a, where there is no schema"},
        {"{\"pattern\": \"(a\"}", ERR_FORMAT, "\"pattern\" at #: a group has no )"},
    };
    REFUSE_ALL(list);
}

/* Schemas that would take a grammar without end, or very much of it. */
static void test_bounds(void **state)
{
    (void)state;
    static const struct refusal list[] = {
        {"{\"maxLength\": 4001}", ERR_RANGE,
         "\"maxLength\" at # is 4001, and a grammar counts to 4000 at most"},
        {"{\"items\": true, \"minItems\": 1000000000000}", ERR_RANGE,
         "\"minItems\" at # is 1000000000000, and a grammar counts to 4000 at most"},
        {"{\"pattern\": \"^(a{1000}){1000}$\"}", ERR_RANGE,
         "\"pattern\" at #: it has more than 20000 parts, copies of repetitions counted"},
        {"{\"prefixItems\": [{\"maxItems\": 4000}, {\"maxItems\": 3999}, {\"maxItems\": 3998}, "
         "{\"maxItems\": 3997}]}",
         ERR_RANGE,
         "the schema needs a grammar of more than 50000 elements, copies of what is repeated "
         "counted"},
    };
    REFUSE_ALL(list);
    struct buf deep = {0}, out = {0};
    for (int i = 0; i < 201; i++)
        assert_ok(buf_str(&deep, "{\"items\":"));
    assert_ok(buf_str(&deep, "{}"));
    for (int i = 0; i < 201; i++)
        assert_ok(buf_char(&deep, '}'));
    assert_int_equal(convert(&out, buf_text(&deep)), ERR_RANGE);
    assert_string_equal(err_text(), "the schema is nested deeper than 200 levels");
    /* Each of a hundred twice refers to the next one. */
    deep.n = 0;
    assert_ok(buf_str(&deep, "{\"$ref\": \"#/$defs/0\", \"$defs\": {"));
    for (int i = 0; i < 90; i++)
        assert_ok(buf_printf(&deep,
                             "\"%d\": {\"allOf\": [{\"$ref\": \"#/$defs/%d\"}, {\"$ref\": "
                             "\"#/$defs/%d\"}]}, ",
                             i, i + 1, i + 1));
    assert_ok(buf_str(&deep, "\"90\": {\"type\": \"null\"}}}"));
    assert_int_equal(convert(&out, buf_text(&deep)), ERR_RANGE);
    assert_string_equal(err_text(), "the schema is too large: its parts, those that references "
                                    "repeat counted, are more than 200000");
    buf_release(&deep);
    buf_release(&out);
}

/* As APIs send a schema, which may refer to itself from its own root. */
static void test_envelopes(void **state)
{
    (void)state;
    static const char schema[] = "{\"type\": \"object\", \"properties\": {\"a\": {\"$ref\": "
                                 "\"#/$defs/b\"}}, \"required\": [\"a\"], \"$defs\": {\"b\": "
                                 "{\"type\": \"null\"}}}";
    static const char *const envelopes[] = {
        "{\"type\": \"json_schema\", \"json_schema\": {\"name\": \"n\", \"strict\": true, "
        "\"schema\": %s}}",
        "{\"type\": \"json_schema\", \"json_schema\": {\"strict\": true, \"schema\": %s}}",
        "{\"type\": \"json_schema\", \"name\": \"n\", \"schema\": %s}",
        "{\"type\": \"json_object\", \"schema\": %s}",
        "{\"type\": \"function\", \"function\": {\"name\": \"f\", \"description\": \"d\", "
        "\"parameters\": %s}}",
        "{\"type\": \"function\", \"name\": \"f\", \"parameters\": %s, \"strict\": true}",
        "{\"name\": \"f\", \"schema\": %s}",
        "{\"name\": \"f\", \"input_schema\": %s}",
        "{\"type\": \"custom\", \"name\": \"f\", \"input_schema\": %s}",
        "{\"name\": \"f\", \"title\": \"F\", \"inputSchema\": %s}",
    };
    struct buf plain = {0}, text = {0};
    assert_ok(convert(&plain, schema));
    for (size_t i = 0; i < sizeof envelopes / sizeof *envelopes; i++) {
        const char *hole = strstr(envelopes[i], "%s");
        text.n = 0;
        assert_ok(buf_printf(&text, "%.*s%s%s", (int)(hole - envelopes[i]), envelopes[i], schema,
                             hole + 2));
        expect(buf_text(&text), buf_text(&plain));
    }
    plain.n = 0;
    assert_ok(convert(&plain, "{\"type\": \"object\"}"));
    expect("{\"type\": \"json_object\"}", buf_text(&plain));
    /* What is none has an error of its own. */
    refuse("{\"type\": \"function\"}", ERR_RANGE,
           "\"type\" at # is \"function\", must be a type, or a list of them");
    refuse("{\"type\": \"object\", \"name\": \"f\", \"schema\": {}}", ERR_UNSUPPORTED,
           "\"name\" at # is not supported");
    refuse("{\"type\": \"json_schema\", \"json_schema\": {\"type\": \"null\", \"schema\": {}}}",
           ERR_UNSUPPORTED, "\"schema\" at # is not supported");
    refuse("{\"name\": \"f\"}", ERR_UNSUPPORTED, "\"name\" at # is not supported");
    buf_release(&plain);
    buf_release(&text);
}

static void test_no_memory(void **state)
{
    (void)state;
    static const char schema[] =
        "{\"properties\": {\"a\": {\"$ref\": \"#/$defs/b\", \"maxLength\": 4}, \"c\": {\"anyOf\": "
        "[{\"pattern\": \"^(a|[bc])*\\\\d\"}, {\"enum\": [1, {\"d\": 2}]}]}, \"e\": {\"items\": "
        "{\"type\": \"integer\", \"minimum\": -5}, \"maxItems\": 4}}, \"additionalProperties\": "
        "{\"type\": \"null\"}, \"$defs\": {\"b\": {\"type\": [\"string\", \"null\"]}}}";
    struct buf whole = {0}, out = {0};
    assert_ok(convert(&whole, schema));
    int rc = ERR_NOMEM;
    for (uint64_t k = 1; rc != 0; k++) {
        out.n = 0;
        mem_fail_at(k);
        rc = json_schema_grammar(&out, schema, strlen(schema));
        mem_fail_at(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        assert_int_equal(out.n, rc == 0 ? whole.n : 0);
    }
    assert_string_equal(buf_text(&out), buf_text(&whole));
    buf_release(&whole);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),       cmocka_unit_test(test_objects),
        cmocka_unit_test(test_arrays),      cmocka_unit_test(test_strings),
        cmocka_unit_test(test_integers),    cmocka_unit_test(test_values),
        cmocka_unit_test(test_references),  cmocka_unit_test(test_several),
        cmocka_unit_test(test_unsupported), cmocka_unit_test(test_nothing_left),
        cmocka_unit_test(test_wrong),       cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_envelopes),   cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
