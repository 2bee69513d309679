#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    for (long long n = atoll(argv[1]); n > 0; n--)
        if (fputs("hello world\n", stdout) == EOF) return 1;
    return fflush(stdout) == 0 ? 0 : 1;
}
