#include "weights/torch/pickle_objects.h"

#include "model/base/err.h"

#include <string.h>

/* The closed list of globals. */
enum pickle_global_kind {
    GLOBAL_ORDERED_DICT,
    GLOBAL_OBJECT, /* of plain attributes */
    GLOBAL_TENSOR,
    GLOBAL_PARAMETER,
    GLOBAL_STORAGE
};
static const struct pickle_global {
    const char *module, *name;
    enum pickle_global_kind kind;
    enum dtype dtype; /* of a storage */
    int element_bytes;
} globals[] = {
    {"collections", "OrderedDict", GLOBAL_ORDERED_DICT, DTYPE_OTHER, 0},
    {"argparse", "Namespace", GLOBAL_OBJECT, DTYPE_OTHER, 0},
    {"munch", "Munch", GLOBAL_OBJECT, DTYPE_OTHER, 0},
    {"torch._utils", "_rebuild_tensor_v2", GLOBAL_TENSOR, DTYPE_OTHER, 0},
    {"torch._utils", "_rebuild_parameter", GLOBAL_PARAMETER, DTYPE_OTHER, 0},
    {"torch", "FloatStorage", GLOBAL_STORAGE, DTYPE_F32, 4},
    {"torch", "HalfStorage", GLOBAL_STORAGE, DTYPE_F16, 2},
    {"torch", "BFloat16Storage", GLOBAL_STORAGE, DTYPE_BF16, 2},
    {"torch", "DoubleStorage", GLOBAL_STORAGE, DTYPE_OTHER, 8},
    {"torch", "LongStorage", GLOBAL_STORAGE, DTYPE_OTHER, 8},
    {"torch", "IntStorage", GLOBAL_STORAGE, DTYPE_OTHER, 4},
    {"torch", "ShortStorage", GLOBAL_STORAGE, DTYPE_OTHER, 2},
    {"torch", "CharStorage", GLOBAL_STORAGE, DTYPE_OTHER, 1},
    {"torch", "ByteStorage", GLOBAL_STORAGE, DTYPE_OTHER, 1},
    {"torch", "BoolStorage", GLOBAL_STORAGE, DTYPE_OTHER, 1},
};

int pickle_push_global(struct pickle_machine *m, const char *module, size_t n_module,
                       const char *name, size_t n_name)
{
    char a[PICKLE_SHOWN], b[PICKLE_SHOWN];
    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++) {
        const struct pickle_global *g = &globals[i];
        if (strlen(g->module) == n_module && memcmp(g->module, module, n_module) == 0 &&
            strlen(g->name) == n_name && memcmp(g->name, name, n_name) == 0)
            return pickle_push(m, (struct pickle_value){.kind = PICKLE_GLOBAL, .global = g});
    }
    return err_set(ERR_UNSUPPORTED,
                   "the pickle asks for %s.%s, which weights do not need: refused, and nothing "
                   "of it was executed",
                   pickle_show(a, module, n_module), pickle_show(b, name, n_name));
}

/* The last of six: None, or (key of the view, first element, number of elements). */
static bool read_view(struct pickle_machine *m, struct pickle_value *v,
                      const struct pickle_value *view)
{
    const struct pickle_value *part[PICKLE_ARGS_MAX];
    v->storage.first = 0;
    v->storage.n_viewed = v->storage.elements;
    if (view == NULL || view->kind == PICKLE_NONE)
        return true;
    if (pickle_unpack(m, view, part) != 3 || part[1]->kind != PICKLE_INT || part[1]->number < 0 ||
        part[2]->kind != PICKLE_INT || part[2]->number < 0)
        return false;
    v->storage.first = (uint64_t)part[1]->number;
    v->storage.n_viewed = (uint64_t)part[2]->number;
    return v->storage.first <= v->storage.elements &&
           v->storage.n_viewed <= v->storage.elements - v->storage.first;
}

int pickle_storage(struct pickle_machine *m)
{
    const struct pickle_value *id = pickle_peek(m, 0), *part[PICKLE_ARGS_MAX];
    if (id == NULL)
        return ERR_FORMAT;
    const int n = pickle_unpack(m, id, part);
    if ((n != 5 && n != 6) || part[0]->kind != PICKLE_TEXT || part[0]->text.n != 7 ||
        memcmp(part[0]->text.at, "storage", 7) != 0 || part[1]->kind != PICKLE_GLOBAL ||
        part[1]->global->kind != GLOBAL_STORAGE || part[2]->kind != PICKLE_TEXT ||
        part[4]->kind != PICKLE_INT || part[4]->number < 0)
        return pickle_broken(m, "a persistent id is not that of a storage");
    struct pickle_value v = {
        .kind = PICKLE_STORAGE,
        .storage = {.type = part[1]->global,
                    .key = (int32_t)(part[2] - (const struct pickle_value *)m->values.data),
                    .elements = (uint64_t)part[4]->number}};
    if (!read_view(m, &v, n == 6 ? part[5] : NULL))
        return pickle_broken(m, "a view does not lie within its storage");
    m->stack.n--;
    return pickle_push(m, v);
}

struct pickle_storage_id pickle_storage_id(const struct pickle_machine *m,
                                           const struct pickle_value *v)
{
    const struct pickle_value *key = pickle_value(m, v->storage.key);
    return (struct pickle_storage_id){.key = key->text.at,
                                      .n_key = key->text.n,
                                      .element_bytes = v->storage.type->element_bytes,
                                      .elements = v->storage.elements};
}

/* Size and stride of _rebuild_tensor_v2 into t: row by row, or it is refused. */
static int read_shape(struct pickle_machine *m, struct pickle_tensor *t,
                      const struct pickle_value *size, const struct pickle_value *stride)
{
    const struct pickle_value *sizes[PICKLE_ARGS_MAX], *strides[PICKLE_ARGS_MAX];
    t->rank = pickle_unpack(m, size, sizes);
    if (t->rank < 0 || pickle_unpack(m, stride, strides) != t->rank)
        return pickle_broken(m, "a tensor's size and stride are not tuples of one length up to 8");
    t->n_elements = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (sizes[i]->kind != PICKLE_INT || sizes[i]->number < 0 || strides[i]->kind != PICKLE_INT)
            return pickle_broken(m, "a tensor's size or stride is not a whole number");
        t->shape[i] = (uint64_t)sizes[i]->number;
    }
    for (int i = t->rank - 1; i >= 0; i--) {
        /* A dimension of one, or of an empty tensor, may have any stride. */
        if (t->shape[i] > 1 && t->n_elements > 0 && (uint64_t)strides[i]->number != t->n_elements)
            return err_set(ERR_UNSUPPORTED,
                           "a tensor of storage %.*s does not lie row by row (stride %lld, "
                           "expected %llu): save it again after .contiguous()",
                           (int)(t->n_key < 20 ? t->n_key : 20), t->key,
                           (long long)strides[i]->number, (unsigned long long)t->n_elements);
        if (__builtin_mul_overflow(t->n_elements, t->shape[i], &t->n_elements))
            return pickle_broken(m, "a tensor's size passes 2^64");
    }
    return 0;
}

static int make_tensor(struct pickle_machine *m, const struct pickle_value *args)
{
    const struct pickle_value *part[PICKLE_ARGS_MAX];
    int n = pickle_unpack(m, args, part);
    if (n < 4 || part[0]->kind != PICKLE_STORAGE || part[1]->kind != PICKLE_INT ||
        part[1]->number < 0)
        return pickle_broken(m, "a tensor is not made of storage, offset, size and stride");
    const struct pickle_value *key = pickle_value(m, part[0]->storage.key);
    const struct pickle_global *type = part[0]->storage.type;
    struct pickle_tensor t = {.key = key->text.at,
                              .n_key = key->text.n,
                              .dtype = type->dtype,
                              .dtype_name = type->name,
                              .element_bytes = type->element_bytes,
                              .storage_elements = part[0]->storage.elements,
                              .first = (uint64_t)part[1]->number};
    int rc = read_shape(m, &t, part[2], part[3]);
    if (rc != 0)
        return rc;
    if (t.first > part[0]->storage.n_viewed || t.n_elements > part[0]->storage.n_viewed - t.first)
        return pickle_broken(m, "a tensor passes the end of its storage");
    t.first += part[0]->storage.first;
    if ((rc = pickle_grow(&m->tensors, sizeof t)) != 0)
        return rc;
    ((struct pickle_tensor *)m->tensors.data)[m->tensors.n] = t;
    return pickle_push(
        m, (struct pickle_value){.kind = PICKLE_TENSOR, .tensor = (int32_t)m->tensors.n++});
}

int pickle_reduce(struct pickle_machine *m)
{
    const struct pickle_value *args = pickle_peek(m, 0), *callee = pickle_peek(m, 1),
                              *part[PICKLE_ARGS_MAX];
    if (args == NULL || callee == NULL)
        return ERR_FORMAT;
    if (callee->kind != PICKLE_GLOBAL || callee->global->kind == GLOBAL_STORAGE ||
        callee->global->kind == GLOBAL_OBJECT)
        return pickle_broken(m, "what it calls is not a function of the list");
    m->stack.n -= 2;
    int n = pickle_unpack(m, args, part);
    switch (callee->global->kind) {
    case GLOBAL_ORDERED_DICT:
        if (n != 0)
            return pickle_broken(m, "an OrderedDict has arguments");
        return pickle_push(m, (struct pickle_value){.kind = PICKLE_DICT});
    case GLOBAL_PARAMETER: /* data, requires_grad, hooks */
        if (n < 1 || part[0]->kind != PICKLE_TENSOR)
            return pickle_broken(m, "a parameter is made of no tensor");
        return pickle_push_index(m,
                                 (int32_t)(part[0] - (const struct pickle_value *)m->values.data));
    default:
        return make_tensor(m, args);
    }
}

int pickle_new_object(struct pickle_machine *m)
{
    const struct pickle_value *args = pickle_peek(m, 0), *class = pickle_peek(m, 1),
                              *part[PICKLE_ARGS_MAX];
    if (args == NULL || class == NULL)
        return ERR_FORMAT;
    if (class->kind != PICKLE_GLOBAL || class->global->kind != GLOBAL_OBJECT ||
        pickle_unpack(m, args, part) != 0)
        return pickle_broken(m, "what it makes is not an object of the list");
    m->stack.n -= 2;
    return pickle_push(m, (struct pickle_value){.kind = PICKLE_DICT, .number = true});
}

int pickle_build(struct pickle_machine *m)
{
    struct pickle_value *object = pickle_peek(m, 1);
    const struct pickle_value *state = pickle_peek(m, 0);
    if (object == NULL)
        return ERR_FORMAT;
    if (object->kind != PICKLE_DICT)
        return pickle_broken(m, "attributes are given to what has none");
    if (object->number && object->first < 0 && state->kind == PICKLE_DICT) {
        object->first = state->first;
        object->last = state->last;
    }
    m->stack.n--;
    return 0;
}
