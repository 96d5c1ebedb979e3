#include "repl/bench/spec_run.h"

#include "model/base/child.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "repl/bench/spec_words.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

/* Settings of the session that the command has too. */
struct passed {
    const struct spec_setting *all[SPEC_SETTINGS];
    char *words[SPEC_SETTINGS]; /* [n]; owned */
    int n;
};

/* "--threads 2", "--threads=2", "-t 2", "-t2" */
static bool has_option(const char *command, const struct setting *row)
{
    for (const char *at = command; *at != '\0'; at += strcspn(at, " \t\n")) {
        char name[64];
        at += strspn(at, " \t\n");
        const size_t dashes = strspn(at, "-");
        const size_t n = dashes == 1 ? 1 : strcspn(at + dashes, "= \t\n");
        snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : (int)sizeof name - 1,
                 at + dashes);
        if (dashes > 0 && setting_called(row, name))
            return true;
    }
    return false;
}

static int choose_passed(struct passed *p, const struct spec_run *how, const struct spec_entry *e)
{
    *p = (struct passed){.n = 0};
    for (int i = 0; i < how->n_settings; i++) {
        const struct spec_setting *s = &how->settings[i];
        if (has_option(e->command, s->row))
            continue;
        p->all[p->n] = s;
        p->words[p->n] = mem_sprintf("--%s=%s", s->row->name, buf_text(&s->value));
        if (p->words[p->n++] == NULL)
            return ERR_NOMEM;
    }
    return 0;
}

static void release_passed(struct passed *p)
{
    for (int i = 0; i < p->n; i++)
        mem_free(p->words[i]);
}

/* The words of the program itself: what the specification says, nothing downloaded, and for a run
 * of training a folder that is made anew, and no other program (wandb, or what mpirun starts on
 * other hosts), whatever its own configuration says. */
static int make_words(char **out, char *const *argv, const char *name, char *folder_word,
                      const struct passed *passed)
{
    const bool trains = strcmp(argv[1], "train") == 0;
    int n = 0;
    out[n++] = (char *)(uintptr_t)name;
    out[n++] = argv[1];
    for (int i = 2; argv[i] != NULL; i++)
        out[n++] = argv[i];
    if (trains) {
        out[n++] = folder_word;
        out[n++] = (char *)(uintptr_t) "wandb=off";
        out[n++] = (char *)(uintptr_t) "hosts=";
    }
    for (int i = 0; i < passed->n; i++)
        out[n++] = passed->words[i];
    out[n++] = (char *)(uintptr_t) "--offline=on";
    return n;
}

static int run_once(double *values, const struct spec_entry *e, const json_t *variant,
                    char *const *argv, const struct passed *passed)
{
    /* A checkpoint is large, and /tmp often lies in memory. */
    const char *set = getenv("TMPDIR");
    const char *temp = set != NULL ? set : access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
    char *folder = mem_sprintf("%s/prattle-bench-XXXXXX", temp);
    char *words[SPEC_WORDS + 5 + SPEC_SETTINGS] = {NULL}, name[64];
    struct buf out = {0};
    if (folder == NULL)
        return ERR_NOMEM;
    if (mkdtemp(folder) == NULL) {
        const int rc = err_errno("cannot make a folder in %s", temp);
        mem_free(folder);
        return rc;
    }
    char *folder_word = mem_sprintf("folder=%s/run", folder);
    snprintf(name, sizeof name, "prattle %s", argv[1]);
    make_words(words, argv, name, folder_word, passed);
    int rc = folder_word == NULL
                 ? ERR_NOMEM
                 : child_run(&out, name, "/proc/self/exe", words, NULL, CHILD_MERGES);
    if (rc == 0)
        rc = spec_figures(values, e, variant, buf_text(&out), out.n);
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    mem_free(folder_word);
    mem_free(folder);
    buf_release(&out);
    return rc;
}

/* The name the system gives its processor; "" where it does not say. */
static void find_cpu(char *out, size_t n)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");
    *out = '\0';
    while (f != NULL && *out == '\0' && fgets(line, sizeof line, f) != NULL) {
        const char *value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (value != NULL)
            snprintf(out, n, "%.*s", (int)strcspn(value + 1 + strspn(value + 1, " "), "\n"),
                     value + 1 + strspn(value + 1, " "));
    }
    if (f != NULL)
        fclose(f);
}

static json_t *text_value(const char *s)
{
    return json_of_text(s, strlen(s));
}

static json_t *new_record(const struct spec_run *how, const struct spec_entry *e,
                          const json_t *variant, const struct passed *passed)
{
    char date[32], host[256] = "", cpu[200];
    const time_t t = time(NULL);
    struct tm utc;
    gmtime_r(&t, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    gethostname(host, sizeof host - 1);
    find_cpu(cpu, sizeof cpu);
    char *path = realpath(how->path, NULL);
    json_t *parameters = json_copy((json_t *)(uintptr_t)variant);
    if (strstr(e->command, "{model}") != NULL)
        json_object_set_new(parameters, "model", text_value(how->model));
    for (int i = 0; i < passed->n; i++)
        if (json_object_get(parameters, passed->all[i]->row->name) == NULL)
            json_object_set_new(parameters, passed->all[i]->row->name,
                                text_value(buf_text(&passed->all[i]->value)));
    json_t *o = json_pack(
        "{s:s, s:o, s:o, s:i, s:o, s:s, s:o, s:s, s:o}", "date", date, "machine",
        text_value(*host == '\0' ? "unknown" : host), "cpu", text_value(cpu), "threads",
        par_threads(), "spec", text_value(path == NULL ? how->path : path), "benchmark", e->name,
        "parameters", parameters, "command", e->command, "figures", json_object());
    free(path);
    json_t *figures = json_object_get(o, "figures");
    for (int i = 0; i < e->n_figures; i++)
        if (e->figures[i].shown)
            json_object_set_new(figures, e->figures[i].name,
                                json_pack("{s:s, s:[]}", "unit", e->figures[i].unit, "values"));
    return o;
}

static int add_values(json_t *record, const struct spec_entry *e, const double *values)
{
    for (int i = 0; i < e->n_figures; i++) {
        json_t *figure = json_object_get(json_object_get(record, "figures"), e->figures[i].name);
        if (figure != NULL &&
            json_array_append_new(json_object_get(figure, "values"), json_real(values[i])) != 0)
            return err_set(ERR_NOMEM, "no memory for the record of a result");
    }
    return 0;
}

int spec_run(json_t **record, const struct spec_run *how, const struct spec_entry *e,
             const json_t *variant)
{
    char **argv = NULL;
    struct passed passed;
    const int repeats = how->repeats > 0 ? how->repeats : e->repeats;
    int done = 0, rc = choose_passed(&passed, how, e);
    if (rc == 0)
        rc = spec_words(&argv, e->command, variant, how->model);
    *record = rc == 0 ? new_record(how, e, variant, &passed) : NULL;
    if (rc == 0 && *record == NULL)
        rc = err_set(ERR_NOMEM, "no memory for the record of a result");
    for (int i = -e->warmup; i < repeats && rc == 0; i++) {
        double values[SPEC_FIGURES];
        rc = progress_step(how->progress, how->label, (uint64_t)(i + e->warmup),
                           (uint64_t)(repeats + e->warmup));
        if (rc == 0)
            rc = run_once(values, e, variant, argv, &passed);
        if (rc == 0 && i >= 0 && (rc = add_values(*record, e, values)) == 0)
            done++;
    }
    spec_free_words(argv);
    release_passed(&passed);
    if (rc != 0 && (rc != ERR_INTERRUPTED || done == 0)) {
        json_decref(*record);
        *record = NULL;
    }
    return rc;
}
