#include "repl/commands/train_scaling.h"

#include "model/base/clock.h"
#include "model/base/decimal.h"
#include "model/base/disk_speed.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/mem_room.h"
#include "model/base/par.h"
#include "repl/terminal/duration.h"
#include "repl/terminal/plot.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/parallel/jitter.h"
#include "train/parallel/link.h"
#include "train/parallel/world.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 65536, CURVE = 11 /* 1 to 1024 */, STREAM = 32 << 20 };

/* ---- words ---- */

static const struct cluster_word {
    const char *name;
    size_t offset;
    double unit, least, most;
} cluster_words[] = {
    {"link", offsetof(struct cluster, link), 1e9, 1e-6, 1e6},
    {"latency", offsetof(struct cluster, latency_s), 1e-6, 0, 1e9},
    {"disk", offsetof(struct cluster, disk), 1e9, 1e-6, 1e6},
    {"gflops", offsetof(struct cluster, flops), 1e9, 1e-6, 1e9},
    {"stream", offsetof(struct cluster, stream), 1e9, 1e-6, 1e6},
    {"rank_memory", offsetof(struct cluster, memory), 1e9, 1e-6, 1e9},
    {"jitter", offsetof(struct cluster, jitter), 1, 0, 1},
};

/* What stands behind NAME= in a word; NULL: another name. */
static const char *word_value(const char *word, const char *name)
{
    const size_t n = strlen(name);
    return strncmp(word, name, n) == 0 && word[n] == '=' ? word + n + 1 : NULL;
}

static int parse_number(double *out, const char *name, const char *text, double least, double most)
{
    char *end, from[DECIMAL_BYTES], to[DECIMAL_BYTES];
    *out = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(*out >= least && *out <= most))
        return err_set(ERR_RANGE, "%s must be %s to %s, not %s", name, decimal_show(from, least),
                       decimal_show(to, most), file_quote(text));
    return 0;
}

static const char LINK_AUTO[] = "link=auto", JITTER_AUTO[] = "jitter=auto";

static bool asks_for(const char *word, char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* By two processes at once what the words ask for. */
static int measure_two(struct cluster *k, char *const *words, int n)
{
    const bool link = asks_for(LINK_AUTO, words, n), jitter = asks_for(JITTER_AUTO, words, n);
    if (!link && !jitter)
        return 0;
    if (world_size() < 2)
        return err_set(ERR_RANGE,
                       "%s is auto, which is measured between two processes: mpirun -np 2 prattle "
                       "train CONFIG --plan ... %s",
                       link ? "link" : "jitter", link ? LINK_AUTO : JITTER_AUTO);
    const struct link_speed s = link ? link_measure() : (struct link_speed){.bytes_s = 1};
    k->link = s.bytes_s;
    k->latency_s = s.latency_s;
    k->jitter = jitter ? jitter_measure() : 0;
    return s.bytes_s > 0 && k->jitter >= 0 ? 0 : ERR_NOMEM;
}

/* *taken: it is one of a cluster. */
static int take_word(struct scaling_request *q, const char *word, bool *taken)
{
    const char *text;
    double ranks;
    *taken = true;
    if ((text = word_value(word, "plot")) != NULL) {
        q->plot = text;
        return 0;
    }
    if ((text = word_value(word, "ranks")) != NULL) {
        int rc = parse_number(&ranks, "ranks", text, 1, MOST_RANKS);
        if (rc == 0 && ranks != floor(ranks))
            rc = err_set(ERR_RANGE, "ranks must be a whole number, not %s", file_quote(text));
        q->cluster.ranks = rc == 0 ? (int)ranks : 0;
        return rc;
    }
    for (size_t i = 0; i < sizeof cluster_words / sizeof *cluster_words; i++) {
        const struct cluster_word *w = &cluster_words[i];
        if ((text = word_value(word, w->name)) == NULL)
            continue;
        double *to = (double *)((char *)&q->cluster + w->offset);
        if ((to == &q->cluster.link || to == &q->cluster.jitter) && strcmp(text, "auto") == 0)
            return 0;
        if (to == &q->cluster.disk && (q->measures_disk = strcmp(text, "auto") == 0))
            return 0;
        int rc = parse_number(to, w->name, text, w->least, w->most);
        *to *= w->unit;
        return rc;
    }
    *taken = false;
    return 0;
}

/* What a cluster is not without, some words of one being there. */
static int check_given(const struct scaling_request *q)
{
    if (q->cluster.ranks == 0)
        return err_set(ERR_RANGE, "ranks=N is missing: of how many processes the cluster is");
    if (q->cluster.ranks > 1 && q->cluster.link == 0)
        return err_set(ERR_RANGE, "link=GB/s is missing: how fast processes send to each other "
                                  "(under mpirun link=auto measures it)");
    return 0;
}

int train_scaling_words(struct scaling_request *q, char **words, int *n)
{
    const bool link = asks_for(LINK_AUTO, words, *n), jitter = asks_for(JITTER_AUTO, words, *n);
    /* Before anything is refused: the other rank is there already. */
    struct cluster found = {0};
    int rc = measure_two(&found, words, *n), kept = 0;
    bool any = false;
    for (int i = 0; i < *n && rc == 0; i++) {
        bool taken;
        rc = take_word(q, words[i], &taken);
        any |= taken;
        if (!taken)
            words[kept++] = words[i];
    }
    if (rc != 0)
        return rc;
    *n = kept;
    if (link) {
        q->cluster.link = found.link;
        q->cluster.latency_s = found.latency_s;
    }
    if (jitter)
        q->cluster.jitter = found.jitter;
    if ((link || jitter) && q->cluster.ranks == 0)
        q->cluster.ranks = world_size();
    if (any && (rc = check_given(q)) != 0)
        return rc;
    if (q->cluster.link == 0)
        q->cluster.link = INFINITY;
    return 0;
}

void train_scaling_follow(char *const *words, int n)
{
    struct cluster unused;
    if (world_rank() == 1 && measure_two(&unused, words, n) != 0)
        err_clear();
}

/* ---- this machine ---- */

static void copy_share(void *arg, int thread, int n_threads)
{
    char *block = arg;
    size_t first, n;
    par_split_units(STREAM / 2, 4096, thread, n_threads, &first, &n);
    memcpy(block + first, block + STREAM / 2 + first, n);
}

/* Bytes of memory a second, read and written, by the whole team. */
static double measure_stream(void)
{
    char *block = mem_map("stream", STREAM);
    double best_s = INFINITY;
    if (block == NULL)
        return INFINITY;
    memset(block, 1, STREAM);
    for (int i = 0; i < 5; i++) {
        const double begun = clock_s();
        par_run(copy_share, block);
        best_s = fmin(best_s, clock_s() - begun);
    }
    mem_unmap(block, STREAM);
    return STREAM / best_s;
}

/* Where the run would have its working files. */
static int measure_disk(double *bytes_per_s, const struct run_config *c)
{
    char *there = file_part_there(c->checkpoint.folder);
    int rc = there == NULL ? ERR_NOMEM : disk_speed_measure(bytes_per_s, there);
    mem_free(there);
    return rc;
}

/* What was not given is this machine's. */
static int complete_cluster(struct cluster *out, const struct scaling_request *q,
                            const struct run_config *c, double flops)
{
    struct cluster k = q->cluster;
    int rc = q->measures_disk ? measure_disk(&k.disk, c) : 0;
    if (k.flops == 0)
        k.flops = flops;
    if (k.stream == 0)
        k.stream = measure_stream();
    if (k.memory == 0)
        k.memory = (double)mem_limit_find().memory;
    if (k.disk == 0)
        k.disk = INFINITY;
    *out = k;
    return rc;
}

/* ---- what it comes to ---- */

struct scaling {
    struct scaling_run run;
    struct layout_slots slots; /* of the run's layouts */
    struct cluster k;
    double alone_s; /* one process */
};

/* "1.25 GB/s" */
static const char *speed_text(char out[32], double bytes)
{
    if (isinf(bytes))
        return "not counted";
    snprintf(out, 32, "%.3g GB/s", bytes / 1e9);
    return out;
}

static void say_cluster(const struct scaling *s)
{
    char link[32], disk[32], jitter[32] = "", line[400];
    if (s->k.jitter > 0)
        snprintf(jitter, sizeof jitter, "; jitter: %.2g", s->k.jitter);
    snprintf(line, sizeof line,
             "  %d processes, each of %.3g GFLOP/s in training, %.3g GB/s and %.3g GB of memory; "
             "link: %s, %.3g us; disk: %s%s",
             s->k.ranks, s->k.flops / 1e9, s->k.stream / 1e9, s->k.memory / 1e9,
             speed_text(link, s->k.link), s->k.latency_s * 1e6, speed_text(disk, s->k.disk),
             jitter);
    wrap_hanging("cluster", 0, 2);
    wrap_hanging(line, 0, 2);
}

/* Whole from 100 on. */
static const char *figure(char out[32], double x)
{
    snprintf(out, 32, x >= 99.95 ? "%.0f" : "%.3g", x);
    return out;
}

static void say_part(const char *part, double seconds, const char *note)
{
    char line[160], text[32];
    if (seconds <= 0)
        return;
    snprintf(line, sizeof line, "  %-10s %9s s%s%s", part, figure(text, seconds),
             *note == '\0' ? "" : "  ", note);
    wrap_hanging(line, 0, 2);
}

static int say_words(const struct scaling *s, const char *head, const char *between,
                     const struct scaling_layout *l)
{
    struct buf line = {0};
    int rc = buf_printf(&line, "%s%s", head, between);
    if (rc == 0 && (rc = scaling_words(&line, s->run.c, l)) == 0)
        wrap_hanging(buf_text(&line), 0, 2);
    buf_release(&line);
    return rc;
}

static double tokens_of(const struct scaling *s)
{
    const struct training_section *t = &s->run.c->training;
    return (double)t->global_batch_size * t->sequence_length;
}

static int say_layout(const struct scaling *s, const char *head, const struct scaling_layout *l)
{
    struct step_time t;
    double bytes;
    char line[240], step[32], rate[32], times[32], sent[32];
    int rc = scaling_time(&t, &s->run, &s->k, l);
    if (rc == 0)
        rc = scaling_memory(&bytes, &s->run, l);
    if (rc == 0)
        rc = say_words(s, head, ": ", l);
    if (rc != 0)
        return rc;
    const double all = step_time_total(&t);
    say_part("compute", t.compute, "");
    say_part("bubble", t.bubble, "stages that wait for each other");
    say_part("stages", t.stages, "activations sent between stages, not overlapped");
    say_part("sums", t.sums, "among shards: sent, and waited for");
    say_part("gradients", t.gradients,
             l->zero > 1 ? "sent, not overlapped with the backward pass" : "sent to the others");
    say_part("weights", t.weights, "each updated part sent to all");
    say_part("optimizer", t.optimizer, "");
    say_part("disk", t.disk, "waited for, and the step's share of a checkpoint");
    snprintf(line, sizeof line, "  %-10s %9s s  %s tokens/s, %s times one process (%.0f %%)",
             "a step", figure(step, all), figure(rate, tokens_of(s) / all),
             figure(times, s->alone_s / all), 100 * s->alone_s / all / s->k.ranks);
    wrap_hanging(line, 0, 2);
    snprintf(line, sizeof line, "  each process sends %s GB a step and has %.1f GiB of memory%s",
             figure(sent, t.sent / 1e9), bytes / 0x1p30,
             bytes > s->k.memory ? ": it does not fit" : "");
    wrap_hanging(line, 0, 2);
    return 0;
}

static int fits(bool *out, const struct scaling *s, const struct scaling_layout *l)
{
    double bytes;
    int rc = scaling_memory(&bytes, &s->run, l);
    *out = rc == 0 && bytes <= s->k.memory;
    return rc;
}

/* As the run's settings have it, where so many processes are a multiple of one replica's; else each
 * is a replica. */
static int given_layout(struct scaling_layout *out, const struct scaling *s)
{
    const struct execution_section *e = &s->run.c->execution;
    *out = (struct scaling_layout){0};
    int rc = layout_read(&out->over, e->layers_per_device, s->run.shape->n_layer);
    if (rc == 0)
        rc = layout_divide(&out->over, e->virtual_stages);
    if (rc != 0)
        return rc;
    out->over.tensor = e->tensor_parallel;
    if (s->k.ranks % (out->over.stages * out->over.tensor) != 0)
        layout_init(&out->over, s->run.shape->n_layer, 1);
    out->over.replicas = s->k.ranks / (out->over.stages * out->over.tensor);
    out->zero = out->over.replicas > 1 ? e->zero : 0;
    out->blocks = scaling_blocks(s->run.c, out->over.replicas);
    return 0;
}

static int find_alone(struct scaling *s)
{
    struct step_time t;
    struct scaling_layout one = {.blocks = s->run.c->training.gradient_blocks};
    layout_init(&one.over, s->run.shape->n_layer, 1);
    int rc = scaling_time(&t, &s->run, &s->k, &one);
    s->alone_s = step_time_total(&t);
    return rc;
}

/* ---- the curve ---- */

struct curve {
    double ranks[CURVE], times[CURVE];
    int n;
};

/* The best layouts of 1, 2, 4 ... processes, as far as the step is divided. */
static int find_curve(struct curve *out, const struct scaling *s)
{
    wrap_hanging("scaling: processes, times one process, efficiency, best layout", 0, 2);
    out->n = 0;
    for (int i = 0; i < CURVE; i++) {
        struct cluster k = s->k;
        struct scaling_layout l;
        struct step_time t;
        char head[80];
        bool enough;
        k.ranks = 1 << i;
        if (scaling_best(&l, &s->run, &k) != 0)
            break;
        int rc = scaling_time(&t, &s->run, &k, &l);
        if (rc == 0)
            rc = fits(&enough, s, &l);
        if (rc != 0)
            return rc;
        const double times = s->alone_s / step_time_total(&t);
        out->ranks[out->n] = k.ranks;
        out->times[out->n++] = times;
        snprintf(head, sizeof head, "  %5d %7.1f times  %3.0f %%%s", k.ranks, times,
                 100 * times / k.ranks, enough ? "" : "  does not fit:");
        if ((rc = say_words(s, head, enough ? "  " : " ", &l)) != 0)
            return rc;
    }
    return 0;
}

static int draw_curve(struct curve *v, const char *path, bool force)
{
    static const char times[] = "times one process";
    struct plot_series series[] = {
        {.name = times, .y_name = times, .x = v->ranks, .y = v->times, .n = v->n},
        {.name = "linear", .x = v->ranks, .y = v->ranks, .n = v->n},
    };
    struct buf picture = {0};
    const int width = term_width(stdout) - 1;
    int rc;
    if (path != NULL) {
        rc = plot_write(path, force, series, 2, "ranks");
        if (rc == 0)
            wrap_wrote(path, "");
        return rc;
    }
    rc = plot_draw(&picture, series, 2, "ranks", width,
                   plot_frame_rows(1, width, term_height(stdout)), term_utf8());
    if (rc == 0)
        fwrite(buf_text(&picture), 1, picture.n, stdout);
    buf_release(&picture);
    return rc;
}

static int show_scaling(struct scaling *s, const char *plot, bool force)
{
    struct scaling_layout best, given;
    struct curve curve;
    bool enough;
    int rc = find_alone(s);
    if (rc == 0)
        rc = given_layout(&given, s);
    s->run.given = &given;
    if (rc == 0)
        rc = scaling_best(&best, &s->run, &s->k);
    if (rc == 0)
        rc = fits(&enough, s, &best);
    if (rc != 0)
        return rc;
    say_cluster(s);
    if (given.blocks > 0 && memcmp(&given, &best, sizeof best) != 0)
        rc = say_layout(s, given.over.replicas == s->k.ranks ? "as replicas" : "as given", &given);
    if (rc == 0)
        rc = say_layout(s, enough ? "best layout" : "none fits; of least memory", &best);
    if (rc == 0)
        rc = find_curve(&curve, s);
    return rc == 0 && curve.n > 1 ? draw_curve(&curve, plot, force) : rc;
}

int train_scaling_show(const struct scaling_request *q, const struct run_config *c,
                       const struct config *shape, enum dtype held, double flops, bool force)
{
    struct scaling s = {.run = {c, shape, held, NULL, &s.slots}};
    int rc = complete_cluster(&s.k, q, c, flops);
    if (rc == 0)
        rc = show_scaling(&s, q->plot, force);
    layout_slots_release(&s.slots);
    return rc;
}
