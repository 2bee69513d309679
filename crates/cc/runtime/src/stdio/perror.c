#include "stream.h"
#include <string.h>

void perror(const char *subject)
{
    int number = errno;
    bool named = subject && *subject;
    fprintf(stderr, "%s%s%s\n", named ? subject : "", named ? ": " : "", strerror(number));
    errno = number;
}
