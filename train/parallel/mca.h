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
 *
 * Since version 5 processes are started by PRRTE, which has variables (PRTE_MCA_...), files
 * (prte-mca-params.conf, $HOME/.prte) and names of its own: plm_ssh_agent for plm_rsh_agent,
 * plm_ssh_args and prte_tmpdir_base. What nobody has set under a name of version 4 is looked for
 * there.
 */
#include <stdbool.h>

/* The value, which the caller frees; "" where it is set to nothing. NULL: nobody has set it. */
char *mca_value(const char *name);
bool mca_is_set(const char *name);
/* What is set under names of version 4, for PRRTE too, which does not know them: in the environment
 * that mpirun inherits. A bit of the result for each that was set there; mca_take_back unsets them.
 */
unsigned mca_tell_prrte(void);
void mca_take_back(unsigned told);
/* The same in a file's text. */
char *mca_find(const char *text, const char *name);
/* The path of mpirun, which the caller frees; NULL: it is not in PATH. */
char *mca_find_mpirun(void);
/* Whether it starts processes by PRRTE. */
bool mca_has_prrte(void);

#endif
