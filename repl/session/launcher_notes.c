#include "repl/session/launcher_notes.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "repl/session/processes.h"
#include "train/parallel/loss.h"
#include "train/parallel/start.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_NOTICE = 16 << 10 };

/* What mpirun says itself of the signal that it is sent, and of a child that was quicker than it.
 */
static const char *const noise[] = {"mpirun: Forwarding signal", "plm:rsh: Warning: setpgid"};
/* Once all processes have ended; before them stands mpirun, and since version 5 of Open MPI
 * prterun. */
static const char *const last_words[] = {
    " noticed that process rank ",
    " detected that one or more processes exited with non-zero status"};
static const char CANNOT_START[] = "was unable to reliably start one or more daemons";
static const char RULE[] = "--------------------";

/* How many processes of this machine the kernel has ended to have their memory. */
static uint64_t count_kills(void)
{
    static const char name[] = "\noom_kill ";
    struct buf text = {0};
    uint64_t n = 0;
    if (file_read_all(&text, "/proc/vmstat", 1 << 20) == 0 && buf_char(&text, '\0') == 0) {
        const char *at = strstr(text.data, name);
        n = at != NULL ? strtoull(at + sizeof name - 1, NULL, 10) : 0;
    }
    buf_release(&text);
    return n;
}

int launcher_notes_begin(struct launcher_notes *l, int size)
{
    *l = (struct launcher_notes){.end = {.rank = -1, .saved = -1}, .kills = count_kills()};
    err_clear();
    return launcher_start_begin(&l->start, size);
}

void launcher_notes_release(struct launcher_notes *l)
{
    launcher_start_release(&l->start);
    buf_release(&l->ending);
    buf_release(&l->notice);
}

/* ---- notes ---- */

/* mpirun tells the others to end once one has. */
static void take_asked(struct launcher_notes *l, int rank, const char *host, const char *why)
{
    if (*l->asked.why != '\0')
        return;
    l->asked.rank = rank;
    snprintf(l->asked.host, sizeof l->asked.host, "%s", host);
    snprintf(l->asked.why, sizeof l->asked.why, "%.*s", (int)strcspn(why, "\n"), why);
}

/* Behind PROCESSES_LOST. The first that tells of a loss is right: others miss ranks that have ended
 * for it. But a host that is cut off misses rank 0, which misses that host. */
static void take_loss(struct launcher_notes *l, const char *text)
{
    struct launcher_end *e = &l->end;
    int rank, n, at = 0;
    char host[sizeof e->host];
    if (launcher_start_take(&l->start, text))
        return;
    if (sscanf(text, "saved %" SCNd64, &e->saved) == 1) {
        l->over = true;
    } else if (sscanf(text, "asked %d %63s %n", &rank, host, &at) == 2 && at > 0) {
        take_asked(l, rank, host, text + at);
    } else if (sscanf(text, "%d %d %63s %n", &rank, &n, host, &at) == 3 && at > 0 &&
               (!l->told || (e->silent && e->rank == 0 && rank > 0))) {
        l->told = true;
        l->over = rank == 0;
        e->rank = rank;
        e->n = n;
        snprintf(e->host, sizeof e->host, "%s", host);
        snprintf(e->why, sizeof e->why, "%s", text + at);
        e->why[strcspn(e->why, "\n")] = '\0';
        e->silent = strcmp(e->why, LOSS_ENDED) != 0;
    }
}

/* Behind "[host:00123] " or not. */
static bool is_noise(const char *line, size_t n)
{
    const char *from = *line == '[' ? memchr(line, ' ', n) : NULL;
    from = from != NULL ? from + 1 : line;
    n -= (size_t)(from - line);
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
        if (n > strlen(noise[i]) && memcmp(from, noise[i], strlen(noise[i])) == 0)
            return true;
    return false;
}

static bool has_last_words(const struct launcher_notes *l)
{
    bool has = false;
    for (size_t i = 0; i < sizeof last_words / sizeof *last_words; i++)
        has |= strstr(buf_text(&l->notice), last_words[i]) != NULL;
    return has;
}

int launcher_notes_line(struct launcher_notes *l, const char *line, size_t n, bool *taken)
{
    char note[512];
    *taken = true;
    if (*line == PROCESSES_LOST) {
        snprintf(note, sizeof note, "%.*s", (int)n - 1, line + 1);
        take_loss(l, note);
        return 0;
    }
    if (n >= sizeof RULE && memcmp(line, RULE, sizeof RULE - 1) == 0) {
        l->in_notice = !l->in_notice;
        l->last |= !l->in_notice && has_last_words(l);
        return 0;
    }
    if (l->in_notice) {
        int rc = l->notice.n > 0 ? buf_char(&l->notice, ' ') : 0;
        if (l->notice.n > MOST_NOTICE)
            return 0;
        return rc == 0 ? buf_add(&l->notice, line, n - 1) : rc;
    }
    *taken = is_noise(line, n);
    return 0;
}

bool launcher_notes_miss(struct launcher_notes *l)
{
    struct launcher_end *e = &l->end;
    const int rank = launcher_start_silent(&l->start, clock_s());
    if (rank < 0 || l->told || l->ended)
        return false;
    l->told = l->over = e->silent = true;
    e->rank = rank;
    e->n = 1;
    memcpy(e->host, l->start.ranks[rank].host, sizeof e->host);
    snprintf(e->why, sizeof e->why, LOSS_SILENT, START_SILENT_S);
    return true;
}

/* ---- the end ---- */

/* The kernel says of whom it had the memory in its log alone. */
static void name_signal(struct launcher_notes *l, int sig)
{
    char here[64] = "";
    struct launcher_end *e = &l->end;
    gethostname(here, sizeof here - 1);
    const size_t n = strcspn(here, ".");
    const bool local = strncmp(here, e->host, n) == 0 && (e->host[n] == '\0' || e->host[n] == '.');
    const bool memory = sig == SIGKILL && local && count_kills() > l->kills;
    err_clear();
    snprintf(e->why, sizeof e->why, "killed by signal %d%s", sig,
             memory ? ", as the machine ran out of memory" : "");
}

/* mpirun knows of a signal what ranks do not; of a rank that is silent it knows nothing. */
static void read_notice(struct launcher_notes *l)
{
    struct launcher_end *e = &l->end;
    const char *notice = buf_text(&l->notice), *lost = strstr(notice, "process rank ");
    char host[sizeof e->host];
    int rank, sig;
    long pid;
    if (lost == NULL ||
        sscanf(lost, "process rank %d with PID %ld on node %63s exited on signal %d", &rank, &pid,
               host, &sig) != 4)
        return;
    if (l->told && (e->silent || rank != e->rank))
        return;
    l->told = true;
    e->rank = rank;
    e->n = e->n > 0 ? e->n : 1;
    snprintf(e->host, sizeof e->host, "%s", host);
    name_signal(l, sig);
}

/* A rank that a signal told to end, which it did in its own way, after a pause of all. */
static void take_told_to_end(struct launcher_notes *l)
{
    if (l->told || *l->asked.why == '\0')
        return;
    l->told = true;
    l->end.rank = l->asked.rank;
    l->end.n = 1;
    memcpy(l->end.host, l->asked.host, sizeof l->end.host);
    memcpy(l->end.why, l->asked.why, sizeof l->end.why);
}

/* All have paused since one was sent SIGINT, as by Ctrl-C. */
static bool is_pause(const struct launcher_notes *l)
{
    const char *first = strstr(buf_text(&l->notice), "Process name: ");
    const char *code = first != NULL ? strstr(first, "Exit code: ") : NULL;
    return !l->told && *l->asked.why == '\0' && code != NULL &&
           strstr(buf_text(&l->notice), "exited on signal") == NULL &&
           atoi(code + strlen("Exit code: ")) == 128 + SIGINT;
}

static int say_loss(const struct launcher_end *e)
{
    char others[48] = "";
    if (e->rank < 0 && e->silent)
        return err_set(ERR_IO, "%s%s was lost: %s", *e->host != '\0' ? "host " : "a host", e->host,
                       e->why);
    if (e->rank < 0)
        return err_set(ERR_IO, "mpirun was lost: %s", e->why);
    if (e->n > 1)
        snprintf(others, sizeof others, " and %d more of its host", e->n - 1);
    return err_set(ERR_IO, "rank %d (%s)%s %s lost: %s", e->rank, e->host, others,
                   e->n > 1 ? "were" : "was", e->why);
}

/* A daemon of mpirun's has gone with its host, before ranks could miss theirs. */
static void read_lost_host(struct launcher_notes *l)
{
    struct launcher_end *e = &l->end;
    const char *notice = buf_text(&l->notice), *lost = strstr(notice, "Remote daemon: "),
               *node = lost != NULL ? strstr(lost, "on node ") : NULL;
    if (l->told || (node == NULL && (!l->begun || strstr(notice, CANNOT_START) == NULL)))
        return;
    if (node != NULL && sscanf(node, "on node %63s", e->host) != 1)
        return;
    l->told = e->silent = true;
    snprintf(e->why, sizeof e->why, "mpirun's connection to it has ended");
}

static int say_notice(struct launcher_notes *l)
{
    const char *notice = buf_text(&l->notice);
    const char *asked = strstr(notice, "satisfy the ");
    char shown[300], than[32] = "";
    int n;
    if (strstr(notice, "not enough slots") != NULL) {
        if (asked != NULL && sscanf(asked, "satisfy the %d", &n) == 1)
            snprintf(than, sizeof than, " than %d", n);
        return err_set(ERR_RANGE,
                       "the hosts have slots for fewer%s processes: fewer replicas, or slots=N "
                       "behind a host's name for N of them there",
                       than);
    }
    if (strstr(notice, CANNOT_START) != NULL)
        return err_set(ERR_IO, "mpirun cannot start on a host: each needs Open MPI (Debian and "
                               "Ubuntu: apt-get install openmpi-bin), and no firewall between "
                               "them");
    return err_set(ERR_IO, "mpirun: %s", file_show(shown, sizeof shown, notice));
}

static int end_without_word(struct launcher_notes *l, int status, int interrupts)
{
    if (interrupts > 0)
        return err_set(ERR_INTERRUPTED, "interrupted");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && l->notice.n == 0)
        return err_set(ERR_MISSING, "mpirun cannot be run");
    read_notice(l);
    take_told_to_end(l);
    read_lost_host(l);
    l->end.lost = l->told;
    if (!l->told && WIFSIGNALED(status)) {
        l->end.lost = true;
        gethostname(l->end.host, sizeof l->end.host - 1);
        name_signal(l, WTERMSIG(status));
    }
    if (l->end.lost)
        return say_loss(&l->end);
    if (l->start.apart)
        return err_set(ERR_IO, "the processes have not met in %d s", START_LIMIT_S + l->start.size);
    if (l->notice.n > 0)
        return say_notice(l);
    return err_set(ERR_IO, "the processes were ended (mpirun: status %d)", WEXITSTATUS(status));
}

/* "END CODE SENTENCE" */
int launcher_notes_end(struct launcher_notes *l, int status, int interrupts)
{
    char *text, *sentence;
    if (!l->ended)
        return end_without_word(l, status, interrupts);
    if (buf_char(&l->ending, '\0') != 0)
        return ERR_NOMEM;
    text = l->ending.data + 1;
    const long code = strtol(text, &sentence, 10);
    /* As mpirun ends the others it interrupts rank 0 too. */
    if (code == ERR_INTERRUPTED && interrupts == 0 && (l->told || l->notice.n > 0) && !is_pause(l))
        return end_without_word(l, status, 0);
    l->end.ran = true;
    sentence += *sentence == ' ';
    sentence[strcspn(sentence, "\r\n")] = '\0';
    l->end.paused = strcmp(sentence, PROCESSES_PAUSED) == 0;
    return code == 0 ? 0 : err_set((int)code, "%s", sentence);
}
