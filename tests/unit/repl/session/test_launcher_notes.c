/* What is made of the last words of processes that were launched. */
#include "repl/session/launcher_notes.h"

#include "repl/session/processes.h"
#include "tests/lib/test.h"

#include <signal.h>

enum { KILLED = SIGKILL, FAILED = 1 << 8 }; /* as waitpid has them */

static const char RULE[] = "----------------------------------------\n";

static bool take(struct launcher_notes *l, const char *line)
{
    bool taken;
    assert_ok(launcher_notes_line(l, line, strlen(line), &taken));
    return taken;
}

/* A line of a rank's that tells of a loss. */
static void tell(struct launcher_notes *l, const char *text)
{
    char line[600];
    snprintf(line, sizeof line, "%c%s\n", PROCESSES_LOST, text);
    assert_true(take(l, line));
}

static void notice(struct launcher_notes *l, const char *text)
{
    assert_true(take(l, RULE));
    assert_true(take(l, text));
    assert_true(take(l, RULE));
}

static const char LOST_1[] =
    "mpirun noticed that process rank 1 with PID 0 on node there exited on "
    "signal 9 (Killed).\n";

static void a_signal_is_what_mpirun_says(void **state)
{
    struct launcher_notes l;
    (void)state;
    assert_ok(launcher_notes_begin(&l, 4));
    assert_false(take(&l, "a line for the user\n"));
    tell(&l, "1 1 there its process has ended");
    tell(&l, "saved 120");
    notice(&l, "Primary job  terminated normally, but 1 process returned\n");
    assert_false(l.last); /* others may still be at work */
    notice(&l, LOST_1);
    assert_true(l.last);
    assert_fails(launcher_notes_end(&l, FAILED, 0), ERR_IO,
                 "rank 1 (there) was lost: killed by signal 9");
    assert_true(l.end.lost && !l.end.silent && !l.end.ran);
    assert_int_equal(l.end.rank, 1);
    assert_int_equal(l.end.n, 1);
    assert_int_equal(l.end.saved, 120);
    launcher_notes_release(&l);
}

static void end_with_status(struct launcher_notes *l, const char *code)
{
    notice(l, "Primary job  terminated normally, but 1 process returned\n");
    assert_true(take(l, RULE));
    assert_true(take(l, "the job to be terminated. The first process to do so was:\n"));
    assert_true(take(l, "\n"));
    assert_true(take(l, "  Process name: [[3174,1],0]\n"));
    assert_true(take(l, code));
    assert_true(take(l, RULE));
}

/* All pause with it, and any may end first. */
static void one_that_was_told_to_end_is_lost(void **state)
{
    struct launcher_notes l;
    (void)state;
    assert_ok(launcher_notes_begin(&l, 4));
    l.ended = true;
    assert_ok(buf_str(&l.ending, "\x1e-6 paused\n"));
    tell(&l, "asked 2 there ended by signal 15");
    tell(&l, "asked 0 here ended by signal 15"); /* as a consequence */
    end_with_status(&l, "  Exit code:    130\n");
    assert_fails(launcher_notes_end(&l, FAILED, 0), ERR_IO,
                 "rank 2 (there) was lost: ended by signal 15");
    assert_true(l.end.lost && !l.end.silent);
    assert_int_equal(l.end.rank, 2);
    assert_int_equal(l.end.n, 1);
    launcher_notes_release(&l);
    /* Of one that was killed mpirun tells the others to end. */
    assert_ok(launcher_notes_begin(&l, 4));
    tell(&l, "asked 0 here ended by signal 15");
    notice(&l, LOST_1);
    assert_fails(launcher_notes_end(&l, FAILED, 0), ERR_IO,
                 "rank 1 (there) was lost: killed by signal 9");
    launcher_notes_release(&l);
}

static void one_that_is_interrupted_pauses_all(void **state)
{
    struct launcher_notes l;
    (void)state;
    assert_ok(launcher_notes_begin(&l, 4));
    l.ended = true;
    assert_ok(buf_str(&l.ending, "\x1e-6 paused\n"));
    end_with_status(&l, "  Exit code:    130\n");
    assert_int_equal(launcher_notes_end(&l, FAILED, 0), ERR_INTERRUPTED);
    assert_true(l.end.ran && l.end.paused && !l.end.lost);
    launcher_notes_release(&l);
}

/* mpirun names one that it has killed itself. */
static void of_a_silent_one_ranks_know_more(void **state)
{
    struct launcher_notes l;
    (void)state;
    assert_ok(launcher_notes_begin(&l, 4));
    tell(&l, "2 3 away it has not been heard of for 7 s");
    tell(&l, "0 1 here its process has ended"); /* as a consequence */
    notice(&l, LOST_1);
    assert_fails(
        launcher_notes_end(&l, FAILED, 0), ERR_IO,
        "rank 2 (away) and 2 more of its host were lost: it has not been heard of for 7 s");
    assert_true(l.end.lost && l.end.silent);
    assert_int_equal(l.end.rank, 2);
    assert_int_equal(l.end.n, 3);
    assert_int_equal(l.end.saved, -1);
    launcher_notes_release(&l);
}

static void mpirun_may_be_lost(void **state)
{
    struct launcher_notes l;
    (void)state;
    assert_ok(launcher_notes_begin(&l, 4));
    assert_fails(launcher_notes_end(&l, KILLED, 0), ERR_IO, "mpirun was lost: killed by signal 9");
    assert_true(l.end.lost);
    assert_int_equal(l.end.rank, -1);
    launcher_notes_release(&l);
}

static void an_end_in_words_is_no_loss(void **state)
{
    static const char own[] = "\x1e-3 not a text\n", paused[] = "\x1e-6 paused\n";
    struct launcher_notes l;
    (void)state;
    assert_ok(launcher_notes_begin(&l, 4));
    l.ended = true;
    assert_ok(buf_str(&l.ending, own));
    assert_fails(launcher_notes_end(&l, FAILED, 0), ERR_FORMAT, "not a text");
    assert_true(l.end.ran && !l.end.lost);
    launcher_notes_release(&l);
    /* After Ctrl-C, and where mpirun has interrupted it. */
    for (int interrupts = 0; interrupts < 2; interrupts++) {
        assert_ok(launcher_notes_begin(&l, 4));
        l.ended = true;
        assert_ok(buf_str(&l.ending, paused));
        tell(&l, "1 1 there its process has ended");
        assert_int_equal(launcher_notes_end(&l, FAILED, interrupts),
                         interrupts > 0 ? ERR_INTERRUPTED : ERR_IO);
        assert_int_equal(l.end.lost, interrupts == 0);
        launcher_notes_release(&l);
    }
}

static void other_words_are_shown(void **state)
{
    struct launcher_notes l;
    (void)state;
    assert_ok(launcher_notes_begin(&l, 4));
    tell(&l, "what is this");
    tell(&l, "");
    notice(&l, "There is no such thing.\n");
    notice(&l, "That is all.\n");
    assert_fails(launcher_notes_end(&l, FAILED, 0), ERR_IO,
                 "mpirun: There is no such thing. That is all.");
    assert_false(l.end.lost);
    launcher_notes_release(&l);
}

static void some_are_said_plainly(void **state)
{
    static const char cannot_start[] = "ORTE was unable to reliably start one or more daemons.\n";
    struct launcher_notes l;
    (void)state;
    assert_ok(launcher_notes_begin(&l, 4));
    notice(&l, "There are not enough slots available in the system\n");
    assert_fails(launcher_notes_end(&l, FAILED, 0), ERR_RANGE,
                 "the hosts have slots for fewer processes: fewer replicas, or slots=N behind a "
                 "host's name for N of them there");
    launcher_notes_release(&l);
    assert_ok(launcher_notes_begin(&l, 4));
    notice(&l, "There are not enough slots available in the system to satisfy the 4\n");
    notice(&l, "slots that were requested by the application:\n");
    assert_fails(launcher_notes_end(&l, FAILED, 0), ERR_RANGE,
                 "the hosts have slots for fewer than 4 processes: fewer replicas, or slots=N "
                 "behind a host's name for N of them there");
    launcher_notes_release(&l);
    assert_ok(launcher_notes_begin(&l, 4));
    notice(&l, cannot_start);
    assert_fails(launcher_notes_end(&l, 127 << 8, 0), ERR_IO,
                 "mpirun cannot start on a host: each needs Open MPI (Debian and Ubuntu: apt-get "
                 "install openmpi-bin), and no firewall between them");
    assert_false(l.end.lost);
    launcher_notes_release(&l);
    /* The same words, once ranks were there. */
    assert_ok(launcher_notes_begin(&l, 4));
    l.begun = true;
    notice(&l, cannot_start);
    assert_fails(launcher_notes_end(&l, FAILED, 0), ERR_IO,
                 "a host was lost: mpirun's connection to it has ended");
    assert_true(l.end.lost && l.end.silent);
    launcher_notes_release(&l);
    assert_ok(launcher_notes_begin(&l, 4));
    assert_true(take(&l, "[red:00361] plm:rsh: Warning: setpgid(386,386) failed in parent\n"));
    assert_false(take(&l, "[red:00361] something else\n"));
    notice(&l, "HNP daemon   : [[1,0],0] on node red Remote daemon: [[1,0],2] on node blue This\n");
    assert_fails(launcher_notes_end(&l, FAILED, 0), ERR_IO,
                 "host blue was lost: mpirun's connection to it has ended");
    assert_int_equal(l.end.rank, -1);
    launcher_notes_release(&l);
}

/* What is said by a host that was cut off, once it is back, comes before rank 0's word or behind.
 */
static void one_that_is_cut_off_misses_rank_0(void **state)
{
    struct launcher_notes l;
    (void)state;
    for (int first = 0; first < 2; first++) {
        assert_ok(launcher_notes_begin(&l, 4));
        tell(&l, first == 0 ? "0 1 red it has not been heard of"
                            : "1 1 green it has not been heard of");
        tell(&l, first == 0 ? "1 1 green it has not been heard of"
                            : "0 1 red it has not been heard of");
        assert_fails(launcher_notes_end(&l, FAILED, 0), ERR_IO,
                     "rank 1 (green) was lost: it has not been heard of");
        launcher_notes_release(&l);
    }
}

/* Looked at every fifth of a second for so many seconds, while the others give word: the rank that
 * is missed, and after how many. */
static int miss(struct launcher_start *s, double *now_s, int seconds, const char *words[], int n)
{
    for (int i = 0; i < seconds * 5; i++, *now_s += 0.2) {
        for (int w = 0; w < n && i % 5 == 0; w++)
            assert_true(launcher_start_take(s, words[w]));
        const int rank = launcher_start_silent(s, *now_s);
        if (rank >= 0)
            return rank;
    }
    return -1;
}

static void one_may_be_silent_as_it_starts(void **state)
{
    const char *all[] = {"here 0 red\n", "here 1 red\n", "here 2 blue\n"};
    struct launcher_start s;
    double now_s = 1000, began_s;
    (void)state;
    assert_ok(launcher_start_begin(&s, 3));
    assert_false(launcher_start_take(&s, "2 1 blue its process has ended"));
    assert_false(launcher_start_take(&s, "here 3 blue\n"));
    assert_false(launcher_start_take(&s, "here -1 blue\n"));
    assert_int_equal(miss(&s, &now_s, 30, all, 2), -1); /* it may take long to come */
    assert_false(launcher_start_is_ready(&s));
    assert_int_equal(miss(&s, &now_s, 30, all, 3), -1);
    assert_true(launcher_start_is_ready(&s));
    began_s = now_s;
    assert_int_equal(miss(&s, &now_s, 30, all, 2), 2);
    assert_true(now_s - began_s > 5 && now_s - began_s < 8);
    assert_string_equal(s.ranks[2].host, "blue");
    assert_int_equal(miss(&s, &now_s, 6, all, 3), -1);
    now_s += 1000; /* this process was stopped */
    assert_int_equal(miss(&s, &now_s, 5, all, 2), -1);
    assert_int_equal(miss(&s, &now_s, 2, all, 3), -1);
    assert_int_equal(miss(&s, &now_s, 30, all, 0), -1); /* mpirun is, which passes on their words */
    assert_true(launcher_start_take(&s, "met 2 blue"));
    assert_int_equal(miss(&s, &now_s, 30, all, 2), -1);
    assert_false(s.apart);
    assert_true(launcher_start_take(&s, "apart 1 red\n"));
    assert_true(s.apart);
    launcher_start_release(&s);
}

static void they_may_not_meet(void **state)
{
    struct launcher_notes l;
    (void)state;
    assert_ok(launcher_notes_begin(&l, 4));
    tell(&l, "here 0 red");
    tell(&l, "apart 0 red");
    end_with_status(&l, "  Exit code:    1\n");
    assert_fails(launcher_notes_end(&l, FAILED, 0), ERR_IO, "the processes have not met in 124 s");
    assert_false(l.end.lost);
    launcher_notes_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_is_what_mpirun_says),
        cmocka_unit_test(one_that_was_told_to_end_is_lost),
        cmocka_unit_test(one_that_is_interrupted_pauses_all),
        cmocka_unit_test(of_a_silent_one_ranks_know_more),
        cmocka_unit_test(mpirun_may_be_lost),
        cmocka_unit_test(an_end_in_words_is_no_loss),
        cmocka_unit_test(other_words_are_shown),
        cmocka_unit_test(some_are_said_plainly),
        cmocka_unit_test(one_that_is_cut_off_misses_rank_0),
        cmocka_unit_test(one_may_be_silent_as_it_starts),
        cmocka_unit_test(they_may_not_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
