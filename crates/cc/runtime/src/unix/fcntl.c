#include "../internal.h"
#include <fcntl.h>
#include <stdarg.h>

int fcntl(int descriptor, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    long argument = va_arg(arguments, long);
    va_end(arguments);
    return (int)__fb_return(syscall3(SYS_fcntl, descriptor, command, argument));
}
