#include "train/parallel/mca.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20 };

static const char BLANKS[] = " \t\r";

/* ---- a file's text ---- */

/* The value behind a name, where the line is of that one: "NAME = VALUE" or "--mca NAME VALUE". */
static const char *match_line(const char *line, const char *name)
{
    const size_t n = strlen(name);
    const bool option = strncmp(line, "-mca", 4) == 0 || strncmp(line, "--mca", 5) == 0;
    if (option) {
        line += strcspn(line, " \t\r\n");
        line += strspn(line, BLANKS);
    }
    if (strncmp(line, name, n) != 0)
        return NULL;
    const char *at = line + n + strspn(line + n, BLANKS);
    if (option)
        return at > line + n ? at : NULL;
    return *at == '=' ? at + 1 + strspn(at + 1, BLANKS) : NULL;
}

char *mca_find(const char *text, const char *name)
{
    const char *value = NULL;
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n"), line += *line != 0) {
        const char *found = match_line(line + strspn(line, BLANKS), name);
        value = found != NULL ? found : value;
    }
    if (value == NULL)
        return NULL;
    size_t n = strcspn(value, "\n");
    while (n > 0 && strchr(BLANKS, value[n - 1]) != NULL)
        n--;
    return mem_sprintf("%.*s", (int)n, value);
}

/* ---- where files are ---- */

char *mca_find_mpirun(void)
{
    return file_find_program("mpirun");
}

/* mpirun may be a link, and a script of the user's before either. */
bool mca_has_prrte(void)
{
    char *mpirun = mca_find_mpirun(), *prrte = file_find_program("prterun"),
         *orte = file_find_program("orterun"), real[PATH_MAX] = "";
    const bool is_link = mpirun != NULL && realpath(mpirun, real) != NULL &&
                         strcmp(strrchr(real, '/'), "/orterun") == 0;
    const bool has = mpirun != NULL && prrte != NULL && orte == NULL && !is_link;
    mem_free(mpirun);
    mem_free(prrte);
    mem_free(orte);
    return has;
}

/* Behind links, such as those of Debian's alternatives. */
static void find_prefix(char out[PATH_MAX])
{
    char *mpirun = mca_find_mpirun();
    *out = '\0';
    if (mpirun != NULL && realpath(mpirun, out) != NULL)
        for (int i = 0; i < 2 && strrchr(out, '/') != NULL; i++)
            *strrchr(out, '/') = '\0';
    mem_free(mpirun);
}

static char *find_in_file(const char *path, const char *name)
{
    struct buf text = {0};
    char *value = NULL;
    if (!file_exists(path))
        return NULL;
    if (file_read_all(&text, path, MOST_BYTES) == 0)
        value = mca_find(buf_text(&text), name);
    else
        err_clear(); /* Open MPI goes on too */
    buf_release(&text);
    return value;
}

/* A file of the system's; the first folder that has it. */
static char *find_in_system(const char *file, const char *name)
{
    const char *folder = getenv("OPAL_SYSCONFDIR"), *prefix = getenv("OPAL_PREFIX");
    char program[PATH_MAX], path[PATH_MAX + 64];
    find_prefix(program);
    const struct {
        const char *folder, *below;
    } places[] = {{folder, ""}, {prefix, "/etc"}, {program, "/etc"}, {"/etc/openmpi", ""}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i].folder == NULL)
            continue;
        const int n =
            snprintf(path, sizeof path, "%s%s/%s", places[i].folder, places[i].below, file);
        if (n < (int)sizeof path && file_exists(path))
            return find_in_file(path, name);
    }
    return NULL;
}

/* Of the files "A,B,...", the first that says something. */
static char *find_in_list(const char *list, const char *name)
{
    char path[PATH_MAX], *value = NULL;
    while (value == NULL && *list != '\0') {
        const size_t n = strcspn(list, ",");
        if (snprintf(path, sizeof path, "%.*s", (int)n, list) < (int)sizeof path)
            value = find_in_file(path, name);
        list += n + (list[n] != '\0');
    }
    return value;
}

static char *find_of_user(const char *file, const char *name)
{
    const char *home = getenv("HOME");
    char path[PATH_MAX];
    return home != NULL && snprintf(path, sizeof path, "%s/%s", home, file) < (int)sizeof path
               ? find_in_file(path, name)
               : NULL;
}

/* ---- values ---- */

static char *find_of_open_mpi(const char *name)
{
    char variable[128];
    const char *list = getenv("OMPI_MCA_mca_base_param_files"), *said;
    snprintf(variable, sizeof variable, "OMPI_MCA_%s", name);
    char *value = find_in_system("openmpi-mca-params-override.conf", name);
    if (value == NULL && (said = getenv(variable)) != NULL)
        return mem_strdup(said);
    if (value == NULL && list != NULL)
        return find_in_list(list, name);
    if (value == NULL)
        value = find_of_user(".openmpi/mca-params.conf", name);
    return value != NULL ? value : find_in_system("openmpi-mca-params.conf", name);
}

/* Names of version 4, and PRRTE's. */
static const struct {
    const char *name, *prrte, *variable;
} renamed[] = {{"plm", "plm", "PRTE_MCA_plm"},
               {"plm_rsh_agent", "plm_ssh_agent", "PRTE_MCA_plm_ssh_agent"},
               {"plm_rsh_args", "plm_ssh_args", "PRTE_MCA_plm_ssh_args"},
               {"orte_tmpdir_base", "prte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"}};
enum { N_RENAMED = sizeof renamed / sizeof *renamed };

static char *find_of_prrte(const char *name)
{
    size_t i = 0;
    while (i < N_RENAMED && strcmp(renamed[i].name, name) != 0)
        i++;
    if (i == N_RENAMED)
        return NULL;
    if (getenv(renamed[i].variable) != NULL)
        return mem_strdup(getenv(renamed[i].variable));
    char *value = find_of_user(".prte/mca-params.conf", renamed[i].prrte);
    return value != NULL ? value : find_in_system("prte-mca-params.conf", renamed[i].prrte);
}

char *mca_value(const char *name)
{
    char *value = find_of_open_mpi(name);
    return value != NULL ? value : find_of_prrte(name);
}

bool mca_is_set(const char *name)
{
    char *value = mca_value(name);
    mem_free(value);
    return value != NULL;
}

unsigned mca_tell_prrte(void)
{
    unsigned told = 0;
    for (size_t i = 0; i < N_RENAMED; i++) {
        char *value = find_of_open_mpi(renamed[i].name);
        if (value != NULL && getenv(renamed[i].variable) == NULL &&
            setenv(renamed[i].variable, value, 1) == 0)
            told |= 1U << i;
        mem_free(value);
    }
    return told;
}

void mca_take_back(unsigned told)
{
    for (size_t i = 0; i < N_RENAMED; i++)
        if (told >> i & 1)
            unsetenv(renamed[i].variable);
}
