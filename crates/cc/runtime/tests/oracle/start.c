/* Arguments, environment, auxiliary vector, alignment, constructors. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static int constructed;

__attribute__((constructor)) static void construct(void)
{
    constructed++;
}

/* Destructors run after the functions that atexit registered, from the last to the first. */
__attribute__((destructor(200))) static void destroy_last(void)
{
    printf("destroyed last\n");
}

__attribute__((destructor)) static void destroy(void)
{
    printf("destroyed\n");
}

static void at_exit(void)
{
    printf("at exit\n");
}

int main(int argc, char **argv, char **envp)
{
    static char *nothing[1];
    _Alignas(16) char aligned[16];
    printf("%d %d %d\n", constructed, (int)((uintptr_t)aligned % 16), argv[argc] == NULL);
    for (int i = 1; i < argc; i++)
        printf("[%s]\n", argv[i]);
    for (int i = 0; envp[i]; i++)
        printf("<%s>\n", envp[i]);
    printf("%d\n", envp == environ);
    printf("%d %d\n", getauxval(AT_PAGESZ) >= 4096, strstr((const char *)getauxval(AT_EXECFN), argv[0]) != NULL);
    printf("%lu\n", getauxval(9999));
    environ = nothing; /* getauxval must still find the auxiliary vector */
    printf("%d\n", getauxval(AT_PAGESZ) >= 4096);
    atexit(at_exit);
    return argc;
}
