/* json: reads one JSON value (RFC 8259) and prints it indented. Reports syntax errors with line and column. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 512

static unsigned long line = 1, column = 0;

static int next(void)
{
    int c = getchar();

    if (c == '\n') {
        line++;
        column = 0;
    } else {
        column++;
    }
    return c;
}

static void fail(const char *format, ...)
{
    va_list arguments;

    fflush(stdout);
    fprintf(stderr, "json: line %lu, column %lu: ", line, column);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

static int peek(void)
{
    int c = getchar();

    if (c != EOF)
        ungetc(c, stdin);
    return c;
}

static int skip_space(void)
{
    int c;

    while ((c = peek()) == ' ' || c == '\t' || c == '\n' || c == '\r')
        next();
    return c;
}

static void indent(int depth)
{
    printf("\n%*s", 2 * depth, "");
}

static void value(int depth);

static void escape(void)
{
    int i, c = next();

    if (c == EOF || strchr("\"\\/bfnrtu", c) == NULL)
        fail("unknown escape");
    putchar(c);
    for (i = 0; c == 'u' && i < 4; i++) {
        int digit = next();
        if (digit == EOF || !isxdigit(digit))
            fail("\\u needs four hexadecimal digits");
        putchar(digit);
    }
}

static void string(void)
{
    int c;

    if (next() != '"')
        fail("a string was expected");
    putchar('"');
    while ((c = next()) != '"') {
        if (c == EOF || c < ' ')
            fail("unterminated string");
        putchar(c);
        if (c == '\\')
            escape();
    }
    putchar('"');
}

static void digits(void)
{
    if (!isdigit(peek()))
        fail("a digit was expected");
    while (isdigit(peek()))
        putchar(next());
}

static void number(void)
{
    if (peek() == '-')
        putchar(next());
    if (peek() == '0')
        putchar(next());
    else
        digits();
    if (peek() == '.') {
        putchar(next());
        digits();
    }
    if (peek() == 'e' || peek() == 'E') {
        putchar(next());
        if (peek() == '+' || peek() == '-')
            putchar(next());
        digits();
    }
}

static void word(const char *expected)
{
    const char *c;

    for (c = expected; *c != '\0'; c++)
        if (next() != *c)
            fail("\"%s\" was expected", expected);
    fputs(expected, stdout);
}

static void members(int depth, int open, int close)
{
    int empty;

    putchar(next());
    empty = skip_space() == close;
    while (!empty) {
        indent(depth + 1);
        if (open == '{') {
            skip_space();
            string();
            if (skip_space() != ':')
                fail("':' was expected");
            next();
            fputs(": ", stdout);
        }
        value(depth + 1);
        if (skip_space() != ',')
            break;
        putchar(next());
    }
    if (peek() != close)
        fail("'%c' was expected", close);
    if (!empty)
        indent(depth);
    putchar(next());
}

static void value(int depth)
{
    int c = skip_space();

    if (depth > DEPTH)
        fail("more than %d levels", DEPTH);
    if (c == '{')
        members(depth, '{', '}');
    else if (c == '[')
        members(depth, '[', ']');
    else if (c == '"')
        string();
    else if (c == 't')
        word("true");
    else if (c == 'f')
        word("false");
    else if (c == 'n')
        word("null");
    else if (c == '-' || isdigit(c))
        number();
    else
        fail("a value was expected");
}

int main(void)
{
    value(0);
    putchar('\n');
    if (skip_space() != EOF)
        fail("something follows the value");
    return EXIT_SUCCESS;
}
