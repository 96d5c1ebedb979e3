#include "model/kernels/kernels.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/kernels/kernels_tables.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { MAX_SETS = 3 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct kernels sets[MAX_SETS];
static int n_sets;
static char names[64];
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

static void detect_sets(void)
{
    add_set(kernels_portable_fill);
#ifdef KERNELS_X86
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("f16c");
    if (avx2)
        add_set(kernels_avx2_fill);
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        add_set(kernels_avx512_fill);
#endif
    atomic_store(&active, &sets[n_sets - 1]);
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
    int chosen = name == NULL || strcmp(name, "auto") == 0 ? n_sets - 1 : 0;
    if (chosen == 0)
        while (chosen < n_sets && strcmp(name, sets[chosen].name) != 0)
            chosen++;
    if (chosen == n_sets)
        return err_set(ERR_RANGE, "kernels is %s, this machine has: auto, %s", file_quote(name),
                       names);
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
