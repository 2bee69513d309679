#ifndef _ERR_H
#define _ERR_H

#include <features.h>
#include <stdarg.h>

/* Messages on stderr: the program's name, the text, and the meaning of errno (except in the x functions). err exits. */
void err(int, const char *, ...) __FB_PRINTF(2, 3) __FB_NORETURN;
void errx(int, const char *, ...) __FB_PRINTF(2, 3) __FB_NORETURN;
void warn(const char *, ...) __FB_PRINTF(1, 2);
void warnx(const char *, ...) __FB_PRINTF(1, 2);
void verr(int, const char *, va_list) __FB_PRINTF(2, 0) __FB_NORETURN;
void verrx(int, const char *, va_list) __FB_PRINTF(2, 0) __FB_NORETURN;
void vwarn(const char *, va_list) __FB_PRINTF(1, 0);
void vwarnx(const char *, va_list) __FB_PRINTF(1, 0);

#ifndef __FB_RUNTIME
#include <stdio.h>
#define err(status, ...) (__FB_LINKED(__VA_ARGS__), err(status, __VA_ARGS__))
#define errx(status, ...) (__FB_LINKED(__VA_ARGS__), errx(status, __VA_ARGS__))
#define warn(...) (__FB_LINKED(__VA_ARGS__), warn(__VA_ARGS__))
#define warnx(...) (__FB_LINKED(__VA_ARGS__), warnx(__VA_ARGS__))
#endif

#endif
