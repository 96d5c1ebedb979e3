#ifndef PRATTLE_TRAIN_DATA_TFRECORD_H
#define PRATTLE_TRAIN_DATA_TFRECORD_H
/*
 * TensorFlow's TFRecord files of token ids: u64 length, u32 masked crc32c of it, the data, u32
 * masked crc32c of that. The data is a tf.train.Example (example.proto, feature.proto) with a
 * feature input_ids, an int64_list; of others' files text, tokens and the like count too. Beside
 * x.tfrecord lies x.tfrecord.index: a line "offset length" a record. Others call it x.index, or
 * .idx.
 */
#include "model/base/file.h"
#include "model/base/ids.h"

/* .tfrecord, .tfrecords, .tfrec */
bool tfrecord_is_name(const char *name);
char *tfrecord_index_path(const char *path); /* as it is written here; in fresh memory */
/* The index beside a file of records, whatever it is called, in fresh memory; *out NULL: none. */
int tfrecord_find_index(char **out, const char *path);
/* Whether this is an index with its file of records beside it. */
bool tfrecord_is_index(const char *path);
/* By its name and its first n bytes, where what is beside it is not known. */
bool tfrecord_may_be_index(const char *name, const char *head, size_t n);

/* Append a record with these ids; index: NULL for none. */
int tfrecord_write(struct file_writer *file, struct file_writer *index, const token_id *ids,
                   size_t n);

/* Append the ids of an Example to out. ERR_FORMAT: it is no such message. */
int tfrecord_parse(struct ids *out, const unsigned char *bytes, size_t n);
/*
 * Read the record at *offset and move *offset behind it; its ids replace those of out. ERR_FORMAT
 * names file and offset: a checksum that is not that of its bytes, a length beyond the file, or no
 * Example with ids.
 */
int tfrecord_read(struct ids *out, struct buf *scratch, const struct file *f, uint64_t *offset);

#endif
