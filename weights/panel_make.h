#ifndef PRATTLE_WEIGHTS_PANEL_MAKE_H
#define PRATTLE_WEIGHTS_PANEL_MAKE_H
/* The file that layers are read from at each pass, made from a source a part at a time. */
#include "model/layer_stream.h"
#include "weights/panel_cache.h"

#include <stdatomic.h>

/*
 * What reads such a file checks: each chunk against its sum, the first time that it is read, as
 * where weights are loaded into memory. Each time it would take longer than reading: on a machine
 * where a file is read at 2.4 GB/s, 1.4 GB/s were left. The user of layer_stream_file.
 */
struct panel_check {
    char *front;            /* of panel_file_front; owned */
    atomic_uchar *is_right; /* [panel_chunks], owned; panel_check_file makes it */
    size_t bytes;
    char *path; /* of the entry, which is deleted once it is found damaged; NULL: none; owned */
};
/* The file as the stream wants it; takes over disk and *check, also where it fails. */
int panel_check_file(struct layer_stream_file *out, const struct disk_file *disk,
                     const struct panel_check *check);

/*
 * Fill p's block from s, part by part, and write each to a file, which becomes the entry `key` of
 * the panel cache, or where the cache does not take it ("" for the key, no room, weights that are
 * NaN or infinite) a working file without a name. Of the block, what the plan does not keep is
 * given back. ERR_NOMEM, ERR_IO (a full disk), ERR_INTERRUPTED, or as the source fails.
 */
int panel_make(struct layer_stream_file *out, struct params *p,
               const struct layer_stream_plan *plan, const struct source *s, const char *key,
               const struct panel_cache *c, const struct progress *progress);

#endif
