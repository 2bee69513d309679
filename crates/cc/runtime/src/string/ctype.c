#include "../internal.h"
#include <ctype.h>

/* One comparison for a range: below `first`, the difference wraps to a large number. */
static int within(int c, int first, int last)
{
    return (unsigned)c - (unsigned)first <= (unsigned)(last - first);
}

int isdigit(int c)
{
    return within(c, '0', '9');
}

int islower(int c)
{
    return within(c, 'a', 'z');
}

int isupper(int c)
{
    return within(c, 'A', 'Z');
}

int isalpha(int c)
{
    return within(c | 32, 'a', 'z');
}

int isalnum(int c)
{
    return isalpha(c) || isdigit(c);
}

int isascii(int c)
{
    return within(c, 0, 127);
}

int isblank(int c)
{
    return c == ' ' || c == '\t';
}

int iscntrl(int c)
{
    return within(c, 0, 31) || c == 127;
}

int isgraph(int c)
{
    return within(c, 33, 126);
}

int isprint(int c)
{
    return within(c, 32, 126);
}

int ispunct(int c)
{
    return isgraph(c) && !isalnum(c);
}

int isspace(int c)
{
    return c == ' ' || within(c, '\t', '\r');
}

int isxdigit(int c)
{
    return isdigit(c) || within(c | 32, 'a', 'f');
}

int toascii(int c)
{
    return c & 127;
}

int tolower(int c)
{
    return isupper(c) ? c + 32 : c;
}

int toupper(int c)
{
    return islower(c) ? c - 32 : c;
}
