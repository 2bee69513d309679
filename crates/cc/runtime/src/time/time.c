#include "../internal.h"
#include <time.h>

time_t time(time_t *into)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into)
        *into = now.tv_sec;
    return now.tv_sec;
}

clock_t clock(void)
{
    struct timespec used;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used))
        return -1;
    return (clock_t)(used.tv_sec * CLOCKS_PER_SEC + used.tv_nsec / 1000);
}

int timespec_get(struct timespec *into, int base)
{
    return base == TIME_UTC && !clock_gettime(CLOCK_REALTIME, into) ? base : 0;
}

double difftime(time_t later, time_t earlier)
{
    return (double)(later - earlier);
}
