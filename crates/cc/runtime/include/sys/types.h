#ifndef _SYS_TYPES_H
#define _SYS_TYPES_H

#include <bits_types.h>
#include <stddef.h>

typedef __fb_ssize ssize_t;
typedef __fb_off off_t;
typedef int pid_t;
typedef unsigned uid_t;
typedef unsigned gid_t;
typedef unsigned mode_t;
typedef __UINT64_TYPE__ dev_t;
typedef __UINT64_TYPE__ ino_t;
typedef __UINT64_TYPE__ nlink_t;
typedef __INT64_TYPE__ blksize_t;
typedef __INT64_TYPE__ blkcnt_t;
#ifndef __FB_TIME_T
#define __FB_TIME_T
typedef __INT64_TYPE__ time_t;
#endif

#endif
