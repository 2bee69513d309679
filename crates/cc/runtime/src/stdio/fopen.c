/* The streams that a program opens. Their number is fixed. Their buffers are in .bss and get pages when they are used. */
#include "stream.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { STREAMS = FOPEN_MAX - 3 };

static FILE streams[STREAMS];
FIRST_PAGE static unsigned used; /* how many were ever in use; without any, exit touches none of them */
FIRST_PAGE static unsigned lost; /* LOST if a closed stream had lost output and its place was reused */
static unsigned char buffers[STREAMS][UNREAD_ROOM + BUFSIZ] __attribute__((aligned(64)));

static FILE *free_stream(void)
{
    for (FILE *each = streams; each != streams + STREAMS; each++)
        if (each == streams + used || !(each->flags & STREAM_OPEN))
            return each;
    errno = EMFILE;
    return NULL;
}

/* "r", "w" or "a", then any of "b", "+", "x", "e" (C11 7.21.5.3, and glibc's close-on-exec); -1 for anything else. */
static int open_flags(const char *mode)
{
    int access = strchr(mode, '+') ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
    int rest = *mode == 'w' ? O_CREAT | O_TRUNC : *mode == 'a' ? O_CREAT | O_APPEND : 0;
    if (*mode != 'r' && *mode != 'w' && *mode != 'a')
        return -1;
    return access | rest | (strchr(mode, 'x') ? O_EXCL : 0) | (strchr(mode, 'e') ? O_CLOEXEC : 0);
}

static FILE *stream_on(FILE *stream, int descriptor, int flags)
{
    if (stream == streams + used)
        used++;
    lost |= stream->flags & LOST;
    *stream = (FILE){
        .buffer = buffers[stream - streams] + UNREAD_ROOM,
        .size = BUFSIZ,
        .descriptor = descriptor,
        .flags = STREAM_OPEN | ((flags & O_ACCMODE) == O_RDONLY   ? READ_ONLY
                                : (flags & O_ACCMODE) == O_WRONLY ? WRITE_ONLY
                                                                  : 0)
                 | (flags & O_APPEND ? APPENDING : 0),
    };
    return stream;
}

/* As in glibc, ftell of a stream that only appends returns the file's length from the start. A file without an offset is
 * appended to as well. */
static void go_to_the_end(int descriptor, int flags)
{
    int before = errno;
    if (flags & O_APPEND && (flags & O_ACCMODE) == O_WRONLY)
        lseek(descriptor, 0, SEEK_END);
    errno = before;
}

/* The descriptor must be open and must allow what the stream will do. O_APPEND then holds for all who share it. */
static int prepare(int descriptor, int flags)
{
    int current = fcntl(descriptor, F_GETFL), allowed = current & O_ACCMODE;
    if (current < 0)
        return -1;
    if (allowed != O_RDWR && allowed != (flags & O_ACCMODE)) {
        errno = EINVAL;
        return -1;
    }
    if (!(flags & O_APPEND) || current & O_APPEND)
        return 0;
    go_to_the_end(descriptor, flags);
    return fcntl(descriptor, F_SETFL, current | O_APPEND);
}

FILE *fdopen(int descriptor, const char *mode)
{
    int flags = open_flags(mode);
    FILE *stream = free_stream();
    if (flags == -1)
        errno = EINVAL;
    return flags == -1 || !stream || prepare(descriptor, flags) ? NULL : stream_on(stream, descriptor, flags);
}

FILE *fopen(const char *restrict path, const char *restrict mode)
{
    int flags = open_flags(mode);
    FILE *stream = free_stream();
    if (flags == -1)
        errno = EINVAL;
    if (flags == -1 || !stream)
        return NULL;
    int descriptor = open(path, flags, 0666);
    if (descriptor < 0)
        return NULL;
    go_to_the_end(descriptor, flags);
    return stream_on(stream, descriptor, flags);
}

int __fb_drain_opened(void);
int __fb_drain_opened(void)
{
    int result = 0;
    for (FILE *each = streams; each != streams + used; each++)
        result |= __fb_drain(each);
    return result;
}

int __fb_close_opened(void);
int __fb_close_opened(void)
{
    __fb_drain_opened();
    for (FILE *each = streams; each != streams + used; each++)
        lost |= each->flags & LOST;
    return lost != 0;
}
