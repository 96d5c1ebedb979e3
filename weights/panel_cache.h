#ifndef PRATTLE_WEIGHTS_PANEL_CACHE_H
#define PRATTLE_WEIGHTS_PANEL_CACHE_H
/*
 * The weights of Hugging Face models as they lie in memory, in panels, kept from one start to the
 * next: $XDG_CACHE_HOME/prattle/panels (or ~/.cache), a file for each (panel_file.h). Reading such
 * an entry replaces reading, converting and checking the model's own files; the bits are the same.
 *
 * An entry is named by SHA-256 over
 *
 *     the versions of this format and of the block's layout, the byte order
 *     the precision in memory and the dimensions
 *     of each file with weights: device, inode, size, times of modification and of change (ns),
 *     and its first and last 64 KiB
 *
 * so that no file is read as a whole to find its entry. A file that is replaced has another inode;
 * one that is written to, another time of change, which programs cannot set, even where they set
 * the time of modification back. Since a time of change is as coarse as the file system's clock, a
 * file that changed just before it is read is not kept. What this cannot see: a file
 * system without a time of change, and a program that still writes through a shared memory map. For
 * these there is `:cache clear`. A folder that is copied gets entries of its own.
 *
 * Entries do not depend on the kernels, which all make the same panels, nor on threads. Whoever may
 * write in the folder may change what models say, as with the models' files themselves: checksums
 * find accidents, and the folder is the user's alone.
 *
 * Nothing here fails a load: without a folder, with a full disk or a damaged entry there is no
 * cache, and the weights come from the model's files.
 */
#include "model/base/sha256.h"
#include "weights/tensors/source.h"

struct panel_cache {
    uint64_t limit_bytes; /* of all entries together; 0: no cache */
    uint64_t least_bytes; /* smaller models load at once, and are not kept */
    bool waits;           /* write an entry before going on: for tests */
};

/* The entry's name; "": these weights are not to be kept. */
void panel_cache_key(char key[SHA256_HEX], const struct params *p, const struct source *s);
/* The path of its file, in fresh memory. NULL: there is no folder, or ERR_NOMEM. */
char *panel_cache_path(const char *key);

/*
 * Fill p, which is as params_init left it, from its entry. *found false: there is none, or it was
 * damaged, which is noted, and p is as before. key receives the entry's name, "" if these weights
 * are not to be kept. ERR_NOMEM, ERR_INTERRUPTED.
 */
int panel_cache_find(bool *found, char key[SHA256_HEX], struct params *p, const struct source *s,
                     const struct panel_cache *c, const struct progress *progress);
/*
 * Keep p, just filled from s, under the key; entries that were not used for longest make room. The
 * writing is left to a process of its own, with a copy of p as it is now, which may outlive this
 * one. Does nothing if key is "" or the files of s have changed since.
 */
void panel_cache_keep(const char *key, const struct params *p, const struct source *s,
                      const struct panel_cache *c);

#endif
