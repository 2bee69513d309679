#include "../internal.h"
#include <time.h>
#include <unistd.h>

int nanosleep(const struct timespec *wanted, struct timespec *rest)
{
    return (int)__fb_return(syscall4(SYS_clock_nanosleep, CLOCK_REALTIME, 0, wanted, rest));
}

unsigned sleep(unsigned seconds)
{
    struct timespec time = {.tv_sec = seconds};
    return nanosleep(&time, &time) ? (unsigned)time.tv_sec : 0;
}

int usleep(unsigned microseconds)
{
    struct timespec time = {.tv_sec = microseconds / 1000000, .tv_nsec = (long)(microseconds % 1000000) * 1000};
    return nanosleep(&time, NULL);
}
