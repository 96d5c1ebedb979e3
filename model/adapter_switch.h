#ifndef PRATTLE_MODEL_ADAPTER_SWITCH_H
#define PRATTLE_MODEL_ADAPTER_SWITCH_H
/*
 * Switching a model's adapter on and off. Both forms of the adapted matrices exist in memory: the
 * one in use in the model's panels, the other in adapter->alternate. Switching exchanges them, so
 * that either form comes back bit for bit.
 */
#include "model/adapter.h"
#include "model/model.h"

/* Allocate a->alternate for the matrices of m, which does not change. ERR_NOMEM. */
int adapter_reserve(struct adapter *a, const struct model *m);
/* The other form of a branch's matrix, whose panels are in a->alternate. */
struct linear adapter_alternate(const struct adapter *a, const struct model *m, int branch);
/* Give the adapter a to m, switched off; the caller has filled a->alternate with the adapted
 * matrices. An adapter that m had is freed. */
void adapter_attach(struct adapter *a, struct model *m);
/* Switch m's adapter on or off, by the whole thread team; m->version then changes. Does nothing if
 * the adapter is so already, or without one. */
void adapter_switch(struct model *m, bool on);
/* Switch the adapter off and free it. */
void adapter_drop(struct model *m);
/* Switch the adapter on and free it: the adapted weights become those of m, which counts as
 * changed. */
void adapter_merge(struct model *m);

#endif
