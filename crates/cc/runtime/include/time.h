#ifndef _TIME_H
#define _TIME_H

#include <bits_types.h>
#include <stddef.h>

#ifndef __FB_TIME_T
#define __FB_TIME_T
typedef __INT64_TYPE__ time_t; /* 64 bits on every architecture */
#endif
typedef long clock_t;
typedef int clockid_t;

#ifndef __FB_TIMESPEC
#define __FB_TIMESPEC
/* The kernel's struct __kernel_timespec. On i386 the upper half of tv_nsec is padding. */
struct timespec {
    time_t tv_sec;
    long tv_nsec;
#if __SIZEOF_LONG__ == 4
    int : 32;
#endif
};
#endif

#define CLOCKS_PER_SEC 1000000L
#define TIME_UTC 1
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_PROCESS_CPUTIME_ID 2
#define CLOCK_THREAD_CPUTIME_ID 3
#define CLOCK_MONOTONIC_RAW 4
#define CLOCK_REALTIME_COARSE 5
#define CLOCK_MONOTONIC_COARSE 6
#define CLOCK_BOOTTIME 7

struct tm {
    int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
};

clock_t clock(void);
int clock_gettime(clockid_t, struct timespec *);
double difftime(time_t, time_t);
int nanosleep(const struct timespec *, struct timespec *);
time_t time(time_t *);
int timespec_get(struct timespec *, int);

struct tm *gmtime(const time_t *) __FB_MISSING("no calendar: time() counts seconds");
struct tm *localtime(const time_t *) __FB_MISSING("no time zones: use a full C library");
time_t mktime(struct tm *) __FB_MISSING("no time zones: use a full C library");
size_t strftime(char *__restrict__, size_t, const char *__restrict__, const struct tm *__restrict__) __FB_MISSING("no calendar or locales");
char *asctime(const struct tm *) __FB_MISSING("no calendar: time() counts seconds");
char *ctime(const time_t *) __FB_MISSING("no calendar: time() counts seconds");

#endif
