#ifndef PRATTLE_WEIGHTS_TENSORS_SNIFF_H
#define PRATTLE_WEIGHTS_TENSORS_SNIFF_H
/*
 * File sniffing: recognizes common files in the place of weights, a configuration or a vocabulary:
 * a git-lfs pointer, the web page of a failed download, a compressed file.
 */
#include "model/base/file.h"

/* 0, or ERR_FORMAT with a message that says what the file is and what to do. */
int sniff_refuse(const struct file *f);
/* The same for the n first bytes, or all, of a file. */
int sniff_refuse_text(const char *text, size_t n);

#endif
