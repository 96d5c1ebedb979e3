#include "train/parallel/layout.h"

#include "model/base/err.h"
#include "model/base/file_show.h"
#include "model/base/mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void layout_init(struct layout *l, int n_layer, int replicas)
{
    *l = (struct layout){.stages = 1,
                         .tensor = 1,
                         .replicas = replicas,
                         .chunks = 1,
                         .n_layer = n_layer,
                         .layers = {n_layer}};
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

int layout_layers(const char *text)
{
    int layers[LAYOUT_MAX_STAGES], sum = 0;
    const int n = is_none(text) ? 0 : read_list(text, layers, LAYOUT_MAX_STAGES);
    for (int i = 0; i < n; i++)
        sum += layers[i];
    return sum;
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
    int sum = 0;
    for (int i = 0; i < l->stages; i++) {
        sum += l->layers[i];
        if (i > 0 && l->layers[i] == 0)
            return err_set(ERR_RANGE,
                           "layers_per_device is %s, but only the first device, which has the "
                           "embedding and the head, can be without layers",
                           text);
    }
    if (sum != l->n_layer)
        return err_set(ERR_RANGE, "layers_per_device is %s, %d layer%s, but the model has %d", text,
                       sum, sum == 1 ? "" : "s", l->n_layer);
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
    if (l->stages < 1)
        return err_set(
            ERR_RANGE,
            "layers_per_device must be none or a list of the layers of each device, not %s", shown);
    return check_layers(l, shown);
}

int layout_divide(struct layout *l, int chunks)
{
    int most = STAGE_MAX_CHUNKS, of = -1, filled = 0;
    for (int i = 0; i < l->stages; i++) {
        filled += l->layers[i] > 0;
        if (l->layers[i] > 0 && l->layers[i] < most) {
            most = l->layers[i];
            of = i;
        }
    }
    if (chunks > 1 && l->stages == 1)
        return err_set(ERR_RANGE,
                       "virtual_stages is %d, but layers_per_device makes no pipeline: "
                       "virtual_stages=1",
                       chunks);
    if (chunks > 1 && filled < 2)
        return err_set(ERR_RANGE,
                       "virtual_stages is %d, but one device of layers_per_device has all layers: "
                       "virtual_stages=1",
                       chunks);
    if (chunks > most)
        return of < 0
                   ? err_set(ERR_RANGE, "virtual_stages must be at most %d, not %d", most, chunks)
                   : err_set(ERR_RANGE,
                             "virtual_stages is %d, but device %d of layers_per_device has %d "
                             "layer%s: virtual_stages=%d",
                             chunks, of, most, most == 1 ? "" : "s", most);
    l->chunks = chunks;
    return 0;
}

/* Layers of a stage's chunks before the chunk-th. */
static int layers_before(const struct layout *l, int stage, int chunk)
{
    return (int)((long)l->layers[stage] * chunk / l->chunks);
}

struct layer_range layout_chunk(const struct layout *l, int stage, int chunk)
{
    struct layer_range out = {0, 0};
    for (int i = 0; i < l->stages; i++)
        out.first += layers_before(l, i, chunk + (i < stage));
    out.last = out.first + layers_before(l, stage, chunk + 1) - layers_before(l, stage, chunk);
    return out;
}

struct model_stage layout_stage(const struct layout *l, int stage)
{
    const struct chunk_ring ring = layout_ring(l);
    struct model_stage s = {
        .n_chunks = chunk_ring_chunks(&ring, stage), .ends = stage == 0, .alone = l->stages == 1};
    for (int i = 0; i < s.n_chunks; i++)
        s.chunks[i] = layout_chunk(l, stage, i);
    return s;
}

/* What a layer costs is 12 n_embd^2 a token, the head n_vocab n_embd, and thrice with its backward.
 */
int layout_plan(struct pipeline_plan *out, const struct layout *l, const struct config *c,
                int n_micro, int of_block, int stage)
{
    enum { LAYER = 1000 };
    const struct chunk_ring ring = layout_ring(l);
    const int n = chunk_ring_size(&ring);
    int64_t *forward = mem_array((size_t)n, sizeof *forward);
    if (forward == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < n; i++) {
        const struct layer_range layers =
            layout_chunk(l, chunk_ring_stage(&ring, i), chunk_ring_chunk(&ring, i));
        forward[i] = (int64_t)(layers.last - layers.first) * LAYER + 1;
    }
    const struct pipeline p = {.ring = ring,
                               .n_micro = n_micro,
                               .of_block = of_block,
                               .forward = forward,
                               .head = (int64_t)c->n_vocab * LAYER / (4 * c->n_embd) + 1};
    int rc = pipeline_plan(out, &p, stage);
    mem_free(forward);
    return rc;
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
