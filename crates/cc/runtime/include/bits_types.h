/* Types that several headers use. */
#ifndef _BITS_TYPES_H
#define _BITS_TYPES_H

#include <features.h>

typedef __SIZE_TYPE__ __fb_size;
typedef __PTRDIFF_TYPE__ __fb_ssize;
typedef __INT64_TYPE__ __fb_off; /* 64 bits on every architecture */

#endif
