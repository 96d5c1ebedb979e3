#ifndef PRATTLE_WEIGHTS_HUB_NAME_H
#define PRATTLE_WEIGHTS_HUB_NAME_H
/*
 * Names of models on the Hugging Face Hub: "openai-community/gpt2", "distilgpt2@main". A revision
 * is a branch, a tag or a commit. Of a repository of GGUF files one is named as
 * "ORG/NAME/FILE.gguf", or by its quantization as "ORG/NAME:Q8_0".
 */
#include <stdbool.h>
#include <stddef.h>

#define HUB_MAIN "main"
enum { HUB_ID_BYTES = 97, HUB_REVISION_BYTES = 129, HUB_COMMIT_BYTES = 41, HUB_SHORT_COMMIT = 7 };
enum { HUB_FILE_BYTES = 201, HUB_QUANT_BYTES = 17 };

struct hub_name {
    char id[HUB_ID_BYTES]; /* "openai-community/gpt2", "gpt2" */
    char revision[HUB_REVISION_BYTES];
    bool given;                  /* the revision was written */
    char file[HUB_FILE_BYTES];   /* "": none was named */
    char quant[HUB_QUANT_BYTES]; /* the same */
};

/* ERR_RANGE: text is no such name, and why. */
int hub_name_read(struct hub_name *n, const char *text);
/* Whether text can only be meant for the Hub, where no file has that name: "ORG/NAME" without the
 * ending of a file, a name with a revision, or one that the Hub had before names had owners. */
bool hub_name_is(const char *text);
/* The other name of a model of that time: "gpt2" of "openai-community/gpt2", and the reverse; NULL:
 * there is none. */
const char *hub_name_other(const char *id);
/* 40 hexadecimal digits in lower case. */
bool hub_is_commit(const char *text);
/* Whether the file may be one of a model's folder: no folders in it, and nothing that leads out. */
bool hub_is_file_name(const char *name);

#endif
