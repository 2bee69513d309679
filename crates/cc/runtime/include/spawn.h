/* Deliberately missing: the compiler reports it, so nothing fails at run time. */
#error "firstbyte's runtime has no posix_spawn: fork and execve are in <unistd.h> (<spawn.h>)"
