#include "model/kernels/kernels.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/kernels/kernels_tables.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { MAX_TABLES = 3 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct kernels tables[MAX_TABLES];
static int n_tables;
static char names[64];
static _Atomic(const struct kernels *) active;

static void put(const struct kernels *table)
{
    if (n_tables > 0)
        strcat(names, ", ");
    strcat(names, table->name);
    tables[n_tables++] = *table;
}

static void detect(void)
{
    put(&kernels_portable);
#ifdef KERNELS_X86
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("f16c");
    if (avx2)
        put(&kernels_avx2);
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        put(&kernels_avx512);
#endif
    atomic_store(&active, &tables[n_tables - 1]);
}

const struct kernels *kernels_active(void)
{
    const struct kernels *k = atomic_load_explicit(&active, memory_order_acquire);
    if (k == NULL) {
        pthread_once(&once, detect);
        k = atomic_load(&active);
    }
    return k;
}

int kernels_select(const char *name)
{
    pthread_once(&once, detect);
    int chosen = name == NULL || strcmp(name, "auto") == 0 ? n_tables - 1 : 0;
    if (chosen == 0)
        while (chosen < n_tables && strcmp(name, tables[chosen].name) != 0)
            chosen++;
    if (chosen == n_tables)
        return err_set(ERR_RANGE, "kernels is %s, this machine has: auto, %s", file_quote(name),
                       names);
    atomic_store(&active, &tables[chosen]);
    return 0;
}

const char *kernels_names(void)
{
    pthread_once(&once, detect);
    return names;
}

const struct kernels *kernels_nth(int i)
{
    pthread_once(&once, detect);
    return i >= 0 && i < n_tables ? &tables[i] : NULL;
}
