/* Only the C locale. The argument is EOF or an unsigned char, as ISO C requires. */
#ifndef _CTYPE_H
#define _CTYPE_H

#include <features.h>

int isalnum(int);
int isalpha(int);
int isascii(int);
int isblank(int);
int iscntrl(int);
int isdigit(int);
int isgraph(int);
int islower(int);
int isprint(int);
int ispunct(int);
int isspace(int);
int isupper(int);
int isxdigit(int);
int toascii(int);
int tolower(int);
int toupper(int);

#endif
