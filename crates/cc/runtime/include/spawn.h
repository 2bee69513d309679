/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no posix_spawn: fork and execve are in <unistd.h> (<spawn.h>)"
