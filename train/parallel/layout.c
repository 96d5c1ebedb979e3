#include "train/parallel/layout.h"

#include "model/base/err.h"
#include "model/base/file_show.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void layout_init(struct layout *l, int n_layer, int replicas)
{
    *l = (struct layout){
        .stages = 1, .tensor = 1, .replicas = replicas, .n_layer = n_layer, .layers = {n_layer}};
}

static bool is_none(const char *text)
{
    return *text == '\0' || strcmp(text, "none") == 0;
}

/* Numbers between commas, in brackets or not; -1: it is not a list of these. layers NULL: only
 * counted. */
static int read_list(const char *text, int *layers, int most)
{
    const char *at = text + strspn(text, " ");
    const bool bracket = *at == '[';
    int n = 0;
    at += bracket;
    for (;;) {
        char *end;
        at += strspn(at, " ");
        if (*at < '0' || *at > '9')
            return -1;
        const long value = strtol(at, &end, 10);
        if (n < most && layers != NULL)
            layers[n] = value > CONFIG_MAX_LAYERS ? CONFIG_MAX_LAYERS : (int)value;
        n++;
        at = end + strspn(end, " ");
        if (*at != ',')
            break;
        at++;
    }
    if (bracket && *at++ != ']')
        return -1;
    at += strspn(at, " ");
    return *at == '\0' && n <= most ? n : -1;
}

int layout_count(const char *text)
{
    const int n = is_none(text) ? 1 : read_list(text, NULL, LAYOUT_MAX_STAGES);
    return n < 1 ? 1 : n;
}

void layout_suggest(char *out, size_t n, int stages, int n_layer)
{
    size_t at = 0;
    stages = stages > n_layer ? n_layer : stages;
    for (int i = 0; i < stages && at < n; i++)
        at += (size_t)snprintf(out + at, n - at, "%s%d", i > 0 ? "," : "",
                               n_layer * (i + 1) / stages - n_layer * i / stages);
}

/* Only the first may have the embedding and the head alone. */
static int check_layers(const struct layout *l, const char *text)
{
    char near[256];
    int sum = 0;
    layout_suggest(near, sizeof near, l->stages, l->n_layer);
    for (int i = 0; i < l->stages; i++) {
        sum += l->layers[i];
        if (i > 0 && l->layers[i] == 0)
            return err_set(ERR_RANGE,
                           "layers_per_device is %s, but only the first device, which has the "
                           "embedding and the head, can be without layers: %s",
                           text, near);
    }
    if (sum != l->n_layer)
        return err_set(ERR_RANGE, "layers_per_device is %s, %d layers, but the model has %d: %s",
                       text, sum, l->n_layer, near);
    return 0;
}

int layout_read(struct layout *l, const char *text, int n_layer)
{
    char shown[128];
    layout_init(l, n_layer, 1);
    if (is_none(text))
        return 0;
    file_show(shown, sizeof shown, text);
    l->stages = read_list(text, l->layers, LAYOUT_MAX_STAGES);
    if (l->stages < 1) {
        char near[256];
        layout_suggest(near, sizeof near, 2, n_layer);
        return err_set(ERR_RANGE,
                       "layers_per_device is %s, must be none or a list of the layers of each "
                       "device as %s",
                       shown, near);
    }
    return check_layers(l, shown);
}

struct model_stage layout_stage(const struct layout *l, int stage)
{
    struct model_stage s = {.ends = stage == 0, .alone = l->stages == 1};
    for (int i = 0; i < stage; i++)
        s.first += l->layers[i];
    s.last = s.first + l->layers[stage];
    return s;
}

struct rank_group layout_replicas(const struct layout *l)
{
    const int rank = world_rank();
    return (struct rank_group){.first = rank % (l->stages * l->tensor),
                               .distance = l->stages * l->tensor,
                               .size = l->replicas,
                               .own = layout_replica_of(l, rank)};
}

struct rank_group layout_tensor_group(const struct layout *l)
{
    const int rank = world_rank(), own = layout_tensor_of(l, rank);
    return (struct rank_group){.first = rank - own, .distance = 1, .size = l->tensor, .own = own};
}
