/* For LD_PRELOAD: a machine of $MACHINE_MIB MiB of memory, without swap. */
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

int sysinfo(struct sysinfo *out)
{
    const char *mib = getenv("MACHINE_MIB");
    memset(out, 0, sizeof *out);
    out->totalram = mib == NULL ? 0 : strtoul(mib, NULL, 10) << 20;
    out->mem_unit = 1;
    return 0;
}
