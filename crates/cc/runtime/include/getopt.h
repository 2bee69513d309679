#ifndef _GETOPT_H
#define _GETOPT_H

#include <unistd.h>

struct option;
int getopt_long(int, char *const[], const char *, const struct option *, int *) __FB_MISSING("no long options: use getopt");

#endif
