/* Buffered streams that make no system call before they have to: no fstat, no isatty, no memory from the kernel.
 *
 * stdin   is read in blocks of up to 64 KiB into .bss
 * stdout  is written when its buffer is full, at exit, and before the program might sleep on stdin (src/stdio/fill.c)
 * stderr  is written once for each call; texts longer than 64 KiB may take more writes
 */
#ifndef _STDIO_H
#define _STDIO_H

#include <bits_types.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

#define EOF (-1)
#define BUFSIZ 65536
#define FOPEN_MAX 19
#define FILENAME_MAX 4096
#ifndef SEEK_SET
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#endif
#define _IOFBF 0
#define _IOLBF 1
#define _IONBF 2

/* The members are private. They are declared here only because getc and putc are inline functions. */
typedef struct __fb_stream {
    unsigned char *read_cursor, *read_end;   /* bytes read but not yet returned */
    unsigned char *write_cursor, *write_end; /* room for putc; empty unless the stream is fully buffered */
    unsigned char *buffer;
    size_t size;
    int descriptor;
    unsigned flags;
} FILE;

extern FILE __fb_standard[3]; /* by descriptor */
#define stdin (&__fb_standard[0])
#define stdout (&__fb_standard[1])
#define stderr (&__fb_standard[2])

int __fb_get(FILE *);
int __fb_put(int, FILE *);

static __inline__ int __fb_getc(FILE *stream)
{
    return stream->read_cursor < stream->read_end ? *stream->read_cursor++ : __fb_get(stream);
}

static __inline__ int __fb_putc(int c, FILE *stream)
{
    return stream->write_cursor < stream->write_end ? *stream->write_cursor++ = (unsigned char)c
                                                    : __fb_put(c, stream);
}

int fgetc(FILE *);
int getc(FILE *);
int getchar(void);
int fputc(int, FILE *);
int putc(int, FILE *);
int putchar(int);
#define getc(stream) __fb_getc(stream)
#define getchar() __fb_getc(stdin)
#define putc(c, stream) __fb_putc(c, stream)
#define putchar(c) __fb_putc(c, stdout)
#define getc_unlocked(stream) __fb_getc(stream)
#define getchar_unlocked() __fb_getc(stdin)
#define putc_unlocked(c, stream) __fb_putc(c, stream)
#define putchar_unlocked(c) __fb_putc(c, stdout)

int ungetc(int, FILE *);
char *fgets(char *__restrict__, int, FILE *__restrict__);
ssize_t getdelim(char **__restrict__, size_t *__restrict__, int, FILE *__restrict__);
ssize_t getline(char **__restrict__, size_t *__restrict__, FILE *__restrict__);
size_t fread(void *__restrict__, size_t, size_t, FILE *__restrict__);

int fputs(const char *__restrict__, FILE *__restrict__);
int puts(const char *);
size_t fwrite(const void *__restrict__, size_t, size_t, FILE *__restrict__);
void perror(const char *);

int fflush(FILE *);
int setvbuf(FILE *__restrict__, char *__restrict__, int, size_t);
void setbuf(FILE *__restrict__, char *__restrict__);

void clearerr(FILE *);
int feof(FILE *);
int ferror(FILE *);
int fileno(FILE *);

FILE *fopen(const char *__restrict__, const char *__restrict__);
FILE *fdopen(int, const char *);
int fclose(FILE *);
int fseek(FILE *, long, int);
int fseeko(FILE *, off_t, int);
long ftell(FILE *);
off_t ftello(FILE *);
void rewind(FILE *);
int remove(const char *);
int rename(const char *, const char *);

/* The conversion of floating point (about 3 kB) is linked only for a call with a floating-point argument, recognised by
 * its type, and for the v functions, whose arguments the compiler cannot see (printf_arguments.h). */
int printf(const char *__restrict__, ...) __FB_PRINTF(1, 2);
int fprintf(FILE *__restrict__, const char *__restrict__, ...) __FB_PRINTF(2, 3);
int dprintf(int, const char *__restrict__, ...) __FB_PRINTF(2, 3);
int sprintf(char *__restrict__, const char *__restrict__, ...) __FB_PRINTF(2, 3);
int snprintf(char *__restrict__, size_t, const char *__restrict__, ...) __FB_PRINTF(3, 4);
int vprintf(const char *__restrict__, va_list) __FB_PRINTF(1, 0);
int vfprintf(FILE *__restrict__, const char *__restrict__, va_list) __FB_PRINTF(2, 0);
int vdprintf(int, const char *__restrict__, va_list) __FB_PRINTF(2, 0);
int vsprintf(char *__restrict__, const char *__restrict__, va_list) __FB_PRINTF(2, 0);
int vsnprintf(char *__restrict__, size_t, const char *__restrict__, va_list) __FB_PRINTF(3, 0);

int asprintf(char **__restrict__, const char *__restrict__, ...) __FB_PRINTF(2, 3) __FB_MISSING("no asprintf: use snprintf twice");
int vasprintf(char **__restrict__, const char *__restrict__, va_list) __FB_MISSING("no vasprintf: use vsnprintf twice");
int scanf(const char *__restrict__, ...) __FB_MISSING("no scanf: read a line with fgets, convert with strtol or strtod");
int fscanf(FILE *__restrict__, const char *__restrict__, ...) __FB_MISSING("no fscanf: read a line with fgets, convert with strtol or strtod");
int sscanf(const char *__restrict__, const char *__restrict__, ...) __FB_MISSING("no sscanf: convert with strtol or strtod");
char *gets(char *) __FB_MISSING("no gets: ISO C removed it, use fgets");
FILE *freopen(const char *__restrict__, const char *__restrict__, FILE *__restrict__) __FB_MISSING("no freopen: use open and dup2");
FILE *popen(const char *, const char *) __FB_MISSING("no popen: use pipe, fork and execve");
int pclose(FILE *) __FB_MISSING("no popen: use pipe, fork and execve");
FILE *tmpfile(void) __FB_MISSING("no tmpfile: use open with O_EXCL");
FILE *fmemopen(void *__restrict__, size_t, const char *__restrict__) __FB_MISSING("no streams in memory: use snprintf");
FILE *open_memstream(char **, size_t *) __FB_MISSING("no streams in memory: use snprintf");

#ifndef __FB_RUNTIME
#include <printf_arguments.h>
#endif

#endif
