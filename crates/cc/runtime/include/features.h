/* Definitions that the headers of firstbyte's freestanding runtime share. */
#ifndef _FEATURES_H
#define _FEATURES_H

#ifdef __cplusplus
#error "firstbyte's runtime is for C: it has no constructors of static objects, exceptions or C++ library"
#endif
#if defined __PIC__ && !defined FIRSTBYTE_ALLOW_PIC
#error "firstbyte's runtime is linked statically at a fixed address: compile with -fno-pie (firstbyte cc does)"
#endif

#define __FIRSTBYTE__ 1

/* A function that is deliberately missing. Using it is a compiler error that gives the reason. */
#ifdef __clang__
#define __FB_MISSING(reason) __attribute__((unavailable("firstbyte's runtime: " reason)))
#else
#define __FB_MISSING(reason) __FB_NOT_CALLED(reason)
#endif

/* The same for a call that the compiler may see first and then remove. */
#define __FB_NOT_CALLED(reason) __attribute__((error("firstbyte's runtime: " reason)))

#define __FB_PRINTF(string, first) __attribute__((format(printf, string, first)))
#define __FB_NORETURN __attribute__((noreturn))

#ifndef __has_attribute
#define __has_attribute(x) 0
#endif

#endif
