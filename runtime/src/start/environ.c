#include "../internal.h"
#include <unistd.h>

FIRST_PAGE char **environ;
