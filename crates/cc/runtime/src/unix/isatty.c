#include "../internal.h"
#include <unistd.h>

enum { TIOCGWINSZ = 0x5413 };

int isatty(int descriptor)
{
    unsigned short size[4];
    return __fb_return(syscall3(SYS_ioctl, descriptor, TIOCGWINSZ, size)) == 0;
}
