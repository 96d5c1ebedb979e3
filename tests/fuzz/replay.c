/* Runs every file of a corpus folder through the fuzz target it is linked with: the
 * corpus as a plain regression, without libFuzzer. */
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    if (dir == NULL) {
        fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
        return 2;
    }
    int n = 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (f == NULL)
            continue;
        fseek(f, 0, SEEK_END);
        long size = ftell(f);
        rewind(f);
        uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
        if (data != NULL && fread(data, 1, (size_t)size, f) == (size_t)size) {
            LLVMFuzzerTestOneInput(data, (size_t)size);
            printf("ok %d - %s\n", ++n, e->d_name);
        }
        free(data);
        fclose(f);
    }
    closedir(dir);
    return n == 0;
}
