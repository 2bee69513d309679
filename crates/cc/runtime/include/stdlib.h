#ifndef _STDLIB_H
#define _STDLIB_H

#include <bits_types.h>
#include <stddef.h>

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 0x7fffffff
#define MB_CUR_MAX 1

typedef struct { int quot, rem; } div_t;
typedef struct { long quot, rem; } ldiv_t;
typedef struct { long long quot, rem; } lldiv_t;

void *malloc(size_t) __attribute__((malloc, alloc_size(1)));
void *calloc(size_t, size_t) __attribute__((malloc, alloc_size(1, 2)));
void *realloc(void *, size_t) __attribute__((alloc_size(2)));
void *reallocarray(void *, size_t, size_t) __attribute__((alloc_size(2, 3)));
void *aligned_alloc(size_t, size_t) __attribute__((malloc, alloc_size(2)));
int posix_memalign(void **, size_t, size_t);
void free(void *);

void exit(int) __FB_NORETURN;
void _Exit(int) __FB_NORETURN;
void abort(void) __FB_NORETURN;
int atexit(void (*)(void));

char *getenv(const char *);

int atoi(const char *);
long atol(const char *);
long long atoll(const char *);
double atof(const char *);
long strtol(const char *__restrict__, char **__restrict__, int);
long long strtoll(const char *__restrict__, char **__restrict__, int);
unsigned long strtoul(const char *__restrict__, char **__restrict__, int);
unsigned long long strtoull(const char *__restrict__, char **__restrict__, int);
double strtod(const char *__restrict__, char **__restrict__);
float strtof(const char *__restrict__, char **__restrict__);

void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
void *bsearch(const void *, const void *, size_t, size_t, int (*)(const void *, const void *));

int rand(void);
void srand(unsigned);

int abs(int);
long labs(long);
long long llabs(long long);
div_t div(int, int);
ldiv_t ldiv(long, long);
lldiv_t lldiv(long long, long long);

long double strtold(const char *__restrict__, char **__restrict__) __FB_MISSING("no long double: use strtod");
int system(const char *) __FB_MISSING("no system(): use fork, execve and waitpid");
int setenv(const char *, const char *, int) __FB_MISSING("the environment cannot be changed: pass a new one to execve");
int unsetenv(const char *) __FB_MISSING("the environment cannot be changed: pass a new one to execve");
int putenv(char *) __FB_MISSING("the environment cannot be changed: pass a new one to execve");
int mkstemp(char *) __FB_MISSING("no mkstemp: use open with O_EXCL");
char *realpath(const char *__restrict__, char *__restrict__) __FB_MISSING("no realpath");
int mblen(const char *, size_t) __FB_MISSING("no wide characters: text is bytes");
int mbtowc(__WCHAR_TYPE__ *__restrict__, const char *__restrict__, size_t) __FB_MISSING("no wide characters: text is bytes");
int wctomb(char *, __WCHAR_TYPE__) __FB_MISSING("no wide characters: text is bytes");
size_t mbstowcs(__WCHAR_TYPE__ *__restrict__, const char *__restrict__, size_t) __FB_MISSING("no wide characters: text is bytes");
size_t wcstombs(char *__restrict__, const __WCHAR_TYPE__ *__restrict__, size_t) __FB_MISSING("no wide characters: text is bytes");

#endif
