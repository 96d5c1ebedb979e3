#ifndef PRATTLE_MODEL_BASE_DISK_FILE_H
#define PRATTLE_MODEL_BASE_DISK_FILE_H
/*
 * A file that is too large for memory, of which pieces are read and written (disk_queue.h): past
 * the page cache (O_DIRECT) where that is faster, never through a memory map. A file that another
 * program deletes stays readable; one that it cuts short gives an error.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pieces begin at such multiples in the file and in memory, and have room in memory for the last
 * unit as a whole. */
enum { DISK_UNIT = 4096 };
static inline uint64_t disk_round(uint64_t bytes)
{
    return (bytes + DISK_UNIT - 1) / DISK_UNIT * DISK_UNIT;
}

struct disk_file {
    int fd;     /* through the page cache */
    int direct; /* past it; -1: the file system cannot */
    bool use_direct;
    uint64_t bytes;
    char *name; /* for messages; owned */
};

/* Open a file for reading. Fails as file_open. */
int disk_file_open(struct disk_file *f, const char *path);
/*
 * Make a working file of so many bytes, readable and writable, in a folder. It has no name there:
 * it goes with its last descriptor, however the program ends. Its room on the disk is taken at
 * once: ERR_IO if there is none.
 */
int disk_file_make(struct disk_file *f, const char *folder, uint64_t bytes);
/* The same of a descriptor that is open for reading and writing, with a name for messages; takes it
 * over, also where it fails. ERR_NOMEM. */
int disk_file_take(struct disk_file *f, int fd, const char *name, uint64_t bytes);
/* Accepts NULL and a zeroed file. */
void disk_file_close(struct disk_file *f);

/* n bytes at an offset, both multiples of DISK_UNIT but for the end of the file; any thread may
 * call this. ERR_IO; ERR_FORMAT: the file ends before. */
int disk_file_read(const struct disk_file *f, char *to, uint64_t at, size_t n);
int disk_file_write(const struct disk_file *f, const char *from, uint64_t at, size_t n);

#endif
