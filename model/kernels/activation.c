#include "model/kernels/activation.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 5 };

#define ROW(WORD, name, title, ...) {title, {__VA_ARGS__}},
static const struct {
    const char *title, *names[MAX_NAMES + 1]; /* NULL after the last */
} activations[N_ACTIVATIONS] = {EACH_ACTIVATION(ROW)};
#undef ROW

bool activation_find(enum activation *a, const char *name)
{
    for (int i = 0; i < N_ACTIVATIONS; i++)
        for (int j = 0; activations[i].names[j] != NULL; j++)
            if (strcmp(name, activations[i].names[j]) == 0) {
                *a = (enum activation)i;
                return true;
            }
    return false;
}

const char *activation_name(enum activation a)
{
    return activations[a].names[0];
}

const char *activation_title(enum activation a)
{
    return activations[a].title;
}

char *activation_names(char *out, size_t size)
{
    size_t n = 0;
    out[0] = '\0';
    for (int i = 0; i < N_ACTIVATIONS; i++)
        for (int j = 0; activations[i].names[j] != NULL && n < size; j++) {
            bool last = i == N_ACTIVATIONS - 1 && activations[i].names[j + 1] == NULL;
            n += (size_t)snprintf(out + n, size - n, "%s%s",
                                  n == 0 ? ""
                                  : last ? " or "
                                         : ", ",
                                  activations[i].names[j]);
        }
    return out;
}
