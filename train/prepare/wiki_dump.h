#ifndef PRATTLE_TRAIN_PREPARE_WIKI_DUMP_H
#define PRATTLE_TRAIN_PREPARE_WIKI_DUMP_H
/*
 * The articles of a MediaWiki dump (pages-articles.xml; mediawiki.org/xml/export-0.11): pages of
 * namespace 0 that are no redirects. The file is parsed while it is read; of a page's revisions the
 * last counts. Each document is the title, when it was written, and the wiki text as it is, a line
 * break behind each of the first two.
 */
#include "train/data/text_reader.h"

struct XML_ParserStruct;

struct wiki_dump {
    struct XML_ParserStruct *parser; /* owned */
    struct buf title, text, ns, model, written;
    struct buf *into; /* which of these gets characters; NULL: none */
    bool redirect, ready, suspended, refused, too_long, no_memory;
    bool last; /* the parser has been told that the text ends */
    struct text_splitter splitter;
};
void wiki_dump_init(struct wiki_dump *d);
void wiki_dump_release(struct wiki_dump *d);
/* Whether n bytes begin a dump. */
bool wiki_dump_is(const char *head, size_t n);

#endif
