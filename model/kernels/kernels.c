/*
 * sets[0 .. n_sets - 1] are this machine's instruction sets, worst first, each a copy of the one
 * before with its own functions on top; `once` guards their detection. `active` is NULL until
 * detection sets it to the best one, and afterwards always points into sets; kernels_select moves
 * it. Readers need no lock.
 */
#include "model/kernels/kernels.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/kernels/kernels_tables.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SETS = 4 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct kernels sets[MAX_SETS];
static int n_sets;
static char names[64];
/* The set that "auto" stands for; n_sets: the environment names none of ours. */
static int automatic;
static _Atomic(const struct kernels *) active;

static void add_set(void (*fill)(struct kernels *))
{
    struct kernels *set = &sets[n_sets];
    if (n_sets > 0) {
        *set = sets[n_sets - 1];
        strcat(names, ", ");
    }
    fill(set);
    strcat(names, set->name);
    n_sets++;
}

static int find_set(const char *name)
{
    int i = 0;
    while (i < n_sets && strcmp(name, sets[i].name) != 0)
        i++;
    return i;
}

static void detect_sets(void)
{
    add_set(kernels_portable_fill);
#ifdef KERNELS_X86
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("f16c");
    if (avx2)
        add_set(kernels_avx2_fill);
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx512)
        add_set(kernels_avx512_fill);
    if (avx512 && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("amx-tile") &&
        __builtin_cpu_supports("amx-bf16") && kernels_amx_request())
        add_set(kernels_amx_fill);
#endif
    const char *wish = getenv("PRATTLE_KERNELS");
    automatic = wish == NULL || *wish == '\0' ? n_sets - 1 : find_set(wish);
    atomic_store(&active, &sets[automatic < n_sets ? automatic : n_sets - 1]);
}

const struct kernels *kernels_active(void)
{
    const struct kernels *k = atomic_load_explicit(&active, memory_order_acquire);
    if (k == NULL) {
        pthread_once(&once, detect_sets);
        k = atomic_load(&active);
    }
    return k;
}

int kernels_select(const char *name)
{
    pthread_once(&once, detect_sets);
    bool is_auto = name == NULL || strcmp(name, "auto") == 0;
    int chosen = is_auto ? automatic : find_set(name);
    if (chosen == n_sets)
        return err_set(ERR_RANGE, "%s is %s, this machine has: auto, %s",
                       is_auto ? "PRATTLE_KERNELS" : "kernels",
                       file_quote(is_auto ? getenv("PRATTLE_KERNELS") : name), names);
    atomic_store(&active, &sets[chosen]);
    return 0;
}

const char *kernels_names(void)
{
    pthread_once(&once, detect_sets);
    return names;
}

const struct kernels *kernels_nth(int i)
{
    pthread_once(&once, detect_sets);
    return i >= 0 && i < n_sets ? &sets[i] : NULL;
}

const char *kernels_nth_name(int i)
{
    const struct kernels *k = kernels_nth(i);
    return k != NULL ? k->name : NULL;
}

const char *kernels_name(void)
{
    return kernels_active()->name;
}

const struct matrix_kernels *matrix_kernels(void)
{
    return &kernels_active()->matrix;
}

const struct bf16_kernels *bf16_kernels(void)
{
    return &kernels_active()->bf16;
}

const struct row_kernels *row_kernels(void)
{
    return &kernels_active()->row;
}

const struct attention_kernels *attention_kernels(void)
{
    return &kernels_active()->attention;
}

const struct sampling_kernels *sampling_kernels(void)
{
    return &kernels_active()->sampling;
}

const struct training_kernels *training_kernels(void)
{
    return &kernels_active()->training;
}

const struct optimizer_kernels *optimizer_kernels(void)
{
    return &kernels_active()->optimizer;
}

const struct peak_kernels *peak_kernels(void)
{
    return &kernels_active()->peak;
}
