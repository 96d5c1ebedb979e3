#ifndef PRATTLE_TRAIN_PARALLEL_MCA_H
#define PRATTLE_TRAIN_PARALLEL_MCA_H
/*
 * What the user and the system have set for Open MPI (its MCA parameters), as mpirun will find it.
 * The first that says something: the system's openmpi-mca-params-override.conf, the environment
 * (OMPI_MCA_...), then of $HOME/.openmpi/mca-params.conf and the system's openmpi-mca-params.conf,
 * or of those that OMPI_MCA_mca_base_param_files names, the first; in a file, the last line.
 *
 * The system's files are where OPAL_SYSCONFDIR or OPAL_PREFIX says, or etc/ beside the bin/ of
 * mpirun, or /etc/openmpi.
 */
#include <stdbool.h>

/* The value, which the caller frees; "" where it is set to nothing. NULL: nobody has set it. */
char *mca_value(const char *name);
bool mca_is_set(const char *name);
/* The same in a file's text. */
char *mca_find(const char *text, const char *name);
/* The path of mpirun, which the caller frees; NULL: it is not in PATH. */
char *mca_find_mpirun(void);

#endif
