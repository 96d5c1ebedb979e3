#ifndef PRATTLE_MODEL_BASE_IDS_H
#define PRATTLE_MODEL_BASE_IDS_H
/*
 * Token ids, and a growable list of them. A zeroed struct is an empty list.
 */
#include <stddef.h>
#include <stdint.h>

typedef int32_t token_id;
#define TOKEN_NONE ((token_id)-1)

struct ids {
    token_id *data; /* [n], owned */
    size_t n, cap;
};
void ids_release(struct ids *l);
/* Reserve room to append `more` ids. ERR_NOMEM: l is unchanged. */
int ids_reserve(struct ids *l, size_t more);
/* Append n ids. ERR_NOMEM: l is unchanged. */
int ids_add(struct ids *l, const token_id *ids, size_t n);

#endif
