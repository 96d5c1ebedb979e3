/* Names are looked up all at once, and Ctrl-C ends it. */
#include "repl/session/lookup.h"

#include "model/base/progress.h"
#include "tests/lib/test.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOGETHER = 40 };

/* ---- a name server ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int together;

/* Instead of the C library's: "together" is answered once TOGETHER ask for it, "silent" never,
 * "10-0-0-7" with that address, and others are not known. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
    unsigned a, b, c, d;
    struct {
        struct addrinfo info;
        struct sockaddr_in address;
    } * found;
    (void)service, (void)hints;
    while (strcmp(name, "silent") == 0)
        pause();
    if (strcmp(name, "together") == 0) {
        pthread_mutex_lock(&lock);
        together++;
        pthread_cond_broadcast(&changed);
        while (together < TOGETHER)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        name = "10-0-0-1";
    }
    if (sscanf(name, "%u-%u-%u-%u", &a, &b, &c, &d) != 4)
        return EAI_NONAME;
    found = calloc(1, sizeof *found);
    found->address.sin_addr.s_addr = htonl(a << 24 | b << 16 | c << 8 | d);
    found->info.ai_addr = (struct sockaddr *)(void *)&found->address;
    *out = &found->info;
    return 0;
}

void freeaddrinfo(struct addrinfo *found)
{
    free(found);
}

/* ---- tests ---- */

static void check_address(const struct lookup *l, const char *want)
{
    char text[INET_ADDRSTRLEN];
    assert_int_equal(l->found, want != NULL);
    if (want != NULL)
        assert_string_equal(inet_ntop(AF_INET, &l->address, text, sizeof text), want);
}

static void check_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void each_has_its_own(void **state)
{
    struct lookup l[200] = {0};
    char want[64];
    (void)state;
    for (int i = 0; i < 200; i++)
        snprintf(l[i].name, sizeof l->name,
                 i % 7 == 0   ? "nobody%d"
                 : i % 7 == 1 ? "192.168.0.%d"
                              : "10-0-1-%d",
                 i);
    assert_ok(lookup_names(l, 200));
    for (int i = 0; i < 200; i++) {
        snprintf(want, sizeof want, i % 7 == 1 ? "192.168.0.%d" : "10.0.1.%d", i);
        check_address(&l[i], i % 7 == 0 ? NULL : want);
    }
    check_no_child();
}

/* One after another they would wait for ever. */
static void all_are_asked_at_once(void **state)
{
    struct lookup l[TOGETHER] = {0};
    (void)state;
    for (int i = 0; i < TOGETHER; i++)
        strcpy(l[i].name, "together");
    assert_ok(lookup_names(l, TOGETHER));
    for (int i = 0; i < TOGETHER; i++)
        check_address(&l[i], "10.0.0.1");
    check_no_child();
}

static void interrupt(int sig)
{
    (void)sig;
    interrupt_raise();
}

static void ctrl_c_ends_it(void **state)
{
    struct lookup l[] = {{.name = "silent"}, {.name = "10-0-0-2"}};
    (void)state;
    signal(SIGUSR1, interrupt);
    const pid_t parent = getpid(), presser = fork();
    if (presser == 0) {
        usleep(200000);
        kill(parent, SIGUSR1);
        _exit(0);
    }
    assert_fails(lookup_names(l, 2), ERR_INTERRUPTED, "interrupted");
    waitpid(presser, NULL, 0);
    interrupt_clear();
    check_no_child();
}

static void numbers_need_no_server(void **state)
{
    struct lookup l[] = {{.name = "10.1.2.3"}, {.name = "silent", .found = true}};
    (void)state;
    assert_ok(lookup_names(l, 2));
    check_address(&l[0], "10.1.2.3");
    assert_ok(lookup_names(l, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_own),
        cmocka_unit_test(all_are_asked_at_once),
        cmocka_unit_test(ctrl_c_ends_it),
        cmocka_unit_test(numbers_need_no_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
