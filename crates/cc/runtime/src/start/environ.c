#include "../internal.h"
#include <unistd.h>

FIRST_PAGE char **environ;

static void set(int argc, char **argv, char **envp)
{
    (void)argc, (void)argv;
    environ = envp;
}

static constructor *const first FIRST_CONSTRUCTOR = set;
