#ifndef PRATTLE_TRAIN_DATA_BUNZIP_TEAM_H
#define PRATTLE_TRAIN_DATA_BUNZIP_TEAM_H
/*
 * Threads that unpack blocks of bzip2, in the order in which they are given. The caller takes what
 * came of them in the same order, and works on them too while it waits.
 */
#include "model/base/buf.h"

#include <stdbool.h>

enum bunzip_result { BUNZIP_WHOLE, BUNZIP_LONG, BUNZIP_DAMAGED, BUNZIP_CUT, BUNZIP_NO_MEMORY };

/* Unpack a stream of one block, packed, to text. BUNZIP_CUT: it is right as far as it goes;
 * BUNZIP_LONG: it has more than `most` bytes, as a run of one byte may have that takes none. */
enum bunzip_result bunzip_block(struct buf *text, const struct buf *packed, size_t most);

struct bunzip_team;
/* room: for blocks, one at least. NULL: ERR_NOMEM. */
struct bunzip_team *bunzip_team_new(int n_threads, int room);
void bunzip_team_free(struct bunzip_team *t);
/* The blocks that were given and not taken, and whether there is room for no more. */
int bunzip_team_count(const struct bunzip_team *t);
bool bunzip_team_is_full(const struct bunzip_team *t);
/* Where the next block is to be written, and: it was. */
struct buf *bunzip_team_next(struct bunzip_team *t);
void bunzip_team_give(struct bunzip_team *t);
/* The first block's text, in place of that of out. There is one; long ones are not unpacked. */
enum bunzip_result bunzip_team_take(struct bunzip_team *t, struct buf *out);
/* Forget the first n blocks, or all that there are. */
void bunzip_team_drop(struct bunzip_team *t, int n);

#endif
