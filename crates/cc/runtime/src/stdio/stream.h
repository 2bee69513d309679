/* The inside of a stream.
 *
 *   reading    buffer <= read_cursor <= read_end <= buffer + size; `UNREAD_ROOM` bytes before the buffer serve ungetc
 *   writing    the bytes from buffer to write_cursor wait to be written; room ends at buffer + size. write_end is the
 *              same for a fully buffered stream, and else null, so that putc's fast path leaves the work to __fb_put
 *   neither    write_cursor and write_end are null
 *
 * A stream begins as zeros in .bss and is attached to its descriptor and buffer by its first use: a program that
 * writes nothing touches no page, and an executable has no initialised data to copy. */
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
    LOST = 1 << 5,        /* bytes that the program wrote were never taken by the kernel */
    LINE_BUFFERED = 1 << 6,
    UNBUFFERED = 1 << 7,  /* one write a call */
    FULLY_BUFFERED = 1 << 8, /* asked for by setvbuf */
    IN_MEMORY = 1 << 9,   /* snprintf: what does not fit is dropped */
    READ_WHOLE_BLOCK = 1 << 10, /* the last read returned all that it was asked for */
    APPENDING = 1 << 11,  /* opened with "a": what waits will go to the end of the file, wherever the offset is */
};

void __fb_attach(FILE *);                           /* to the standard descriptor and buffer; idempotent */
int __fb_begin_read(FILE *);                        /* 0, or EOF with errno */
int __fb_begin_write(FILE *);                       /* 0, or EOF with errno */
int __fb_fill(FILE *);                              /* 0: at least one byte is there; or EOF */
ssize_t __fb_read(FILE *, void *, size_t);          /* one read: bytes, 0 at the end, -1 with errno */
size_t __fb_write(FILE *, const void *, size_t);    /* into the buffer; bytes accepted */
int __fb_settle(FILE *);                            /* after a call: what must not wait is written */
int __fb_make_room(FILE *);                         /* at least one byte */
int __fb_drain(FILE *);                             /* writes what waits; 0 or EOF */
int __fb_write_all(FILE *, const void *, size_t);   /* past the buffer; 0 or EOF */
void __fb_forget_input(FILE *);                     /* puts the file's offset back to what the program has read */
int __fb_close_streams(void);                       /* at exit; non-zero if output was lost */

static inline size_t waiting(const FILE *stream)
{
    return (size_t)(stream->write_cursor - stream->buffer);
}

/* The one place that decides whether putc's fast path is open: for a stream that is written, whenever its buffer is new. */
static inline void set_write_end(FILE *stream)
{
    stream->write_end = stream->flags & (LINE_BUFFERED | UNBUFFERED) ? NULL : stream->buffer + stream->size;
}

/* What waits was written or is dropped. The modes may change now; the next write decides anew. */
static inline void end_writing(FILE *stream)
{
    stream->write_cursor = stream->write_end = NULL;
}

static inline size_t unread(const FILE *stream)
{
    return (size_t)(stream->read_end - stream->read_cursor);
}

#endif
