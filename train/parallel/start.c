#include "train/parallel/start.h"

#include "model/base/err.h"
#include "model/base/file.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
    struct start_config config;
    void (*say)(int fd, enum start_word word, int rank);
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool begun, over;
} start = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void give_word(enum start_word word)
{
    const struct start_config *c = &start.config;
    char text[160];
    if (start.say != NULL) {
        start.say(c->said_to, word, c->rank);
        return;
    }
    if (word != START_APART)
        return;
    const int n =
        snprintf(text, sizeof text, "prattle: rank %d has not met the others in %d s, and ends\n",
                 c->rank, c->limit_s);
    if (file_write_fd(c->said_to, text, (size_t)n) != 0)
        err_clear();
}

/* Counted by its own seconds: those for which all are stopped are none. */
static void *watch(void *unused)
{
    pthread_mutex_lock(&start.lock);
    for (int s = 0; !start.over; s++) {
        struct timespec next;
        if (s >= start.config.limit_s) {
            give_word(START_APART);
            _exit(1);
        }
        give_word(START_HERE);
        clock_gettime(CLOCK_MONOTONIC, &next);
        next.tv_sec++;
        while (!start.over && pthread_cond_timedwait(&start.changed, &start.lock, &next) == 0)
            ;
    }
    pthread_mutex_unlock(&start.lock);
    return unused;
}

void start_say_by(void (*say)(int fd, enum start_word word, int rank))
{
    start.say = say;
}

void start_begin(const struct start_config *c)
{
    pthread_condattr_t by_clock;
    start.config = *c;
    start.over = false;
    pthread_condattr_init(&by_clock);
    pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
    pthread_cond_init(&start.changed, &by_clock);
    pthread_condattr_destroy(&by_clock);
    start.begun = pthread_create(&start.thread, NULL, watch, NULL) == 0;
    if (!start.begun) {
        give_word(START_HERE);
        give_word(START_MET);
    }
}

void start_end(void)
{
    if (!start.begun)
        return;
    pthread_mutex_lock(&start.lock);
    start.over = true;
    pthread_cond_signal(&start.changed);
    pthread_mutex_unlock(&start.lock);
    pthread_join(start.thread, NULL);
    pthread_cond_destroy(&start.changed);
    start.begun = false;
    give_word(START_MET);
}
