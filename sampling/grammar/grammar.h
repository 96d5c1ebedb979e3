#ifndef PRATTLE_SAMPLING_GRAMMAR_GRAMMAR_H
#define PRATTLE_SAMPLING_GRAMMAR_GRAMMAR_H
/*
 * A context-free grammar over bytes, ready to be matched: each rule is its alternatives, and each
 * of these its items, one behind the other.
 */
#include <stdint.h>

enum element_kind {
    ELEMENT_END,  /* of a rule */
    ELEMENT_OR,   /* of an alternative, another follows */
    ELEMENT_BYTE, /* one byte of sets[index] */
    ELEMENT_RULE  /* what rule `index` derives */
};
struct element {
    uint32_t kind : 2, index : 30;
};
struct byte_set {
    uint64_t bits[4];
};

struct grammar {
    struct element *elements; /* rule after rule; a place in them says how far a text has come */
    int *rules;               /* [n_rules] where each begins; rule 0 is root */
    struct byte_set *sets;    /* [n_sets] */
    int n_elements, n_rules, n_sets;
    unsigned char class_of[256]; /* bytes of one class are in the same sets */
    int n_classes;
};

/* Fill class_of and n_classes by the sets. */
void grammar_find_classes(struct grammar *g);
void grammar_free(struct grammar *g);

static inline int byte_set_has(const struct byte_set *s, unsigned char byte)
{
    return (int)(s->bits[byte >> 6] >> (byte & 63) & 1);
}

#endif
