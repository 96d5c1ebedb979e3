#ifndef PRATTLE_WEIGHTS_HF_STORED_H
#define PRATTLE_WEIGHTS_HF_STORED_H
/*
 * Tensors of a model as files store them: found by a naming (weights/tensors/names.h), checked
 * against the configuration, and read by part.
 */
#include "weights/hf/hf_files.h"
#include "weights/tensors/names.h"
#include "weights/tensors/source.h"

/* One tensor of the table: n_parts tensors of files, whose elements follow one another. No parts:
 * zeros. */
struct stored_tensor {
    struct stored_part {
        const struct file *file;
        uint64_t at;
        enum dtype dtype;
    } parts[NAMING_PARTS];
    int n_parts;
    uint64_t part_elements; /* of each part */
    enum dtype dtype;       /* as read: that of all parts, else F32 */
    float scale;            /* F32 elements are multiplied by this; 0: by nothing */
    int sinusoids;          /* no parts but sinusoids of this width; 0: none */
    int first_position;     /* of these */
};

/*
 * Fill s->readers, for s->table, from the files' tensors; *stored [n_tensors], new memory for the
 * caller to free after the readers. Marks the entries as used. ERR_MISSING, ERR_FORMAT and
 * ERR_UNSUPPORTED name the tensor.
 */
int stored_open(struct stored_tensor **stored, struct source *s, const struct hf_files *f,
                const struct naming *naming);

#endif
