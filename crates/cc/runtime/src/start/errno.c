#include "../internal.h"

FIRST_PAGE int errno;
