#include "train/prepare/own_output.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

bool own_output_is(const struct data_source *s, enum output_format f, char *const *paths, int n)
{
    char *own = s->inside ? data_source_file(s) : NULL, *file;
    bool is = false;
    for (int i = 0; i < n && own != NULL; i++)
        for (int k = 0; (file = output_file(f, paths[i], k)) != NULL; k++) {
            is |= file_is_same(file, own);
            mem_free(file);
        }
    mem_free(own);
    return is;
}

int own_output_refuse(const char *path)
{
    return file_refuse(ERR_EXISTS, path,
                       "would be read and written: name the files to read, or another OUT");
}
