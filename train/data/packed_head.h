#ifndef PRATTLE_TRAIN_DATA_PACKED_HEAD_H
#define PRATTLE_TRAIN_DATA_PACKED_HEAD_H
/* What a compressed file or an archive has. */

enum packed_content {
    PACKED_TEXTS,
    PACKED_LISTS,         /* pickled lists of ids (pickle_ids.h) */
    PACKED_RECORDS,       /* of ids (tfrecord.h) */
    PACKED_OTHER_PICKLES, /* and nothing else */
    PACKED_NOTHING        /* an archive without members */
};
/*
 * By the name of what it unpacks to, of an archive by its first file that is no other pickle, and
 * how a pickle begins. Where it cannot be unpacked its own name counts: reading it will say why.
 */
enum packed_content packed_head_look(const char *path);

#endif
