#ifndef PRATTLE_TRAIN_RUN_TFEVENTS_H
#define PRATTLE_TRAIN_RUN_TFEVENTS_H
/*
 * TensorBoard event files: TFRecord framing (length, masked CRC-32C of it, data, masked
 * CRC-32C of that), each record a protobuf Event (tensorflow/core/util/event.proto); the
 * first has file_version "brain.Event:2". One scalar an event, as summary simple_value.
 */
#include <stdint.h>

struct tfevents;

/* A new file events.out.tfevents.SECONDS.HOST in the folder. from > 0: steps behind it are
 * taken again; a session log that starts there has readers drop them from older files. */
int tfevents_open(struct tfevents **out, const char *folder, int64_t from);
void tfevents_close(struct tfevents *t);
/* wall_s: seconds since 1970. */
int tfevents_scalar(struct tfevents *t, const char *tag, float value, int64_t step, double wall_s);
/* What was added is in the file, for readers that look while it grows; or, after an error (the disk
 * is full), nothing that was added since the last flush, nor will it be. */
int tfevents_flush(struct tfevents *t);

#endif
