#include "train/data/packed_head.h"

#include "model/base/file.h"
#include "train/data/packing.h"
#include "train/data/pickle_ids.h"
#include "train/data/tfrecord.h"

#include <archive.h>
#include <archive_entry.h>
#include <limits.h>

enum { HEAD_BYTES = 512, BLOCK_BYTES = 1 << 14 };
/* Of files passed over, which are unpacked for it. */
static const la_int64_t PASSED_MOST = 64 << 20;

/* head NULL: the name alone says it. */
static enum packed_content classify_member(const char *name, const char *head, size_t n)
{
    char inner[PATH_MAX];
    const bool unseen = head == NULL || data_is_packed(head, n, name);
    data_unpacked_name(inner, sizeof inner, name);
    if (tfrecord_is_name(inner))
        return PACKED_RECORDS;
    return !pickle_ids_is_name(inner)             ? PACKED_TEXTS
           : unseen || pickle_ids_may_be(head, n) ? PACKED_LISTS
                                                  : PACKED_OTHER_PICKLES;
}

static bool is_passed_over(const struct archive *a, struct archive_entry *e, const char *name)
{
    return archive_format((struct archive *)a) != ARCHIVE_FORMAT_RAW &&
           (name == NULL || archive_entry_filetype(e) != AE_IFREG || data_is_hidden(name));
}

static enum packed_content look_at_members(struct archive *a, const char *path)
{
    enum packed_content found = PACKED_NOTHING;
    struct archive_entry *e;
    la_int64_t passed = 0;
    int rc;
    while ((rc = archive_read_next_header(a, &e)) == ARCHIVE_OK && passed < PASSED_MOST) {
        char head[HEAD_BYTES];
        const char *name = archive_entry_pathname(e);
        passed += archive_entry_size(e);
        found = found == PACKED_NOTHING ? PACKED_TEXTS : found;
        if (is_passed_over(a, e, name))
            continue;
        const bool raw = archive_format(a) == ARCHIVE_FORMAT_RAW;
        const la_ssize_t n = archive_read_data(a, head, sizeof head);
        if (!raw && n > 0 && tfrecord_may_be_index(name, head, (size_t)n))
            continue;
        found = classify_member(raw ? path : name, n < 0 ? NULL : head, n < 0 ? 0 : (size_t)n);
        if (found != PACKED_OTHER_PICKLES)
            return found;
    }
    return rc == ARCHIVE_OK || rc == ARCHIVE_EOF ? found : classify_member(path, NULL, 0);
}

enum packed_content packed_head_look(const char *path)
{
    struct archive *a = archive_read_new();
    if (a == NULL)
        return classify_member(path, NULL, 0);
    /* Not all of them: some start programs. */
    archive_read_support_filter_gzip(a);
    archive_read_support_filter_bzip2(a);
    archive_read_support_filter_xz(a);
    archive_read_support_filter_zstd(a);
    archive_read_support_format_tar(a);
    archive_read_support_format_zip(a);
    archive_read_support_format_raw(a);
    const enum packed_content found = archive_read_open_filename(a, path, BLOCK_BYTES) == ARCHIVE_OK
                                          ? look_at_members(a, path)
                                          : classify_member(path, NULL, 0);
    archive_read_free(a);
    return found;
}
