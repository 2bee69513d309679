/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no terminal settings: isatty is in <unistd.h> (<termios.h>)"
