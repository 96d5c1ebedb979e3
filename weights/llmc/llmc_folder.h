#ifndef PRATTLE_WEIGHTS_LLMC_LLMC_FOLDER_H
#define PRATTLE_WEIGHTS_LLMC_LLMC_FOLDER_H
/* llm.c's model in a folder: files of any name in .bin that begin as one. */

/*
 * *out in new memory: the only one, or the last one that a run of llm.c has saved
 * (model_00019560.bin); NULL: there is none. ERR_UNSUPPORTED: several, which are named; ERR_IO,
 * ERR_NOMEM.
 */
int llmc_find(char **out, const char *folder);

#endif
