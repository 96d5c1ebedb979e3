#ifndef PRATTLE_WEIGHTS_TENSORS_SNIFF_H
#define PRATTLE_WEIGHTS_TENSORS_SNIFF_H
/*
 * File sniffing: what stands where weights, a configuration or a vocabulary should: the pointer git
 * leaves without git-lfs, the web page of a failed download, a compressed file.
 */
#include "model/base/file.h"

/* 0, or ERR_FORMAT with a sentence that says what it is and what to do about it. */
int sniff_refuse(const struct file *f);
/* The same of a text that was read. */
int sniff_refuse_text(const char *text, size_t n);

#endif
