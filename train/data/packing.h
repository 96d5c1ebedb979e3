#ifndef PRATTLE_TRAIN_DATA_PACKING_H
#define PRATTLE_TRAIN_DATA_PACKING_H
/*
 * Compressed files and archives, by their first bytes and their names.
 */
#include <stdbool.h>
#include <stddef.h>

/* What text_stream unpacks, by its n first bytes, of which a tar needs 512. name: of the file, once
 * what it was packed in is off, for a tar without members; NULL: not known. */
enum data_packing { DATA_PLAIN, DATA_GZIP, DATA_BZIP2, DATA_COMPRESSED, DATA_ARCHIVE };
enum data_packing data_packing_of(const char *head, size_t n, const char *name);
bool data_is_packed(const char *head, size_t n, const char *name);
/* Write path without its ending .gz, .bz2, .xz or .zst, if it has one, to out[size]. */
void data_unpacked_name(char *out, size_t size, const char *path);
/* Whether a member of an archive is left out: a part of its path begins with a dot, or is what
 * macOS adds. */
bool data_is_hidden(const char *path);

#endif
