#ifndef PRATTLE_WEIGHTS_PANEL_STREAM_H
#define PRATTLE_WEIGHTS_PANEL_STREAM_H
/*
 * Loading a model that is larger than memory: its layers stay in an entry of the panel cache, or in
 * a working file like one, and are read from there at each pass (model/layer_stream.h).
 */
#include "model/layer_stream.h"
#include "weights/panel_cache.h"

enum phased { PHASED_AUTO, PHASED_ON, PHASED_OFF };

struct load_memory {
    enum phased phased;   /* ON: no layer stays in memory; AUTO: what fits does */
    uint64_t limit_bytes; /* of the whole program; 0: what the system has available */
    const struct layer_stream_plan *plan; /* this one, for tests; NULL: by the others */
};

/* What of p, which has been reserved, stays in memory. ERR_NOMEM: too little for a layer. */
int panel_stream_plan(struct layer_stream_plan *out, const struct params *p,
                      const struct load_memory *m);
/*
 * Make p, reserved and with a plan that streams, ready for passes: from its entry, or, if there is
 * none, from s. A note says what is read for a token. Fails as panel_make and layer_stream_open.
 */
int panel_stream_load(struct params *p, const struct layer_stream_plan *plan,
                      const struct source *s, const struct panel_cache *c,
                      const struct progress *progress);

/*
 * Other weights for p, whose layers are on disk, from a source of its shape: they get a working
 * file, and *before is the file of those that p had. On failure p has these again; where that fails
 * too, p has no weights (params_lost).
 */
int panel_stream_replace(struct params *p, const struct source *s,
                         struct layer_stream_file *before);
/* p has the weights of a file that it had before. Takes it over. Fails as layer_stream_open; p has
 * no weights then (params_lost). */
int panel_stream_restore(struct params *p, struct layer_stream_file *before);

#endif
