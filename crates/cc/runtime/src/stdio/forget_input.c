#include "stream.h"
#include <unistd.h>

/* The next reader of the same file, such as the shell's next command, must find what this program did not read. POSIX
 * requires this of exit, fflush and fclose. A pipe has no offset, so its error is ignored. */
void __fb_forget_input(FILE *stream)
{
    int before = errno;
    off_t surplus = (off_t)unread(stream);
    if (!surplus)
        return;
    stream->read_cursor = stream->read_end = NULL;
    stream->flags &= ~(unsigned)READ_WHOLE_BLOCK;
    lseek(stream->descriptor, -surplus, SEEK_CUR);
    errno = before;
}
