#include "train/config/phased_plan.h"
#include "train/run/scaling_parts.h"

#include <math.h>

/* Of n layers: what each has to do, and what meanwhile is read for the next and written of the one
 * before. */
static double wait_for(int n, double seconds, double bytes, const struct cluster *k)
{
    return n * fmax(0, bytes / k->disk - seconds);
}

/* Where any gradients of layers are kept, all weights are (phased_plan.h). */
static double wait_for_layers(const struct phased_plan *p, const struct scaling_work *w)
{
    const struct phased_traffic *t = &p->traffic;
    const int L = w->shape->n_layer, kept = p->weights.n_kept, both = p->weights.n_gradients_kept,
              n = w->rounds * w->of_block;
    const double forward = n * w->micro.forward,
                 backward = n * (w->micro.layer - w->micro.forward + w->micro.again / L),
                 loss = n * w->micro.head;
    return wait_for(kept, forward, t->forward, w->k) +
           wait_for(L - kept, forward, t->forward + t->weights, w->k) +
           wait_for(1, loss, t->loss, w->k) + wait_for(1, 0, t->alone, w->k) +
           wait_for(both, backward, t->backward, w->k) +
           wait_for(kept - both, backward, t->backward + t->gradients, w->k) +
           wait_for(L - kept, backward, t->backward + t->gradients + t->weights, w->k);
}

int scaling_phased(struct step_time *out, const struct scaling_work *w)
{
    struct step_config step;
    struct phased_plan p;
    run_config_step(w->c, w->shape, &step);
    int rc = phased_plan(&p, w->c, w->shape, &step, (double)params_bytes(w->shape, w->held));
    if (rc == 0 && p.streams)
        out->disk +=
            wait_for_layers(&p, w) + wait_for(1, out->optimizer, p.traffic.optimizer, w->k);
    return rc;
}
