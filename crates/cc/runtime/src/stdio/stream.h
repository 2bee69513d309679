/* How a stream works inside.
 *
 *   reading    buffer <= read_cursor <= read_end <= buffer + size; ungetc uses `UNREAD_ROOM` bytes before the buffer
 *   writing    the bytes from buffer to write_cursor wait to be written; the room ends at buffer + size. write_end is
 *              the same for a fully buffered stream. For others it is null, so putc's fast path calls __fb_put
 *   neither    write_cursor and write_end are null
 *
 * A stream starts as zeros in .bss. Its first use attaches it to its descriptor and buffer. So a program that writes
 * nothing touches no page, and an executable has no initialised data to copy. */
#ifndef FIRSTBYTE_STREAM_H
#define FIRSTBYTE_STREAM_H

#include "../internal.h"
#include <stdio.h>

enum { UNREAD_ROOM = 8 };

enum stream_flags {
    STREAM_OPEN = 1 << 0,
    READ_ONLY = 1 << 1,
    WRITE_ONLY = 1 << 2,
    AT_END = 1 << 3,      /* feof */
    FAILED = 1 << 4,      /* ferror */
    LOST = 1 << 5,        /* the kernel did not accept some bytes that the program wrote */
    LINE_BUFFERED = 1 << 6,
    UNBUFFERED = 1 << 7,  /* one write for each call */
    FULLY_BUFFERED = 1 << 8, /* requested with setvbuf */
    IN_MEMORY = 1 << 9,   /* snprintf: bytes that do not fit are dropped */
    READ_WHOLE_BLOCK = 1 << 10, /* the last read returned as much as was requested */
    APPENDING = 1 << 11,  /* opened with "a": buffered bytes go to the end of the file, whatever the offset is */
};

void __fb_attach(FILE *);                           /* to the standard descriptor and buffer; idempotent */
int __fb_begin_read(FILE *);                        /* 0, or EOF with errno */
int __fb_begin_write(FILE *);                       /* 0, or EOF with errno */
int __fb_fill(FILE *);                              /* 0 if at least one byte is there, or EOF */
ssize_t __fb_read(FILE *, void *, size_t);          /* one read: the number of bytes, 0 at the end, -1 with errno */
size_t __fb_write(FILE *, const void *, size_t);    /* into the buffer; returns the number of bytes accepted */
int __fb_settle(FILE *);                            /* at the end of a call: writes what must not wait */
int __fb_make_room(FILE *);                         /* for at least one byte */
int __fb_drain(FILE *);                             /* writes the waiting bytes; 0 or EOF */
int __fb_write_all(FILE *, const void *, size_t);   /* bypasses the buffer; 0 or EOF */
void __fb_forget_input(FILE *);                     /* sets the file's offset back to where the program has read to */
int __fb_close_streams(void);                       /* at exit; non-zero if output was lost */

static inline size_t waiting(const FILE *stream)
{
    return (size_t)(stream->write_cursor - stream->buffer);
}

/* The only place that decides whether putc's fast path is open. Called for a stream that is written, whenever it gets a
 * buffer. */
static inline void set_write_end(FILE *stream)
{
    stream->write_end = stream->flags & (LINE_BUFFERED | UNBUFFERED) ? NULL : stream->buffer + stream->size;
}

/* The waiting bytes have been written or are dropped. The mode may change now; the next write decides again. */
static inline void end_writing(FILE *stream)
{
    stream->write_cursor = stream->write_end = NULL;
}

static inline size_t unread(const FILE *stream)
{
    return (size_t)(stream->read_end - stream->read_cursor);
}

#endif
