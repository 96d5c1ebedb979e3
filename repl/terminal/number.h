#ifndef PRATTLE_REPL_TERMINAL_NUMBER_H
#define PRATTLE_REPL_TERMINAL_NUMBER_H
/*
 * Numbers as people read them: 0.05, 1302.7, 1.73e7, 2.6e-5.
 */
#include "model/base/buf.h"

enum { NUMBER_TEXT = 48 };

/* x in so many significant digits, below a million in all of a whole
 * number's, from 1e6 and below 1e-3 with an exponent; out. */
const char *number_text(char out[NUMBER_TEXT], double x, int digits);
/* The same, always with an exponent: 5e-4, 1e-3, 1.5e-3. */
const char *number_power(char out[NUMBER_TEXT], double x, int digits);
/*
 * x and its standard error with the digits that the error justifies: two of the error, and the
 * value as far as these go; with one exponent, where the larger of both has one. Below the point
 * both end at the same digit: "3.212" and "0.013", "6.21e-5" and "0.13e-5", "1303" and "190".
 * An error of 0, or below the precision of x, says nothing: four digits of x.
 */
void number_pair(char value[NUMBER_TEXT], char error[NUMBER_TEXT], double x, double e);
/* What printf made of a number, without the sign and the zeros of its exponent; text. */
const char *number_shorten(char *text);
/* A count: "512", "26K", "7.1M", "1.6B"; out. */
const char *number_count(char out[NUMBER_TEXT], double n);

/*
 * Numbers below each other, each with a standard error or without: their points and their ± stand
 * below each other too. First each is added, then each is put.
 */
struct number_column {
    int whole, part, error_whole, error_part; /* columns on both sides of the points */
};
/* error NULL: there is none. */
void number_column_add(struct number_column *c, const char *value, const char *error);
int number_column_width(const struct number_column *c);
/* No spaces at the end. */
int number_column_put(struct buf *out, const struct number_column *c, const char *value,
                      const char *error);

#endif
