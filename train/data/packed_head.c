#include "train/data/packed_head.h"

#include "train/data/pickle_ids.h"

#include <archive.h>
#include <archive_entry.h>

enum { HEAD_BYTES = 64, BLOCK_BYTES = 1 << 14 };

bool packed_pickle_may_be(const char *path)
{
    struct archive *a = archive_read_new();
    struct archive_entry *entry;
    char head[HEAD_BYTES];
    la_ssize_t n = -1;
    if (a == NULL)
        return true;
    archive_read_support_filter_all(a);
    archive_read_support_format_tar(a);
    archive_read_support_format_zip(a);
    archive_read_support_format_raw(a);
    if (archive_read_open_filename(a, path, BLOCK_BYTES) == ARCHIVE_OK &&
        archive_read_next_header(a, &entry) == ARCHIVE_OK)
        n = archive_read_data(a, head, sizeof head);
    archive_read_free(a);
    return n < 0 || pickle_ids_may_be(head, (size_t)n);
}
