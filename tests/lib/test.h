#ifndef PRATTLE_TESTS_TEST_H
#define PRATTLE_TESTS_TEST_H
/* What every cmocka test includes. One file a module: tests/unit/<room>/test_<module>.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/base/err.h"

/* rc is 0, else fail with the sentence. */
#define assert_ok(rc)                                                                              \
    do {                                                                                           \
        int rc_ = (rc);                                                                            \
        if (rc_ != 0)                                                                              \
            fail_msg("%s: %d: %s", #rc, rc_, err_text());                                          \
    } while (0)

/* rc is this failure, or any, and the sentence has this part. */
#define assert_fails(rc, code, part)                                                               \
    do {                                                                                           \
        assert_int_equal(rc, code);                                                                \
        if (strstr(err_text(), part) == NULL)                                                      \
            fail_msg("\"%s\" does not say \"%s\"", err_text(), part);                              \
    } while (0)
#define assert_says(rc, part)                                                                      \
    do {                                                                                           \
        assert_int_not_equal(rc, 0);                                                               \
        if (strstr(err_text(), part) == NULL)                                                      \
            fail_msg("\"%s\" does not say \"%s\"", err_text(), part);                              \
    } while (0)

/* The greater of two differences; NaN if one is. */
static inline double worse(double a, double b)
{
    return b <= a ? a : b;
}

#endif
