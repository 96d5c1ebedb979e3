#ifndef PRATTLE_TRAIN_PREPARE_CSV_H
#define PRATTLE_TRAIN_PREPARE_CSV_H
/*
 * The texts of a column of CSV (RFC 4180): fields between commas, or what else a header has between
 * its names (; | or tabs, as always in .tsv files), in quotes
 * where they have commas, quotes (doubled) or line breaks. A quote inside of a field that begins
 * without one is a character like others (6" nails). The first record names the columns. A record
 * with text in more is refused: its commas are not all between fields. One with fewer has no text
 * in those at its end, as spreadsheets write them.
 */
#include "train/data/text_reader.h"

struct csv {
    const char *column; /* the name, or the number from 1; borrowed */
    char given;         /* '\t' of .tsv files; 0: the first record says it */
    char separator;     /* of the text in progress */
    int wanted;         /* the column's place, from 0; -1: the names were not read yet */
    int columns;        /* that have names */
    uint64_t records;
    struct text_splitter splitter;
};
void csv_init(struct csv *c, const char *column);
/* *given: as in struct csv. */
bool csv_is_name(const char *name, char *given);

/* The number of bytes of the record that begins n bytes of text, its line break with it; 0: it
 * does not end there. ends: the text ends with them, which *open says to be inside of quotes. */
size_t csv_record(const char *text, size_t n, char separator, bool ends, bool *open);
/* Append field `wanted` (from 0) of a record to out; *got false: it has fewer. ERR_NOMEM. */
int csv_field(struct buf *out, const char *record, size_t n, char separator, int wanted, bool *got);

#endif
