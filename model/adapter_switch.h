#ifndef PRATTLE_MODEL_ADAPTER_SWITCH_H
#define PRATTLE_MODEL_ADAPTER_SWITCH_H
/*
 * An adapter applied to a model in memory, on or off: both forms of the adapted matrices are
 * kept, so that either comes back bit for bit.
 */
#include "model/adapter.h"
#include "model/model.h"

/* Room for the other form of m's matrices; nothing of m changes. */
int adapter_reserve(struct adapter *a, const struct model *m);
/* The matrix of a branch as it is in the other form: its panels lie in a->alternate. */
struct linear adapter_alternate(const struct adapter *a, const struct model *m, int branch);
/* a, its room filled by its owner, becomes m's, switched off; one that m had goes. */
void adapter_attach(struct adapter *a, struct model *m);
/* Exchange the two forms by all threads, if it is not so already; the model's version rises. */
void adapter_switch(struct model *m, bool on);
/* m as it is without its adapter, and with none. */
void adapter_drop(struct model *m);
/* m's weights become what they are with the adapter, for good; they then count as changed. */
void adapter_merge(struct model *m);

#endif
