/* hub_server ROOT LOG [RULE ...]: tests/lib/hub_server.h as a program. Prints its port, and serves
 * until its standard input ends. */
#include "tests/lib/hub_server.h"

#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char byte;
    if (argc < 3)
        return 2;
    struct hub_server *s = hub_server_open(argv[1], argv[2]);
    for (int i = 3; i < argc; i++)
        hub_server_fault(s, argv[i]);
    printf("%d\n", hub_server_port(s));
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return 0;
}
