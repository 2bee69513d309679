/* Deliberately missing: found out by the compiler, not at run time. */
#error "firstbyte's runtime has no argp: getopt is in <unistd.h> (<argp.h>)"
