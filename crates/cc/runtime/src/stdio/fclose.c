#include "stream.h"
#include <unistd.h>

/* LOST stays set, so that exit still reports it. */
int fclose(FILE *stream)
{
    __fb_attach(stream);
    int result = fflush(stream);
    result |= close(stream->descriptor);
    stream->flags &= LOST;
    stream->read_cursor = stream->read_end = NULL;
    end_writing(stream);
    if (stream == stdin || stream == stdout || stream == stderr) {
        stream->flags |= STREAM_OPEN;
        stream->descriptor = -1;
    }
    return result ? EOF : 0;
}
