/* stdin, stdout and stderr, and their buffers.
 *
 * The first page of .bss contains the three streams, the first FIRST_OUTPUT bytes of output and the start of the input
 * buffer. So a small filter touches one page and takes one fault. Output that outgrows its first buffer moves to
 * `output` (__fb_make_room); input continues into the following pages. Pages that are never touched never exist. */
#include "stream.h"
#include <string.h>

enum { FIRST_OUTPUT = 1792 };

FIRST_PAGE FILE __fb_standard[3];
FIRST_PAGE static unsigned char first_output[FIRST_OUTPUT];
static unsigned char input[UNREAD_ROOM + BUFSIZ] __attribute__((section(".bss.firstbyte.input")));
static unsigned char output[BUFSIZ] __attribute__((section(".bss.firstbyte.output"), aligned(64)));
static unsigned char error_output[BUFSIZ] __attribute__((section(".bss.firstbyte.output")));

static const struct {
    unsigned char *buffer;
    unsigned size, flags;
} standard[3] = {
    {input + UNREAD_ROOM, BUFSIZ, STREAM_OPEN | READ_ONLY},
    {first_output, FIRST_OUTPUT, STREAM_OPEN | WRITE_ONLY},
    {error_output, sizeof error_output, STREAM_OPEN | WRITE_ONLY | UNBUFFERED},
};

/* All other streams are attached when they are opened. */
void __fb_attach(FILE *stream)
{
    if (stream->flags & STREAM_OPEN)
        return;
    stream->descriptor = (int)(stream - __fb_standard);
    stream->buffer = standard[stream->descriptor].buffer;
    stream->size = standard[stream->descriptor].size;
    stream->flags |= standard[stream->descriptor].flags;
}

static int move_to_large_buffer(FILE *stream)
{
    stream->write_cursor = output + waiting(stream);
    memcpy(output, first_output, FIRST_OUTPUT);
    stream->buffer = output;
    stream->size = BUFSIZ;
    set_write_end(stream);
    return 0;
}

int __fb_make_room(FILE *stream)
{
    return stream->buffer == first_output ? move_to_large_buffer(stream) : __fb_drain(stream);
}

/* Linked only with fopen, and only with functions that read. */
WEAK int __fb_close_opened(void);
WEAK void __fb_forget_input(FILE *);

int __fb_close_streams(void)
{
    __fb_drain(stdout);
    __fb_drain(stderr);
    if (__fb_forget_input && unread(stdin))
        __fb_forget_input(stdin);
    int lost = __fb_close_opened ? __fb_close_opened() : 0;
    return lost | (int)((stdout->flags | stderr->flags) & LOST);
}
