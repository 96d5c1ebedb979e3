#include "train/config/phased_plan.h"

#include "model/base/disk_array.h"
#include "model/base/err.h"
#include "train/optim/optimizer.h"
#include "train/step/step_memory.h"

#include <math.h>

/* The program's code, tables and what it reads data with. */
static const double PROGRAM = 64 << 20;
enum { WEIGHT_SLOTS = 2, GRADIENT_SLOTS = 3 }; /* at work, read ahead or being written */

struct sizes {
    double layer, outside;  /* of weights, and of gradients */
    double n, moment;       /* parameters; both moments of one */
    double input, residual; /* of one layer's micro-batches, of all micro-batches */
    double input_slots, residual_slots;
    double outside_slots;
    int blocks;   /* of gradients outside the layers that wait; 0: one block has none */
    double walk;  /* of the optimizer's parts in memory */
    bool twice;   /* it goes through them again, for the weights */
    double other; /* that is in memory anyway */
    int L, M;
};

static double most(double a, double b)
{
    return a > b ? a : b;
}

static int measure(struct sizes *z, const struct run_config *c, const struct config *shape,
                   const struct step_config *s, double model_bytes)
{
    const enum dtype dtype = (enum dtype)c->training.precision;
    const double element = (double)dtype_bytes(dtype), n = (double)config_params(shape);
    struct config none = *shape;
    struct step_config step = *s;
    struct step_bytes bytes;
    none.n_layer = 0;
    phased_config(&step);
    int rc = step_bytes(&bytes, shape, dtype, &step);
    if (rc != 0)
        return rc;
    const double moment =
        (double)dtype_bytes(optimizer_moment(&c->optimizer, dtype)) + sizeof(float);
    const double part = optimizer_disk_part(true);
    *z = (struct sizes){.L = shape->n_layer, .M = c->training.gradient_accumulation};
    const struct phased_bytes b = phased_bytes(shape, dtype, &step, z->M);
    z->outside = (double)config_params(&none) * element;
    z->layer = (n * element - z->outside) / z->L;
    z->n = n;
    z->moment = moment;
    z->input = b.inputs / (z->L + 1);
    z->residual = b.residuals;
    z->input_slots = b.inputs_at_work;
    z->residual_slots = b.residuals_at_work;
    z->blocks = b.blocks;
    z->outside_slots = b.outside_at_work;
    z->walk = (n < part ? n : part) * (moment + 2 * element);
    z->twice = c->optimizer.kind == OPTIMIZER_LAMB;
    z->other = PROGRAM + model_bytes + (double)bytes.activations + (double)bytes.scratch +
               (double)bytes.logits + (double)bytes.embedding + (double)bytes.waiting +
               2 * (double)bytes.window;
    return 0;
}

/* Whole ones of so many bytes each, out of what is left. */
static size_t keep_some(double *left, double each, size_t n)
{
    const size_t fit = *left < each * (double)n ? (size_t)(*left / each) : n;
    *left -= (double)fit * each;
    return fit;
}

static int keep_few(double *left, double each, int n)
{
    return (int)keep_some(left, each, (size_t)n);
}

/* A file has room for all of an array, whatever of it is kept. */
static double room_on_disk(const struct phased_plan *p, const struct sizes *z)
{
    const double block = z->L * z->layer + z->outside;
    return ((double)p->n_moments_kept < z->n ? z->n * z->moment : 0) +
           (p->weights.n_kept < z->L ? block : 0) +
           (p->weights.n_gradients_kept < z->L ? block : 0) +
           (p->place.n_inputs_kept <= z->L ? (z->L + 1) * z->input : 0) +
           (p->place.residuals_kept ? 0 : z->residual) +
           (p->place.n_outside_kept < z->blocks ? z->blocks * z->outside : 0);
}

/* What is written and wanted again while it is still on its way is not read (disk_array.h). The
 * weights of the last layer stay from the forward to the backward; it is the first to be kept. */
static void count_traffic(struct phased_plan *p, const struct sizes *z)
{
    const int away = z->L - p->weights.n_kept, gradients_away = z->L - p->weights.n_gradients_kept;
    const bool read_soon = z->M > DISK_ARRAY_LEAVING;
    const double inputs = z->input * (z->L + 1 - p->place.n_inputs_kept) / (z->L + 1),
                 residuals = p->place.residuals_kept ? 0 : z->residual, weights = away * z->layer,
                 gradients = gradients_away * z->layer,
                 moments = (z->n - (double)p->n_moments_kept) * z->moment,
                 again = z->twice ? moments + weights + gradients : 0,
                 stays = away == z->L ? z->layer : 0,
                 outside = (z->blocks - p->place.n_outside_kept) * z->outside,
                 outside_again = most(0, outside - DISK_ARRAY_LEAVING * z->outside);
    p->disk = room_on_disk(p, z);
    p->read = moments + 3 * weights - stays + 2 * gradients +
              (z->L + (read_soon ? z->L + 1 : 0)) * inputs +
              (read_soon ? z->L + 1 : 0) * residuals + outside_again + again;
    p->write = moments + weights + gradients + (z->L + 1) * (inputs + residuals) + outside;
    p->traffic = (struct phased_traffic){
        .weights = z->layer,
        .gradients = z->layer,
        .forward = (read_soon ? 2 : 1) * inputs,
        .backward = inputs + (read_soon ? 2 : 1) * residuals - stays / z->L,
        .loss = (read_soon ? inputs : 0) + residuals + outside,
        .alone = inputs + (read_soon ? residuals : 0) + outside_again,
        .optimizer = 2 * moments + 2 * weights + 2 * gradients + again,
    };
}

int phased_plan(struct phased_plan *out, const struct run_config *c, const struct config *shape,
                const struct step_config *s, double model_bytes)
{
    struct sizes z;
    *out = (struct phased_plan){0};
    if (!c->execution.phased || c->lora.rank > 0 || c->execution.replicas > 1)
        return 0;
    int rc = measure(&z, c, shape, s, model_bytes);
    if (rc != 0)
        return rc;
    const double limit = (double)c->execution.memory * 1e9;
    const double work = most(z.walk, (WEIGHT_SLOTS + GRADIENT_SLOTS) * z.layer + z.input_slots +
                                         z.residual_slots + z.outside_slots);
    const double least = 2 * z.outside + work;
    double left = limit - z.other - least;
    if (limit > 0 && left < 0)
        return err_set(ERR_NOMEM,
                       "memory is %g GB, but a step with one layer at a time needs %.2f GB",
                       (double)c->execution.memory, ceil((z.other + least) / 1e7) / 100);
    left = left > 0 ? left : 0;
    const double room = left;
    out->streams = true;
    out->place.micro_batches = z.M;
    out->place.residuals_kept = keep_few(&left, z.residual, 1) > 0;
    out->weights.n_kept = keep_few(&left, z.layer, z.L);
    out->place.n_inputs_kept = keep_few(&left, z.input, z.L + 1);
    out->weights.n_gradients_kept = keep_few(&left, z.layer, z.L);
    out->place.n_outside_kept = keep_few(&left, z.outside, z.blocks);
    out->n_moments_kept = keep_some(&left, z.moment, (size_t)z.n);
    out->memory = least + (room - left);
    out->all = z.other + out->memory;
    count_traffic(out, &z);
    out->disk += model_bytes; /* as it was before it got a step's weights */
    return 0;
}
